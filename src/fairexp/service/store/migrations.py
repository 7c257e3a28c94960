"""The store's tables, as named steps, applied once and in order, and recorded in the transaction that applies them.

Forward only: a step that has been released is never changed; what comes next is another step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fairexp.service.store.base import Append, Kind
from fairexp.service.store.chain import START, sealed

Row = tuple[Any, ...]
Execute = Callable[[str, Sequence[Any]], list[Row]]
AT_ONCE = 500


def seal_entries(execute: Execute) -> None:
    """Give entries from before there was a chain their places in it, as they are found.

    What had expired by then was not written down: gaps up to the oldest snapshot count as that.
    """
    for (policy,) in execute("SELECT DISTINCT policy FROM log ORDER BY policy", ()):
        oldest = execute("SELECT MIN(seq) FROM snapshots WHERE policy = ?", (policy,))[0][0] or 0
        seq, digest, forgotten = 0, START.digest, 0
        while rows := execute(
            "SELECT seq, kind, at, payload, ranking, alias FROM log WHERE policy = ? AND seq > ? ORDER BY seq LIMIT ?",
            (policy, seq, AT_ONCE),
        ):
            for number, kind, at, payload, ranking, alias in rows:
                entry = sealed(Append(policy, number, Kind(kind), at, bytes(payload), ranking, alias), digest)
                place = (entry.previous, entry.digest, policy, number)
                execute("UPDATE log SET previous = ?, digest = ? WHERE policy = ? AND seq = ?", place)
                forgotten = number - 1 if number > seq + 1 else forgotten
                seq, digest = number, entry.digest
        head = (policy, seq, digest, min(forgotten, oldest))
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
        seal_entries,
    ),
    "0007_key_policies": ("ALTER TABLE keys ADD COLUMN policies TEXT",),
    "0009_changes": (
        "ALTER TABLE versions DROP COLUMN kept",
        "ALTER TABLE versions ADD COLUMN action TEXT NOT NULL DEFAULT 'changed'",
        "ALTER TABLE versions ADD COLUMN origin TEXT NOT NULL DEFAULT 'api'",
        "ALTER TABLE versions ADD COLUMN by_whom TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE versions ADD COLUMN lost TEXT NOT NULL DEFAULT '[]'",
        """CREATE TABLE states (
            policy INTEGER NOT NULL, version INTEGER NOT NULL, seq BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL,
            payload BLOB NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (policy, version))""",
    ),
}
