"""All that a store has of a policy, a line of JSON each: what can still be saved of one that is damaged."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import islice
from typing import Any, get_args

import orjson

from fairexp.service.problems import CorruptRecordError
from fairexp.service.store.base import AddPolicy, Append, Kind, Store, Table
from fairexp.service.store.chain import Chain
from fairexp.service.store.codec import unpack

AT_ONCE = 100


def exported(store: Store, row: AddPolicy) -> Iterator[bytes]:
    """Versions, entries of the log with what is wrong with them, fields of items and users; `end` is the last line.

    Models are left out: they follow from the entries.
    """
    n_lines, lines = 0, _lines(store, row)
    while some := [orjson.dumps(each, option=orjson.OPT_APPEND_NEWLINE) for each in islice(lines, AT_ONCE)]:
        n_lines += len(some)
        yield b"".join(some)
    yield orjson.dumps({"end": n_lines}, option=orjson.OPT_APPEND_NEWLINE)


def _lines(store: Store, row: AddPolicy) -> Iterator[dict[str, Any]]:
    head = store.head(row.policy)
    yield {"policy": row.name, "at": row.at, "last_entry": head.seq, "digest": head.digest.hex()}
    for version in store.versions(row.policy):
        told = {"at": version.at, "from_entry": version.seq, "action": version.action, "by": version.by}
        yield {"version": version.version, **told, "spec": version.spec, "parameters": version.parameters}
    try:
        yield from _entries(store, row, Chain(forgotten=head.forgotten))
        for table in get_args(Table):
            yield from _fields(store, row, table)
    except CorruptRecordError as error:  # the database itself cannot read on
        yield {"problem": str(error)}


def _entries(store: Store, row: AddPolicy, chain: Chain) -> Iterator[dict[str, Any]]:
    while entries := store.entries(row.policy, after=chain.seq, limit=AT_ONCE):
        for entry in entries:
            problem = chain.follow(entry)
            yield {"entry": entry.seq, **_plain(entry), **({} if problem is None else {"problem": problem})}


def _plain(entry: Append) -> dict[str, Any]:
    kind = entry.kind.name.lower() if isinstance(entry.kind, Kind) else str(entry.kind)
    told: dict[str, Any] = {"kind": kind, "at": entry.at, "ranking": entry.ranking, "digest": entry.digest.hex()}
    if entry.context is not None:
        told["context"] = {name: _whole(value) for name, value in entry.context.plain().items()}
    try:
        meta, arrays = unpack(entry.payload)
    except CorruptRecordError:
        return {**told, "payload": base64.b64encode(entry.payload).decode()}
    shown = {} if entry.kind == Kind.POLICY else {name: array.tolist() for name, array in arrays.items()}
    return {**told, "content": meta, "arrays": shown}


def _whole(text: str) -> str:
    """A text as JSON can hold it, whatever has become of its bytes."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


def _fields(store: Store, row: AddPolicy, table: Table) -> Iterator[dict[str, Any]]:
    last = None
    while found := store.all_fields(row.policy, table, after=last, limit=AT_ONCE):
        yield from ({table.removesuffix("s"): _whole(name), "fields": fields} for name, fields in found.items())
        last = list(found)[-1]
