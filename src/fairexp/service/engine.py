"""The engine: policies that rank and learn, with every step on disk before it is acknowledged.

A step is taken in memory under the policy's lock and handed to the writer before the lock is let go, so the order of
charges, the order of updates and the order of the log are one. The caller waits for the future outside the lock. If
the store fails, everything not yet kept is dropped, and all policies are rebuilt from the store before anything else.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from fairexp.errors import FairexpError
from fairexp.service.changes import Changes, Order, PolicyChange
from fairexp.service.desk import Desk, records_of
from fairexp.service.events import GivenEvent, fresh_events
from fairexp.service.policy import PolicySpec
from fairexp.service.problems import CorruptRecordError, ServiceError, StoreError, storage_unavailable, unknown_policy
from fairexp.service.ranking_ids import RankingIds, unknown_ranking
from fairexp.service.records import Feedback, Shown
from fairexp.service.recovery import Loaded, load_all
from fairexp.service.runtime import Candidates, OpenRanking, Runtime
from fairexp.service.settings import Settings
from fairexp.service.store.base import AddPolicy, AddSnapshot, AddVersion, Append, Kind, Store, Write
from fairexp.service.upkeep import Upkeep
from fairexp.service.writer import Writer
from fairexp.types import Belief

LOG = logging.getLogger("fairexp.service")


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """A ranking and its id; it may be told to the caller when `kept` is done."""

    id: str
    shown: Shown
    belief: Belief | None
    runtime: Runtime
    kept: Future[None]


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What was made of feedback; it may be acknowledged when `kept` is done."""

    accepted: int
    duplicates: int
    status: str
    kept: Future[None]


DEFAULT_ORDER = Order()


