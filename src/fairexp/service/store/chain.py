"""The chain of a log: each entry's digest covers the entry and the digest before it.

A changed byte, a missing entry and another order all show. Whoever can write to the database could make a whole chain
anew; that shows against a head (`Head.note`) that was written down elsewhere. Of a context the chain covers a salted
digest, the commitment: a context can be erased and the chain stays whole, but it cannot be changed.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import replace

from fairexp.service.problems import CorruptRecordError
from fairexp.service.store.base import Append, Context, Head

DIGEST_SIZE = 16
START = Head(0, bytes(DIGEST_SIZE))
"""Where every log begins."""

REMEDY = "Restore the store from a backup; `fairexp audit` lists all that is wrong."
_FIELDS = struct.Struct("<qqqdqq")
_SIZE = struct.Struct("<q")
_NOTHING = -1


def digest_of(entry: Append, previous: bytes) -> bytes:
    """The digest (16 bytes) of everything that `entry` says, after `previous`.

    J.-P. Aumasson, S. Neves, Z. Wilcox-O'Hearn and C. Winnerlein, BLAKE2: simpler, smaller, fast as MD5, ACNS 2013.
    """
    fields = _FIELDS.pack(
        entry.policy,
        entry.seq,
        entry.kind,
        entry.at,
        _NOTHING if entry.ranking is None else entry.ranking,
        len(entry.commitment),
    )
    digest = hashlib.blake2b(previous, digest_size=DIGEST_SIZE, person=b"fairexp-log")
    digest.update(fields + entry.commitment)
    digest.update(entry.payload)
    return digest.digest()


def commitment_of(context: Context) -> bytes:
    """The salted digest (16 bytes) of a context."""
    digest = hashlib.blake2b(key=context.salt, digest_size=DIGEST_SIZE, person=b"fairexp-context")
    for value in (context.user, context.session, context.query_id, context.request_id):
        text = b"" if value is None else value.encode(errors="surrogateescape")
        digest.update(_SIZE.pack(_NOTHING if value is None else len(text)) + text)
    return digest.digest()


def sealed(entry: Append, previous: bytes) -> Append:
    """The entry with its place in the chain."""
    commitment = entry.commitment if entry.context is None else commitment_of(entry.context)
    whole = replace(entry, commitment=commitment, previous=previous)
    return replace(whole, digest=digest_of(whole, previous))


def checked(entry: Append) -> Append:
    """The entry, or a `CorruptRecordError` if it is not what was written."""
    problem = _change(entry)
    if problem is not None:
        raise CorruptRecordError(f"policy number {entry.policy}: {problem}. {REMEDY}")
    return entry


class Chain:
    """Follows a policy's log after an entry, whose digest may be unknown. Up to `forgotten` there may be gaps."""

    def __init__(self, *, after: int = 0, digest: bytes | None = None, forgotten: int = 0) -> None:
        self.seq = after
        self.digest = START.digest if after == 0 else digest
        self.forgotten = forgotten

    def follow(self, entry: Append) -> str | None:
        """Go on to `entry`; what is wrong with it, if anything."""
        problem = self._gap(entry.seq) or _change(entry) or self._break(entry)
        self.seq, self.digest = entry.seq, entry.digest
        return problem

    def beyond(self, head: Head) -> str | None:
        """What is wrong if this is after `head`, which was noted when the log's last entry was written."""
        if self.seq <= head.seq:
            return None
        return f"the log has an entry {self.seq}, expected {head.seq} to be the last: this service did not write it"

    def end(self, head: Head) -> str | None:
        """What is wrong if the log ends here."""
        if self.seq < head.seq:
            return (
                f"the log ends with entry {self.seq}, expected {head.seq}: the last {head.seq - self.seq} are missing"
            )
        if self.seq > head.seq:
            return f"the log ends with entry {head.seq}, but a snapshot was taken after {self.seq}: the rest is missing"
        if self.digest is not None and self.digest != head.digest:
            return f"entry {self.seq} ends the log with digest {self.digest.hex()}, expected {head.digest.hex()}"
        return None

    def _gap(self, seq: int) -> str | None:
        if seq == self.seq + 1:
            return None
        if seq - 1 <= self.forgotten:
            self.digest = None
            return None
        return f"the log goes from entry {self.seq} to {seq}: what was between them is missing"

    def _break(self, entry: Append) -> str | None:
        if self.digest is None or entry.previous == self.digest:
            return None
        return (
            f"entry {entry.seq} follows an entry with digest {entry.previous.hex()}, but the one before it has "
            f"{self.digest.hex()}: one of them was put in place of another"
        )


def _change(entry: Append) -> str | None:
    try:
        digest = digest_of(entry, entry.previous)
    except (struct.error, AttributeError, TypeError, ValueError):
        return f"entry {entry.seq} has a field that no entry can have: it was changed since it was written"
    if digest == entry.digest:
        return _other_context(entry)
    noted = entry.digest.hex() or "none"
    return f"entry {entry.seq} has digest {digest.hex()}, expected {noted}: it was changed since it was written"


def _other_context(entry: Append) -> str | None:
    if entry.context is None or commitment_of(entry.context) == entry.commitment:
        return None
    return f"entry {entry.seq} has another user, session, query id or request id than was written with it"
