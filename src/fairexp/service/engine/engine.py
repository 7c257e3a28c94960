"""The engine: policies that rank and learn, with every step on disk before it is acknowledged.

A step is taken in memory under the policy's lock and handed to the writer before the lock is let go, so the order of
charges, the order of updates and the order of the log are one. The caller waits for the future outside the lock. If
the store fails, everything not yet kept is dropped, and all policies are rebuilt from the store before anything else.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from fairexp.errors import FairexpError
from fairexp.service.administration.changes import Changes, Order, PolicyChange
from fairexp.service.engine.archive import Archive, ranking_expired
from fairexp.service.engine.background import Upkeep
from fairexp.service.engine.events import GivenEvent, fresh_events
from fairexp.service.engine.live_policy import Desk
from fairexp.service.engine.recovery import Loaded, load_all
from fairexp.service.engine.runtime import Candidates, OpenRanking, Runtime
from fairexp.service.log.ranking_ids import RankingIds, unknown_ranking
from fairexp.service.log.records import Shown, rest_of
from fairexp.service.log.writer import Writer
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.problems import ServiceError, StoreError, storage_unavailable, unknown_policy
from fairexp.service.settings import ServerSettings
from fairexp.service.store.base import (
    AddAction,
    AddPolicy,
    AddSnapshot,
    AddVersion,
    Append,
    Context,
    Erase,
    Kind,
    Store,
    Write,
)

LOG = logging.getLogger("fairexp.service")


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """A ranking and its id; it may be told to the caller when `kept` is done.

    `repeated` says that it was made for an earlier request with the same id.
    """

    id: str
    shown: Shown
    spec: PolicySpec
    kept: Future[None]
    repeated: bool = False


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

    def __init__(self, store: Store, settings: ServerSettings | None = None, *, clock: Callable[[], float] = time.time):
        self.store = store
        self.settings = settings or ServerSettings()
        self.clock = clock
        self.ready = False
        self.failures = 0
        self._desks: dict[str, Desk] = {}
        self._by_id: dict[int, Desk] = {}
        self.declaring = threading.Lock()
        """Held while policies are declared, and while all are restored: neither may see the other half done."""
        self.changes = Changes(self)
        self.upkeep = Upkeep(self)
        self.archive = Archive(store, clock=clock, failed=self.store_failed)
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

    def rank(
        self, name: str, ask: Callable[[Runtime], Candidates], *, request_id: str | None = None, asked: str = ""
    ) -> Ranked:
        """Choose, charge, and hand to the writer; tell the caller when `kept` is done.

        `ask` makes the candidates for the version that is in force, whose features and groups they must have. What has
        been ranked before for the same `request_id` is told again, and nothing is charged; only one can be the first.
        `asked` says in short what is asked for: the same id with something else is a 409.
        """
        desk = self.desk(name)
        while True:
            self.check_store()
            seen = None if request_id is None else desk.requests.look(request_id)
            before = None if request_id is None else self._ranked_before(desk, request_id)
            if before is not None:
                return self._ranked_again(desk, before, asked)
            with desk.turns.ranking(), desk.lock:
                self.check_store()
                if request_id is None or desk.requests.look(request_id) == seen:
                    return self._rank(desk, ask)

    def _rank(self, desk: Desk, ask: Callable[[Runtime], Candidates]) -> Ranked:
        started, runtime, policy = time.perf_counter(), desk.runtime, desk.row.policy
        with self._whole(desk):
            candidates = ask(runtime)
            shown, belief = runtime.rank(candidates, at=self.clock())
            if candidates.whole:
                shown = replace(shown, rest=rest_of(belief, shown, took=int(1000 * (time.perf_counter() - started))))
            context = Context.of(shown.context)
            entry = Append(policy, shown.seq, Kind.SHOWN, shown.at, shown.payload(), context=context)
        kept = self.submit(desk, [entry], shown.seq)
        desk.keep(OpenRanking.of(shown))
        if context is not None and context.request_id is not None:
            desk.requests.put(context.request_id, shown.seq, committed=desk.committed)
        self.snapshot(desk, at_least=self.settings.snapshot_every)
        return Ranked(self.ids.make(policy, shown.seq), shown, runtime.spec, kept)

    def _ranked_before(self, desk: Desk, request_id: str) -> Shown | None:
        """The ranking that was made for a request id, if there is one and its record has not expired."""
        if desk.requests.look(request_id)[1] is not None:
            self.writer.submit([]).result()  # it may still be on its way to disk
        place = self.archive.named(request_id).get(desk.row.policy)
        found = None if place is None else self.archive.find(desk, place[0])
        return None if found is None else found[0]

    def _ranked_again(self, desk: Desk, shown: Shown, asked: str) -> Ranked:
        if asked != shown.asked:
            raise ServiceError(
                "request_id_reused",
                "request_id: it was used for other candidates; expected the same ones, or an id of its own",
                status=409,
                field="request_id",
            )
        kept: Future[None] = Future()
        kept.set_result(None)
        ranking_id = self.ids.make(desk.row.policy, shown.seq)
        return Ranked(ranking_id, shown, desk.spec(shown.version), kept, repeated=True)

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
                if self.archive.has_expired(desk, opened.shown.at):
                    raise ranking_expired()
                fresh = fresh_events(opened, events, runtime.spec, self.settings.max_events)
                n_duplicates = len(events) - len(fresh)
                if not fresh and not (final and not opened.taught):
                    # Its first copy may still be on its way to disk; the acknowledgement waits for that.
                    return Learned(0, n_duplicates, "duplicate", self.submit(desk, [], desk.committed))
                with self._whole(desk):
                    feedback = runtime.learn(opened, fresh, at=self.clock(), final=final)
                    place = (desk.row.policy, feedback.seq, Kind.FEEDBACK, feedback.at)
                    entry = Append(*place, feedback.payload(), ranking=feedback.ranking)
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
            opened = OpenRanking.of(*self.archive.ranking(desk, seq))
            with desk.lock:
                self.check_store()
                desk.keep(opened)
        return desk, seq

    def rankings_named(self, request_id: str) -> list[str]:
        """The ids of the latest ranking of each policy that was made for `request_id`."""
        found = [(self._by_id.get(policy), *place) for policy, place in self.archive.named(request_id).items()]
        return [
            self.ids.make(desk.row.policy, seq)
            for desk, seq, at in found
            if desk is not None and not self.archive.has_expired(desk, at)
        ]

    def erase(self, user: str, *, by: str = "unknown", dry_run: bool = False) -> int:
        """Delete what tells which rankings were shown to a user; how many there are, or were.

        That `by` did it is recorded, and how many rankings it concerned, but not whose they were.
        """
        self.check_store()
        self.writer.submit([]).result()  # what was handed in is on disk
        n_rankings = self.archive.n_shown_to(user)
        if not dry_run:
            action = AddAction(self.clock(), by, "erased a user", None, {"rankings": n_rankings})
            self.writer.submit([Erase(user), action]).result()
            for desk in self.desks():
                desk.requests.let_go(committed=desk.committed)
        return n_rankings

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
