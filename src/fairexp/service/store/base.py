"""The interface of a store, and the records that pass through it.

Writes are values. The writer thread hands a store everything that waits as one `commit`: one transaction, durable when
it returns. Reads come from any thread and see what has been committed.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal, Protocol

from fairexp.arrays import State


class Kind(IntEnum):
    """What an entry of the log records."""

    POLICY = 1
    SHOWN = 2
    FEEDBACK = 3
    ACTION = 4


SALT_SIZE = 16


@dataclass(frozen=True, slots=True)
class Context:
    """Whom a ranking was for and what its caller called it: kept apart from the entry, so that it can be erased.

    `salt` is random: who has a commitment to a context cannot find out by trial what the context was.
    """

    user: str | None = None
    session: str | None = None
    query_id: str | None = None
    request_id: str | None = None
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(SALT_SIZE), repr=False)

    @staticmethod
    def of(given: Mapping[str, Any]) -> Context | None:
        """A context with a new salt, or None where nothing was given."""
        return Context(**given) if given else None

    def plain(self) -> dict[str, str]:
        """What was given.

        >>> Context(user="u1").plain()
        {'user': 'u1'}
        """
        each = {name: getattr(self, name) for name in ("user", "session", "query_id", "request_id")}
        return {name: value for name, value in each.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Append:
    """An entry of a policy's log. `seq` counts from 1 without gaps; `ranking` is the seq that feedback is for.

    `commitment` is a digest of the context that was written with it, and stays when the context is erased. It,
    `previous` and `digest`, the entry's place in the chain, are given by the store.
    """

    policy: int
    seq: int
    kind: Kind
    at: float
    payload: bytes
    ranking: int | None = None
    context: Context | None = None
    commitment: bytes = field(default=b"", compare=False, repr=False)
    previous: bytes = field(default=b"", compare=False, repr=False)
    digest: bytes = field(default=b"", compare=False, repr=False)

    @property
    def is_erased(self) -> bool:
        """Whether it had a context that is gone."""
        return self.context is None and bool(self.commitment)


@dataclass(frozen=True, slots=True)
class Head:
    """How far a policy's log goes: its last entry and that one's digest; some entries up to `forgotten` have expired.

    >>> Head(3, b"\\x0a\\x0b").note
    '3:0a0b'
    """

    seq: int
    digest: bytes
    forgotten: int = 0

    @property
    def note(self) -> str:
        """What to write down elsewhere, to prove later that the log up to here is still the same."""
        return f"{self.seq}:{self.digest.hex()}"


@dataclass(frozen=True, slots=True)
class AddPolicy:
    """A new policy."""

    policy: int
    name: str
    at: float


@dataclass(frozen=True, slots=True)
class AddVersion:
    """A version of a policy, in force from the log entry `seq` on.

    `spec` is JSON as declared, `parameters` is JSON of all the ranker's parameters. `action` says how it came about,
    `origin` from where ("file" or "api"), `by` whom, and `lost` is JSON: what was given up for it.
    """

    policy: int
    version: int
    seq: int
    at: float
    spec: str
    parameters: str
    action: str
    origin: str
    by: str
    lost: str = "[]"


@dataclass(frozen=True, slots=True, eq=False)
class AddState:
    """The state that a version of a policy ended with; of earlier versions, the latest `keep` are kept."""

    policy: int
    version: int
    seq: int
    at: float
    meta: dict[str, Any]
    arrays: State
    keep: int


@dataclass(frozen=True, slots=True)
class AddAction:
    """Something that an administrator did: an entry of a log of its own, which nothing expires from."""

    at: float
    by: str
    action: str
    policy: str | None = None
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeletePolicy:
    """The end of a policy: its name is free, and its number is not used again. What was kept of it goes by `Purge`."""

    policy: int
    name: str


@dataclass(frozen=True, slots=True)
class Purge:
    """Drop some of what is left of a deleted policy: so much that others do not wait long for the transaction."""

    policy: int


@dataclass(frozen=True, slots=True)
class SkipTo:
    """Let a damaged log go on after the entry `seq`, whether there is one or not. What is damaged stays to be seen."""

    policy: int
    seq: int


@dataclass(frozen=True, slots=True, eq=False)
class AddSnapshot:
    """A policy's state after the entry `seq`; packed by the writer, so that nobody else waits for it."""

    policy: int
    seq: int
    at: float
    meta: dict[str, Any]
    arrays: State


@dataclass(frozen=True, slots=True)
class Forget:
    """Drop entries up to `seq` that are older than `before`, and snapshots older than the one at `snapshot`.

    Rankings stay as long as feedback after that snapshot needs them.
    """

    policy: int
    seq: int
    before: float
    snapshot: int


@dataclass(frozen=True, slots=True)
class Erase:
    """Delete the contexts of all rankings that were shown to a user; no copy of them stays where that can be helped."""

    user: str


Table = Literal["items", "users"]
"""Of what fields are kept."""

Versions = list[tuple[float, float | None, Any]]
"""The values of a field: (since, until, value), in the order of `since`. The latest that has begun counts."""


@dataclass(frozen=True, slots=True)
class Fields:
    """Some fields of an item or a user: their values from `since` on, and before `until` if that is given."""

    id: str
    values: dict[str, Any]
    since: float
    until: float | None = None


