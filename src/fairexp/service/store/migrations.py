"""The store's tables, as named steps, applied once and in order, and recorded in the transaction that applies them.

Forward only: a step that has been released is never changed; what comes next is another step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Row = tuple[Any, ...]
Execute = Callable[[str, Sequence[Any]], list[Row]]

MIGRATIONS: dict[str, tuple[str | Callable[[Execute], None], ...]] = {
    "0001_store": (
        "CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL)",
        """CREATE TABLE keys (
            id TEXT PRIMARY KEY, name TEXT NOT NULL, digest BLOB NOT NULL, roles TEXT NOT NULL, policies TEXT,
            at DOUBLE PRECISION NOT NULL, rate DOUBLE PRECISION, revoked_at DOUBLE PRECISION)""",
        "CREATE TABLE policies (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, at DOUBLE PRECISION NOT NULL)",
        """CREATE TABLE versions (
            policy INTEGER NOT NULL, version INTEGER NOT NULL, seq BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL,
            spec TEXT NOT NULL, parameters TEXT NOT NULL, action TEXT NOT NULL, origin TEXT NOT NULL,
            by_whom TEXT NOT NULL, lost TEXT NOT NULL, PRIMARY KEY (policy, version))""",
        """CREATE TABLE states (
            policy INTEGER NOT NULL, version INTEGER NOT NULL, seq BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL,
            payload BLOB NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (policy, version))""",
        """CREATE TABLE log (
            policy INTEGER NOT NULL, seq BIGINT NOT NULL, kind SMALLINT NOT NULL, at DOUBLE PRECISION NOT NULL,
            ranking BIGINT, payload BLOB NOT NULL, commitment BLOB, previous BLOB, digest BLOB,
            PRIMARY KEY (policy, seq))""",
        "CREATE INDEX log_feedback ON log (policy, ranking) WHERE ranking IS NOT NULL",
        "CREATE INDEX log_kind ON log (policy, kind, seq)",
        """CREATE TABLE heads (
            policy INTEGER PRIMARY KEY, seq BIGINT NOT NULL, digest BLOB NOT NULL, forgotten BIGINT NOT NULL)""",
        """CREATE TABLE contexts (
            policy INTEGER NOT NULL, seq BIGINT NOT NULL, salt BLOB NOT NULL, user_id BLOB, session BLOB,
            query_id BLOB, request_id BLOB, PRIMARY KEY (policy, seq)) WITHOUT ROWID""",
        "CREATE INDEX contexts_user ON contexts (user_id) WHERE user_id IS NOT NULL",
        "CREATE INDEX contexts_request ON contexts (request_id) WHERE request_id IS NOT NULL",
        """CREATE TABLE snapshots (
            policy INTEGER NOT NULL, seq BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL, payload BLOB NOT NULL,
            digest BLOB NOT NULL, PRIMARY KEY (policy, seq))""",
    ),
    "0002_items": (
        """CREATE TABLE items (
            policy INTEGER NOT NULL, id BLOB NOT NULL, written BIGINT NOT NULL, fields BLOB NOT NULL,
            PRIMARY KEY (policy, id))""",
        "CREATE INDEX items_written ON items (policy, written)",
        """CREATE TABLE users (
            policy INTEGER NOT NULL, id BLOB NOT NULL, written BIGINT NOT NULL, fields BLOB NOT NULL,
            PRIMARY KEY (policy, id))""",
        "CREATE INDEX users_written ON users (policy, written)",
    ),
    "0003_queries": ("CREATE INDEX contexts_query ON contexts (policy, query_id, seq) WHERE query_id IS NOT NULL",),
    "0004_feedback_in_order": (  # with the order in it: by the key of `log` a planner reads the whole log of a policy
        "DROP INDEX log_feedback",
        "CREATE INDEX log_feedback ON log (policy, ranking, seq) WHERE ranking IS NOT NULL",
    ),
}
