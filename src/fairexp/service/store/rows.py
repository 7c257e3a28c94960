"""From rows of a database to records, and back, where that takes more than naming columns."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from fairexp.service.store.base import Append, Context, Head, Key, Kind, StoredSnapshot
from fairexp.service.store.migrations import Execute, Row

CONTEXT = "user_id, session, query_id, request_id, salt"


def note_head(policy: int, head: Head, execute: Execute) -> None:
    """Keep how far a log goes."""
    execute(
        """INSERT INTO heads (policy, seq, digest, forgotten) VALUES (?, ?, ?, ?)
           ON CONFLICT (policy) DO UPDATE
           SET seq = excluded.seq, digest = excluded.digest, forgotten = excluded.forgotten""",
        (policy, head.seq, head.digest, head.forgotten),
    )


def snapshot_of(row: Row) -> StoredSnapshot:
    """A snapshot, or the last state of a version."""
    seq, at, payload, digest = row
    return StoredSnapshot(seq, at, bytes(payload), bytes(digest))


def entry_of(row: Row) -> Append:
    """An entry as found: what is of another type than it was written in is left for the digest to tell."""
    policy, seq, kind, at, payload, ranking, commitment, previous, digest, *context = row
    chained = (bytes_of(commitment), bytes_of(previous), bytes_of(digest))
    return Append(policy, seq, _kind(kind), at, bytes_of(payload), ranking, _context(context), *chained)


def write_context(execute: Execute, policy: int, seq: int, context: Context) -> None:
    """Keep the context of an entry. As bytes: PostgreSQL has texts without NUL only."""
    texts = (context.user, context.session, context.query_id, context.request_id)
    row = (policy, seq, *(None if text is None else encoded(text) for text in texts), context.salt)
    execute(f"INSERT INTO contexts (policy, seq, {CONTEXT}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def _context(row: Sequence[Any]) -> Context | None:
    *texts, salt = row
    if salt is None:
        return None
    user, session, query_id, request_id = (
        None if text is None else bytes_of(text).decode(errors="surrogateescape") for text in texts
    )
    return Context(user, session, query_id, request_id, bytes_of(salt)[: hashlib.blake2b.MAX_KEY_SIZE])


def encoded(text: str) -> bytes:
    """A text as it is kept: PostgreSQL has texts without NUL only."""
    return text.encode(errors="surrogateescape")


def _kind(number: Any) -> Any:
    try:
        return Kind(number)
    except ValueError:
        return number


def bytes_of(value: Any) -> bytes:
    """What should be bytes, whatever it is by now."""
    return value if isinstance(value, bytes) else b"" if value is None else str(value).encode(errors="replace")


def key_of(row: Row) -> Key:
    """A key as stored."""
    id_, name, digest, roles, at, rate, revoked_at, policies = row
    limits = () if policies is None else tuple(policies.split(","))
    return Key(id_, name, bytes(digest), tuple(roles.split(",")), at, rate, revoked_at, limits)


def head_of(row: Sequence[Any]) -> Head:
    """How far a log goes, as it was kept."""
    seq, digest, forgotten = row
    return Head(seq, bytes_of(digest), forgotten)
