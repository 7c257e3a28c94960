"""Is a store what the service wrote? Every entry, snapshot and version of every policy, without a server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import orjson

from fairexp.errors import ArgumentError
from fairexp.service.log.snapshot import read_snapshot
from fairexp.service.problems import CorruptRecordError
from fairexp.service.store.base import ADMINISTRATION, AddPolicy, Append, Head, Kind, Store
from fairexp.service.store.chain import Chain
from fairexp.service.store.codec import unpack

AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Audited:
    """What was found of one policy: how many entries, where its log ends, and all that is wrong.

    `n_erased` entries had a context that is gone. `met` says by constraint in how many rankings it was met, and of how
    many: those in the log whose ranker keeps a tolerance.
    """

    name: str
    n_entries: int
    n_erased: int
    head: Head
    problems: tuple[str, ...]
    met: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def note(self) -> str:
        """What to write down elsewhere, and to pass as `expected` later."""
        return f"{self.name}:{self.head.note}"


def audit(store: Store, *, expected: Sequence[str] = ()) -> list[Audited]:
    """Check every policy of an open store; a server may be at work on it.

    `expected` are notes of earlier audits: the log must still hold the entries that they name. A chain that was made
    anew as a whole is found by them alone.
    """
    notes = _notes(expected)
    rows = store.policies()
    if store.head(ADMINISTRATION.policy).seq:
        rows.append(ADMINISTRATION)
    unknown = sorted(notes.keys() - {row.name for row in rows})
    if unknown:
        known = ", ".join(row.name for row in rows) or "none"
        raise ArgumentError("expected", f"a note of {', '.join(unknown)}", f"notes of policies in the store ({known})")
    return [_Audit(store, row, notes.get(row.name, {})).run() for row in rows]


def _notes(expected: Sequence[str]) -> dict[str, dict[int, str]]:
    notes: dict[str, dict[int, str]] = {}
    for note in expected:
        name, _, rest = note.partition(":")
        seq, _, digest = rest.partition(":")
        if not seq.isdecimal() or not digest:
            raise ArgumentError("expected", repr(note), "policy:entry:digest", "An audit prints such notes.")
        notes.setdefault(name, {})[int(seq)] = digest.lower()
    return notes


class _Audit:
    """One policy's audit. What is written meanwhile is left for the next."""

    def __init__(self, store: Store, row: AddPolicy, noted: dict[int, str]) -> None:
        self._store, self._row, self._noted = store, row, noted
        self._head = store.head(row.policy)
        self._chain = Chain(forgotten=self._head.forgotten)
        self._specs = {version.seq: version.spec for version in store.versions(row.policy)}
        self._problems: list[str] = []
        self._met: dict[str, tuple[int, int]] = {}
        self._links = dict(self._snapshots())

    def run(self) -> Audited:
        n_entries = n_erased = 0
        for entry in self._entries():
            n_entries += 1
            n_erased += entry.is_erased
            if entry.kind == Kind.SHOWN:
                self._count(entry)
            if entry.seq != self._chain.seq + 1:  # more may have expired since
                self._chain.forgotten = self._store.head(self._row.policy).forgotten
            self._problems += [each for each in (self._chain.follow(entry), *self._of(entry)) if each is not None]
        self._problems += [each for each in (self._chain.end(self._head), *self._beyond()) if each is not None]
        self._problems += [f"entry {seq} was noted, but it is not in the log, or not any more" for seq in self._noted]
        return Audited(self._row.name, n_entries, n_erased, self._head, tuple(self._problems), self._met)

    def _entries(self) -> Iterator[Append]:
        seq = 0
        while seq < self._head.seq:
            entries = self._store.entries(self._row.policy, after=seq, limit=AT_ONCE)
            if not entries:
                return
            yield from (entry for entry in entries if entry.seq <= self._head.seq)
            seq = entries[-1].seq

    def _beyond(self) -> Iterator[str | None]:
        """What is after the end; what a server wrote meanwhile has moved the end with it."""
        after = self._store.entries(self._row.policy, after=self._head.seq, limit=1)
        head = self._store.head(self._row.policy)
        yield from (Chain(after=entry.seq).beyond(head) for entry in after)
        yield from (f"snapshot {seq}: the log ends before it, with {head.seq}" for seq in self._links if seq > head.seq)

    def _of(self, entry: Append) -> Iterator[str | None]:
        """What else speaks of this entry: a note, a snapshot, a version."""
        found = entry.digest.hex()
        noted = self._noted.pop(entry.seq, found)
        if noted != found:
            yield f"entry {entry.seq} has digest {found}, expected {noted} as noted: the log was made anew"
        if self._links.get(entry.seq, entry.digest) != entry.digest:
            yield f"entry {entry.seq} is not the one that the snapshot after it was taken of"
        if entry.kind == Kind.POLICY:
            yield self._version(entry)

    def _count(self, entry: Append) -> None:
        """Count what a ranking's record says of each constraint; one that was changed is told of by its digest."""
        try:
            accounts = unpack(entry.payload)[0].get("accounts", [])
            told = [(str(name), bool(met)) for name, _, met in accounts if met is not None]
        except (CorruptRecordError, AttributeError, TypeError, ValueError):
            return
        for name, met in told:
            n_met, n_all = self._met.get(name, (0, 0))
            self._met[name] = (n_met + met, n_all + 1)

    def _version(self, entry: Append) -> str | None:
        try:
            spec = unpack(entry.payload)[0]["spec"]
            same = entry.seq in self._specs and orjson.loads(self._specs[entry.seq]) == spec
        except (CorruptRecordError, KeyError, ValueError):
            same = False
        return None if same else f"the version that is in force from entry {entry.seq} on is not the one in the log"

    def _snapshots(self) -> Iterator[tuple[int, bytes]]:
        for snapshot in self._store.snapshots(self._row.policy):
            try:
                _, _, link = read_snapshot(snapshot)
                if link is not None:
                    yield snapshot.seq, link
            except (CorruptRecordError, ValueError) as error:
                self._problems.append(str(error))