class Engine:
    """All policies of one store. Safe to call from several threads."""

    def __init__(self, store: Store, settings: Settings | None = None, *, clock: Callable[[], float] = time.time):
        self.store = store
        self.settings = settings or Settings()
        self.clock = clock
        self.ready = False
        self.failures = 0
        self._desks: dict[str, Desk] = {}
        self._by_id: dict[int, Desk] = {}
        self.declaring = threading.Lock()
        """Held while policies are declared, and while all are restored: neither may see the other half done."""
        self.changes = Changes(self)
        self.upkeep = Upkeep(self)
        self.ids = RankingIds(b"")

    def start(self) -> None:
        """Open the store, restore all policies; ready when this returns."""
        self.store.open(serving=True)
        try:
            self.ids = RankingIds(self.store.secret())
            self.take_seats(load_all(self.store))
        except BaseException:
            self.store.close()
            raise
        self.writer = Writer(self.store, failed=self.store_failed)
        self.upkeep.start()
        self.ready = True

    def close(self) -> None:
        """Take nothing more, keep what was taken, and let go of the store."""
        if not self.ready:
            return
        self.ready = False
        self.upkeep.stop()
        if not self.writer.broken:
            for desk in self._desks.values():
                self.snapshot(desk, at_least=1)
        self.writer.close()
        self.store.close()

    # Policies

    def names(self) -> list[str]:
        """The policies there are."""
        return sorted(self._desks)

    def desks(self) -> list[Desk]:
        """The desks of all policies."""
        return list(self._desks.values())

    def desk(self, name: str) -> Desk:
        """A policy's desk, or a 404."""
        try:
            return self._desks[name]
        except KeyError:
            raise unknown_policy(name) from None

    def put_policy(self, name: str, spec: PolicySpec, order: Order = DEFAULT_ORDER) -> PolicyChange:
        """Declare a policy, or change it; returns when that is on disk."""
        return self.changes.put(name, spec, order)

    def admit(self, desk: Desk, runtime: Runtime, version: AddVersion) -> None:
        """Serve a new policy."""
        desk.seat(runtime, [version], snapshot_seq=0)
        self._by_id[desk.row.policy] = self._desks[desk.row.name] = desk

    def dismiss(self, desk: Desk) -> None:
        """Serve a policy no more."""
        desk.end()
        self._desks.pop(desk.row.name, None)
        self._by_id.pop(desk.row.policy, None)

    # Ranking and learning

    def rank(self, name: str, ask: Callable[[Runtime], Candidates]) -> Ranked:
        """Choose, charge, and hand to the writer; tell the caller when `kept` is done.

        `ask` makes the candidates for the version that is in force, whose features and groups they must have.
        """
        desk = self.desk(name)
        self.check_store()
        with desk.turns.ranking(), desk.lock:
            self.check_store()
            runtime = desk.runtime
            with self._whole(desk):
                shown, belief = runtime.rank(ask(runtime), at=self.clock())
                entry = Append(desk.row.policy, shown.seq, Kind.SHOWN, shown.at, shown.payload(), alias=shown.alias)
            kept = self.submit(desk, [entry], shown.seq)
            desk.keep(OpenRanking.of(shown))
            self.snapshot(desk, at_least=self.settings.snapshot_every)
        return Ranked(self.ids.make(desk.row.policy, shown.seq), shown, belief, runtime, kept)

    def learn(self, ranking_id: str, events: Sequence[GivenEvent], *, final: bool = False) -> Learned:
        """Learn from what came back; acknowledge when `kept` is done. Reads the store if the ranking is not at hand."""
        while True:
            self.check_store()
            desk, seq = self.load(ranking_id)
            with desk.turns.learning(), desk.lock:
                self.check_store()
                opened = desk.opened.get(seq)
                if opened is None:  # let go of in between
                    continue
                runtime = desk.runtime
                fresh = fresh_events(opened, events, runtime.spec, self.settings.max_events)
                n_duplicates = len(events) - len(fresh)
                if not fresh and not (final and not opened.taught):
                    # Its first copy may still be on its way to disk; the acknowledgement waits for that.
                    return Learned(0, n_duplicates, "duplicate", self.submit(desk, [], desk.committed))
                with self._whole(desk):
                    feedback = runtime.learn(opened, fresh, at=self.clock(), final=final)
                    entry = _feedback_entry(desk.row.policy, feedback)
                kept = self.submit(desk, [entry], feedback.seq)
                desk.keep(opened)
                self.snapshot(desk, at_least=self.settings.snapshot_every)
                return Learned(len(fresh), n_duplicates, feedback.status, kept)

    def load(self, ranking_id: str) -> tuple[Desk, int]:
        """Make sure that a ranking is at hand; a 404 or 410 if there is none. May read the store."""
        policy, seq = self.ids.read(ranking_id)
        desk = self._by_id.get(policy)
        if desk is None:
            raise unknown_ranking(ranking_id)
        with desk.lock:
            if seq in desk.opened:
                return desk, seq
        # One at a time: nobody can add feedback for a ranking between its being read and its being at hand.
        with desk.loading:
            with desk.lock:
                if seq in desk.opened:
                    return desk, seq
            opened = OpenRanking.of(*self.read_ranking(desk, seq))
            with desk.lock:
                self.check_store()
                desk.keep(opened)
        return desk, seq

    def read_ranking(self, desk: Desk, seq: int) -> tuple[Shown, list[Feedback]]:
        """A ranking as the store has it, with what came back for it; a 410 if its record has expired."""
        with self.reading():
            entry = self.store.entry(desk.row.policy, seq)
            if entry is not None and entry.kind == Kind.SHOWN:
                return records_of(entry, self.store.feedback(desk.row.policy, seq))
        raise ServiceError(
            "ranking_expired",
            "ranking_id: the record of this ranking has expired (retention.rankings_seconds of its policy)",
            status=410,
            field="ranking_id",
        )

    def latest_rankings(
        self, desk: Desk, *, limit: int, before: int | None = None
    ) -> list[tuple[Shown, list[Feedback]]]:
        """The latest rankings with what came back for each, newest first, below the entry `before` if given."""
        policy = desk.row.policy
        with self.reading():
            entries = self.store.latest(policy, Kind.SHOWN, limit=limit, before=before)
            return [records_of(entry, self.store.feedback(policy, entry.seq)) for entry in entries]

    def rankings_named(self, alias: str) -> list[str]:
        """The ids of the latest ranking of each policy that its caller called `alias`."""
        with self.reading():
            return [self.ids.make(*place) for place in self.store.named(alias)]

    def policy_of(self, ranking_id: str) -> str:
        """The name of the policy that showed a ranking; a 404 if there is none."""
        desk = self._by_id.get(self.ids.read(ranking_id)[0])
        if desk is None:
            raise unknown_ranking(ranking_id)
        return desk.row.name

    # Keeping

    @property
    def healthy(self) -> bool:
        """Whether everything that is asked for can be kept and every policy serves."""
        desks = self._desks.values()
        return self.ready and not self.writer.broken and not any(desk.problem or desk.stale for desk in desks)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Reading from the store: a 503 if that fails, a 500 if what is found is not what was written."""
        try:
            yield
        except CorruptRecordError as error:
            self.store_failed(error)
            raise ServiceError(
                "record_damaged",
                "the record of this ranking is not what was written, so it is not used; see the server's log",
                status=500,
            ) from error
        except StoreError as error:
            self.store_failed(error)
            raise storage_unavailable() from error

    def check_store(self) -> None:
        """A 503 if nothing can be kept."""
        if not self.ready or self.writer.broken:
            raise storage_unavailable()

    def submit(self, desk: Desk, writes: Sequence[Write], seq: int) -> Future[None]:
        """Hand a policy's writes to the writer, under its lock; `seq` is the last entry among them."""
        future = self.writer.submit(writes)

        def note(done: Future[None]) -> None:
            if done.exception() is None:
                desk.committed = max(desk.committed, seq)

        future.add_done_callback(note)
        return future

    def snapshot(self, desk: Desk, *, at_least: int) -> None:
        """Hand in a snapshot if `at_least` so many entries came since the last one."""
        with desk.lock:
            if desk.problem is not None or desk.stale or desk.runtime.seq - desk.snapshot_seq < at_least:
                return
            runtime = desk.runtime
            meta, arrays = runtime.state()
            self.writer.submit([AddSnapshot(desk.row.policy, runtime.seq, runtime.at, meta, arrays)])
            desk.snapshot_seq = runtime.seq

    def _whole(self, desk: Desk) -> _Whole:
        return _Whole(self, desk)

    def store_failed(self, error: StoreError) -> None:
        self.failures += 1
        LOG.error("store failed", extra={"facts": {"problem": str(error)}})
        self.upkeep.call()

    def distrust(self, desk: Desk) -> None:
        """Something unforeseen happened while a policy's state was changing: rebuild it from the store."""
        desk.stale = True
        self.upkeep.call()

    def take_seats(self, policies: dict[AddPolicy, Loaded | StoreError]) -> None:
        """Go on from what the store holds."""
        for row, loaded in policies.items():
            desk = self._desks.get(row.name) or Desk(row, cached_bytes=self.settings.cached_bytes)
            with desk.lock:
                if isinstance(loaded, StoreError):
                    LOG.error("policy not restored", extra={"facts": {"policy": row.name, "problem": str(loaded)}})
                    desk.fail(loaded)
                else:
                    desk.seat(loaded.runtime, loaded.versions, snapshot_seq=loaded.snapshot_seq)
            self._desks[row.name] = self._by_id[row.policy] = desk


class _Whole:
    """A change of a policy's state that is made entirely or not at all, as far as its callers can tell."""

    def __init__(self, engine: Engine, desk: Desk) -> None:
        self._engine, self._desk = engine, desk

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        # What the library refuses it refuses before changing anything; other errors are not foreseen.
        if error is not None and not isinstance(error, FairexpError):
            self._engine.distrust(self._desk)


def _feedback_entry(policy: int, feedback: Feedback) -> Append:
    return Append(policy, feedback.seq, Kind.FEEDBACK, feedback.at, feedback.payload(), ranking=feedback.ranking)