@dataclass(frozen=True, slots=True)
class PutFields:
    """Add fields to what is kept of a policy's items or users; `at` is now.

    `first` is a number that grows with every write: of more than `most` items, those written longest ago go. An item
    takes at most `most_bytes`: beyond, the fields that began longest ago go.
    """

    policy: int
    table: Table
    entries: tuple[Fields, ...]
    at: float
    first: int
    most: int
    most_bytes: int


@dataclass(frozen=True, slots=True)
class ForgetItem:
    """Drop all that is kept of an item of a policy."""

    policy: int
    id: str


@dataclass(frozen=True, slots=True)
class Key:
    """An API key as stored: never the secret, only its SHA-256. Without `policies` it is for all of them."""

    id: str
    name: str
    digest: bytes
    roles: tuple[str, ...]
    at: float
    rate: float | None = None
    revoked_at: float | None = None
    policies: tuple[str, ...] = ()

    def sees(self, policy: str) -> bool:
        """Whether the key is for this policy."""
        return not self.policies or policy in self.policies


@dataclass(frozen=True, slots=True)
class AddKey:
    """A new key."""

    key: Key


@dataclass(frozen=True, slots=True)
class RevokeKey:
    """The end of a key."""

    id: str
    at: float


Write = (
    Append
    | AddPolicy
    | AddVersion
    | AddState
    | AddAction
    | DeletePolicy
    | Purge
    | SkipTo
    | AddSnapshot
    | Forget
    | Erase
    | PutFields
    | ForgetItem
    | AddKey
    | RevokeKey
)

ADMINISTRATION = AddPolicy(0, "(administration)", 0.0)
"""Whose log the administrators' actions are in; no policy can have that name."""


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A snapshot as found; `digest` is the SHA-256 that was taken of the payload when it was written."""

    seq: int
    at: float
    payload: bytes
    digest: bytes


class Store(Protocol):
    """A place that keeps policies, their logs, snapshots and keys. Failures are `StoreError`s.

    Entries come as they are found; `chain` tells whether they are what was written.
    """

    def open(self, *, serving: bool) -> None:
        """Connect, migrate, and, if `serving`, become the one server of this store (`StoreBusyError` otherwise)."""

    def reopen(self) -> None:
        """Connect again after a failure, and prove that something can be written."""

    def close(self) -> None:
        """Let go of everything; open again is allowed."""

    def commit(self, writes: Sequence[Write]) -> None:
        """Keep all of `writes`, in order, or none; on disk when this returns. Entries join their policy's chain."""

    def secret(self) -> bytes:
        """Random bytes made with the store: what ranking ids are signed with."""

    def policies(self) -> list[AddPolicy]:
        """All policies, oldest first."""

    def deleted_policies(self) -> set[str]:
        """The names of policies that were deleted; others of the same name may be there again."""

    def unpurged(self) -> list[int]:
        """The numbers of deleted policies of which something is left."""

    def last_policy(self) -> int:
        """The highest number that a policy has or had; 0 where there was none."""

    def versions(self, policy: int) -> list[AddVersion]:
        """All versions of a policy, oldest first."""

    def version_states(self, policy: int) -> list[int]:
        """The versions of which the last state is kept, oldest first."""

    def version_state(self, policy: int, version: int) -> StoredSnapshot | None:
        """The state that a version ended with."""

    def snapshots(self, policy: int) -> Iterator[StoredSnapshot]:
        """The snapshots of a policy, newest first."""

    def snapshot_seqs(self, policy: int) -> list[int]:
        """Where there are snapshots, newest first."""

    def entries(self, policy: int, *, after: int, limit: int) -> list[Append]:
        """Entries with a seq above `after`, in order."""

    def entry(self, policy: int, seq: int) -> Append | None:
        """One entry."""

    def feedback(self, policy: int, ranking: int) -> list[Append]:
        """The feedback entries for one ranking, in order."""

    def latest(
        self, policy: int, kind: Kind, *, limit: int, before: int | None = None, query_id: str | None = None
    ) -> list[Append]:
        """The latest entries of a kind, newest first, below the seq `before` if given, of one query if given."""

    def named(self, request_id: str) -> dict[int, tuple[int, float]]:
        """By policy: seq and time of the latest ranking that its caller called `request_id`."""

    def shown_to(self, user: str) -> int:
        """How many rankings have a context that names the user."""

    def head(self, policy: int) -> Head:
        """How far the log goes, as noted when its last entry was written."""

    def last_seq(self, policy: int) -> int:
        """The highest entry that anything tells of, however damaged the log is: the next one is free."""

    def all_fields(self, policy: int, table: Table, *, after: str | None, limit: int) -> dict[str, dict[str, Versions]]:
        """What is kept of items or users, by id, in the order of ids, after one if given."""

    def bounds(self, policy: int) -> tuple[int, int]:
        """The first and the last seq in the log, or (0, 0) where there are none."""

    def fields(self, policy: int, table: Table, ids: Sequence[str]) -> dict[str, dict[str, Versions]]:
        """What is kept of these items or users, by id and field; those of which nothing is are left out."""

    def keys(self) -> list[Key]:
        """All keys, revoked ones included."""

    def size(self) -> int:
        """About how many bytes the store takes."""
