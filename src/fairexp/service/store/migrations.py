"""The store's tables, as named steps, applied once and in order, and recorded in the transaction that applies them.

Forward only: a step that has been released is never changed; what comes next is another step.
"""

from __future__ import annotations

MIGRATIONS: dict[str, tuple[str, ...]] = {
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
}
