"""Fields of items and users, kept beside the log: what a ranking used of them is in its own entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from fairexp.service.store.base import Fields, PutFields, Table, Versions
from fairexp.service.store.migrations import Execute, Row
from fairexp.service.store.rows import bytes_of, encoded

AT_ONCE = 100
"""So many ids are looked up in one query; with fewer, the last is asked for again, so that the query is always one."""

MOST_VERSIONS = 4
"""Of one field: the value that counts now, and those that begin later."""

Kept = dict[str, Versions]
"""What is kept of one item: values by field."""


def put_fields(write: PutFields, execute: Execute) -> None:
    """Add fields to what there is, and let go of what is too much."""
    table, places = write.table, {entry.id: write.first + number for number, entry in enumerate(write.entries)}
    known = read_fields(write.policy, table, list(places), execute)
    for entry in write.entries:
        known[entry.id] = merged(known.get(entry.id, {}), entry, at=write.at, most_bytes=write.most_bytes)
    for name, place in places.items():
        execute(
            f"""INSERT INTO {table} (policy, id, written, fields) VALUES (?, ?, ?, ?)
                ON CONFLICT (policy, id) DO UPDATE SET written = excluded.written, fields = excluded.fields""",
            (write.policy, encoded(name), place, orjson.dumps(known[name])),
        )
    last = f"SELECT written FROM {table} WHERE policy = ? ORDER BY written DESC LIMIT 1 OFFSET ?"
    surplus = execute(last, (write.policy, write.most))
    if surplus:
        execute(f"DELETE FROM {table} WHERE policy = ? AND written <= ?", (write.policy, surplus[0][0]))


def read_fields(
    policy: int, table: Table, ids: Sequence[str], read: Callable[[str, Sequence[Any]], list[Row]]
) -> dict[str, Kept]:
    """What is kept of each of these."""
    marks = ", ".join("?" * AT_ONCE)
    sql = f"SELECT id, fields FROM {table} WHERE policy = ? AND id IN ({marks})"
    found: dict[str, Kept] = {}
    for start in range(0, len(ids), AT_ONCE):
        some = [encoded(each) for each in ids[start : start + AT_ONCE]]
        some += some[-1:] * (AT_ONCE - len(some))
        for name, fields in read(sql, (policy, *some)):
            found[bytes_of(name).decode(errors="surrogateescape")] = orjson.loads(bytes_of(fields))
    return found


def all_fields(
    policy: int, table: Table, after: bytes, limit: int, read: Callable[[str, Sequence[Any]], list[Row]]
) -> dict[str, Kept]:
    """What is kept of the first `limit` after an id."""
    sql = f"SELECT id, fields FROM {table} WHERE policy = ? AND id > ? ORDER BY id LIMIT ?"
    return {
        bytes_of(name).decode(errors="surrogateescape"): orjson.loads(bytes_of(fields))
        for name, fields in read(sql, (policy, after, limit))
    }


def merged(known: Kept, entry: Fields, *, at: float, most_bytes: int) -> Kept:
    """What is kept after an entry: a value that began earlier than one that counts already does not replace it.

    >>> known = merged({}, Fields("a", {"price": 2.0, "size": 1.0}, since=5.0), at=9.0, most_bytes=1000)
    >>> known = merged(known, Fields("a", {"price": 1.0}, since=3.0), at=9.0, most_bytes=1000)
    >>> known = merged(known, Fields("a", {"price": 3.0}, since=20.0, until=30.0), at=9.0, most_bytes=1000)
    >>> [valid(known, at) for at in (9.0, 20.0, 30.0)]
    [{'price': 2.0, 'size': 1.0}, {'price': 3.0, 'size': 1.0}, {'size': 1.0}]
    """
    after = dict(known)
    for name, value in entry.values.items():
        others = [(since, until, old) for since, until, old in known.get(name, []) if since != entry.since]
        versions = sorted([*others, (entry.since, entry.until, value)], key=lambda version: version[0])
        begun = sum(since <= at for since, _, _ in versions)
        after[name] = versions[max(begun - 1, 0) :][:MOST_VERSIONS]
    while after and len(orjson.dumps(after)) > most_bytes:
        del after[min(after, key=lambda name: (after[name][0][0], name))]
    return after


def valid(known: Kept, at: float) -> dict[str, Any]:
    """The values that count at a time; a field whose latest value is over has none."""
    found = {}
    for name, versions in known.items():
        begun = [(until, value) for since, until, value in versions if since <= at]
        if begun and begun[-1][1] is not None and (begun[-1][0] is None or at < begun[-1][0]):
            found[name] = begun[-1][1]
    return found
