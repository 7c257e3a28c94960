"""The store's tables, as named steps, applied once and in order, and recorded in the transaction that applies them.

Forward only: a step that has been released is never changed; what comes next is another step.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fairexp.service.packing import pack
from fairexp.service.store.base import Append, Context, Kind
from fairexp.service.store.chain import START, commitment_of, sealed
from fairexp.service.store.former import unpack_former

Row = tuple[Any, ...]
Execute = Callable[[str, Sequence[Any]], list[Row]]
AT_ONCE = 500


def set_contexts_apart(execute: Execute) -> None:
    """Compress all records, and take the context of rankings out of them."""
    for policy, seq, kind, payload in _rows(execute, "policy, seq, kind, payload", "log"):
        meta, arrays = unpack_former(bytes(payload))
        context = _former_context(meta.pop("context", {})) if kind == Kind.SHOWN else None
        commitment = None if context is None else commitment_of(context)
        place = (pack(meta, arrays), commitment, policy, seq)
        execute("UPDATE log SET payload = ?, commitment = ? WHERE policy = ? AND seq = ?", place)
        if context is not None:
            texts = (context.user, context.session, context.query_id, context.request_id)
            row = (policy, seq, context.salt, *(None if text is None else text.encode() for text in texts))
            columns = "policy, seq, salt, user_id, session, query_id, request_id"
            execute(f"INSERT INTO contexts ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    for policy, seq, payload in _rows(execute, "policy, seq, payload", "snapshots"):
        meta, arrays = unpack_former(bytes(payload))
        meta.pop("log_digest", None)  # the chain that it was tied to is made anew
        packed = pack(meta, arrays)
        place = (packed, hashlib.sha256(packed).digest(), policy, seq)
        execute("UPDATE snapshots SET payload = ?, digest = ? WHERE policy = ? AND seq = ?", place)


def _former_context(given: dict[str, str]) -> Context | None:
    return Context.of({"request_id" if name == "alias" else name: value for name, value in given.items()})


def _rows(execute: Execute, columns: str, table: str) -> Iterator[Row]:
    """The rows of a table by policy and seq, some at a time; both come first in `columns`."""
    place = (-1, -1)
    sql = f"SELECT {columns} FROM {table} WHERE (policy, seq) > (?, ?) ORDER BY policy, seq LIMIT ?"
    while rows := execute(sql, (*place, AT_ONCE)):
        yield from rows
        place = rows[-1][:2]


def seal_entries(execute: Execute) -> None:
    """Give all entries their places in a new chain, as they are found.

    Where no head says what has expired, gaps up to the oldest snapshot count as that.
    """
    noted: dict[int, int] = dict(execute("SELECT policy, forgotten FROM heads", ()))
    execute("DELETE FROM heads", ())
    for (policy,) in execute("SELECT DISTINCT policy FROM log ORDER BY policy", ()):
        oldest = execute("SELECT MIN(seq) FROM snapshots WHERE policy = ?", (policy,))[0][0] or 0
        seq, digest, forgotten = 0, START.digest, 0
        while rows := execute(
            """SELECT seq, kind, at, payload, ranking, commitment FROM log
               WHERE policy = ? AND seq > ? ORDER BY seq LIMIT ?""",
            (policy, seq, AT_ONCE),
        ):
            for number, kind, at, payload, ranking, commitment in rows:
                entry = Append(policy, number, Kind(kind), at, bytes(payload), ranking, commitment=commitment or b"")
                entry = sealed(entry, digest)
                place = (entry.previous, entry.digest, policy, number)
                execute("UPDATE log SET previous = ?, digest = ? WHERE policy = ? AND seq = ?", place)
                forgotten = number - 1 if number > seq + 1 else forgotten
                seq, digest = number, entry.digest
        head = (policy, seq, digest, noted.get(policy, min(forgotten, oldest)))
        execute("INSERT INTO heads (policy, seq, digest, forgotten) VALUES (?, ?, ?, ?)", head)


MIGRATIONS: dict[str, tuple[str | Callable[[Execute], None], ...]] = {
    "0001_log": (
        "CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL)",
        "CREATE TABLE policies (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, at DOUBLE PRECISION NOT NULL)",
        """CREATE TABLE log (
            policy INTEGER NOT NULL, seq BIGINT NOT NULL, kind SMALLINT NOT NULL, at DOUBLE PRECISION NOT NULL,
            ranking BIGINT, payload BLOB NOT NULL, PRIMARY KEY (policy, seq))""",
        "CREATE INDEX log_feedback ON log (policy, ranking) WHERE ranking IS NOT NULL",
        """CREATE TABLE snapshots (
            policy INTEGER NOT NULL, seq BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL, payload BLOB NOT NULL,
            digest BLOB NOT NULL, PRIMARY KEY (policy, seq))""",
    ),
    "0002_versions": (
        """CREATE TABLE versions (
            policy INTEGER NOT NULL, version INTEGER NOT NULL, seq BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL,
            spec TEXT NOT NULL, kept TEXT NOT NULL, PRIMARY KEY (policy, version))""",
    ),
    "0003_keys": (
        """CREATE TABLE keys (
            id TEXT PRIMARY KEY, name TEXT NOT NULL, digest BLOB NOT NULL, roles TEXT NOT NULL,
            at DOUBLE PRECISION NOT NULL, rate DOUBLE PRECISION, revoked_at DOUBLE PRECISION)""",
    ),
    "0004_aliases": (
        "ALTER TABLE log ADD COLUMN alias TEXT",
        "CREATE INDEX log_alias ON log (alias) WHERE alias IS NOT NULL",
        "CREATE INDEX log_kind ON log (policy, kind, seq)",
    ),
    "0005_parameters": ("ALTER TABLE versions ADD COLUMN parameters TEXT",),
    "0006_chain": (
        "ALTER TABLE log ADD COLUMN previous BLOB",
        "ALTER TABLE log ADD COLUMN digest BLOB",
        """CREATE TABLE heads (
            policy INTEGER PRIMARY KEY, seq BIGINT NOT NULL, digest BLOB NOT NULL, forgotten BIGINT NOT NULL)""",
    ),
    "0008_context": (
        """CREATE TABLE contexts (
            policy INTEGER NOT NULL, seq BIGINT NOT NULL, salt BLOB NOT NULL, user_id BLOB, session BLOB,
            query_id BLOB, request_id BLOB, PRIMARY KEY (policy, seq)) WITHOUT ROWID""",
        "CREATE INDEX contexts_user ON contexts (user_id) WHERE user_id IS NOT NULL",
        "CREATE INDEX contexts_request ON contexts (request_id) WHERE request_id IS NOT NULL",
        "ALTER TABLE log ADD COLUMN commitment BLOB",
        set_contexts_apart,
        "DROP INDEX log_alias",
        "ALTER TABLE log DROP COLUMN alias",
        seal_entries,
    ),
}
