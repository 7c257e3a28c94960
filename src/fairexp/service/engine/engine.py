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
from dataclasses import dataclass, replace
from typing import Any

from fairexp.errors import FairexpError
from fairexp.service.engine.archive import Archive, ranking_expired
from fairexp.service.engine.background import Background
from fairexp.service.engine.candidates import Candidates
from fairexp.service.engine.events import GivenEvent, fresh_events
from fairexp.service.engine.live_policy import LivePolicy
from fairexp.service.engine.open_ranking import OpenRanking
from fairexp.service.engine.recovery import Loaded, load_all
from fairexp.service.engine.runtime import Runtime
from fairexp.service.items import Catalog
from fairexp.service.log.ranking_ids import RankingIds, unknown_ranking
from fairexp.service.log.shown import Shown, rest_of
from fairexp.service.log.writer import Writer
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.problems import ServiceError, StoreError, invalid, storage_unavailable, unknown_policy
from fairexp.service.settings import ServerSettings
from fairexp.service.store.base import (
    AddAction,
    AddPolicy,
    AddSnapshot,
    AddVersion,
    Append,
    Context,
    Erase,
    Fields,
    Kind,
    Store,
    Table,
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


class Engine:
    """All policies of one store. Safe to call from several threads."""

    def __init__(self, store: Store, settings: ServerSettings | None = None, *, clock: Callable[[], float] = time.time):
        self.store = store
        self.settings = settings or ServerSettings()
        self.clock = clock
        self.ready = False
        self.failures = 0
        self._policies: dict[str, LivePolicy] = {}
        self._by_id: dict[int, LivePolicy] = {}
        self.declaring = threading.Lock()
        """Held while policies are declared, and while all are restored: neither may see the other half done."""
        self.background = Background(self)
        self.archive = Archive(store, clock=clock, failed=self.store_failed)
        self.catalog = Catalog(
            store,
            most_bytes=self.settings.max_item_bytes,
            clock=clock,
            submit=self._hand_in,
            reading=self.archive.reading,
        )
        self.ids = RankingIds(b"")

    def start(self) -> None:
        """Open the store, restore all policies; ready when this returns."""
        self.store.open(serving=True)
        try:
            self.ids = RankingIds(self.store.secret())
            self.restore(load_all(self.store))
        except BaseException:
            self.store.close()
            raise
        self.writer = Writer(self.store, failed=self.store_failed)
        self.background.start()
        self.ready = True

    def close(self) -> None:
        """Take nothing more, keep what was taken, and let go of the store."""
        if not self.ready:
            return
        self.ready = False
        self.background.stop()
        if not self.writer.broken:
            for live in self._policies.values():
                self.snapshot(live, at_least=1)
        self.writer.close()
        self.store.close()

    # Policies

    def names(self) -> list[str]:
        """The policies there are."""
        return sorted(self._policies)

    def policies(self) -> list[LivePolicy]:
        """All policies, those that cannot serve included."""
        return list(self._policies.values())

    def policy(self, name: str) -> LivePolicy:
        """The policy of that name, or a 404."""
        try:
            return self._policies[name]
        except KeyError:
            raise unknown_policy(name) from None

    def add(self, live: LivePolicy, runtime: Runtime, version: AddVersion) -> None:
        """Serve a new policy."""
        live.start(runtime, [version], snapshot_seq=0)
        self._by_id[live.row.policy] = self._policies[live.row.name] = live

    def remove(self, live: LivePolicy) -> None:
        """Serve a policy no more."""
        live.end()
        self._policies.pop(live.row.name, None)
        self._by_id.pop(live.row.policy, None)

    # Ranking and learning

    def rank(
        self,
        name: str,
        ask: Callable[[Runtime], Candidates],
        *,
        request_id: str | None = None,
        asked: str = "",
        after: str | None = None,
    ) -> Ranked:
        """Choose, charge, and hand to the writer; tell the caller when `kept` is done.

        `after` is the id of a ranking that this one continues, as its next page.
        `ask` makes the candidates for the version that is in force, whose features and groups they must have. What has
        been ranked before for the same `request_id` is told again, and nothing is charged; only one can be the first.
        `asked` says in short what is asked for: the same id with something else is a 409.
        """
        live = self.policy(name)
        while True:
            with live.lock:
                self.check_store()
                recent = None if request_id is None else live.requests.find(request_id)
                if recent is None or recent <= live.committed:
                    before = None if request_id is None else self._ranked_before(live, request_id)
                    if before is not None:
                        return self._ranked_again(live, before, asked)
                    return self._rank(live, ask if after is None else self._next_page(live, ask, after))
            self.writer.submit([]).result()  # what was ranked for this id is still on its way to disk

    def _rank(self, live: LivePolicy, ask: Callable[[Runtime], Candidates]) -> Ranked:
        started, runtime, policy = time.perf_counter(), live.runtime, live.row.policy
        with self._whole(live):
            candidates = ask(runtime)
            shown, belief = runtime.rank(candidates, at=self.clock())
            if candidates.whole:
                shown = replace(shown, rest=rest_of(belief, shown, took=int(1000 * (time.perf_counter() - started))))
            context = Context.of(shown.context)
            entry = Append(policy, shown.seq, Kind.SHOWN, shown.at, shown.payload(), context=context)
        # From the submission on the writer is at work too, so what can be done before it is.
        opened, ranking_id = OpenRanking.of(shown), self.ids.make(policy, shown.seq)
        kept = self.submit(live, [entry], shown.seq)
        live.keep(opened)
        if context is not None and context.request_id is not None:
            live.requests.put(context.request_id, shown.seq, committed=live.committed)
        self.snapshot(live, at_least=self.settings.snapshot_every)
        return Ranked(ranking_id, shown, runtime.spec, kept)

    def _next_page(
        self, live: LivePolicy, ask: Callable[[Runtime], Candidates], after: str
    ) -> Callable[[Runtime], Candidates]:
        """The candidates that no earlier page has shown, from the position on at which those end; under the lock."""
        policy, seq = self.ids.read(after, "after")
        if policy != live.row.policy:
            raise unknown_ranking(after, "after")
        first, ids = self.archive.earlier_pages(live, seq)

        def ask_on(runtime: Runtime) -> Candidates:
            if first >= runtime.spec.depth:
                raise invalid("after", f"a ranking that ends at position {first}", f"one below {runtime.spec.depth}")
            left = ask(runtime).without(ids)
            if not left.ids:
                raise invalid("after", "a ranking that has shown all of these candidates", "others besides them")
            return replace(left, after=seq, first=first)

        return ask_on

    def _ranked_before(self, live: LivePolicy, request_id: str) -> Shown | None:
        """The ranking that was made for a request id, if there is one and its record has not expired."""
        place = self.archive.named(request_id).get(live.row.policy)
        found = None if place is None else self.archive.find(live, place[0])
        return None if found is None else found[0]

    def _ranked_again(self, live: LivePolicy, shown: Shown, asked: str) -> Ranked:
        if asked != shown.asked:
            raise ServiceError(
                "request_id_reused",
                "request_id: it was used for other candidates; expected the same ones, or an id of its own",
                status=409,
                field="request_id",
            )
        kept: Future[None] = Future()
        kept.set_result(None)
        ranking_id = self.ids.make(live.row.policy, shown.seq)
        return Ranked(ranking_id, shown, live.spec(shown.version), kept, repeated=True)

    def learn(
        self, ranking_id: str, events: Sequence[GivenEvent], *, final: bool = False, seen: int | None = None
    ) -> Learned:
        """Learn from what came back; acknowledge when `kept` is done. Reads the store if the ranking is not at hand.

        `seen` is the last position that was seen, from 1; 0 gives back what a ranking that nobody saw was charged.
        """
        live, seq = self._place(ranking_id)
        with live.lock:
            self.check_store()
            runtime, opened = live.runtime, live.opened.get(seq)
            if opened is None:
                opened = OpenRanking.of(*self.archive.ranking(live, seq))
                live.keep(opened)
            if self.archive.has_expired(live, opened.shown.at):
                raise ranking_expired()
            most, most_exposure = self.settings.max_events, runtime.most_exposure
            fresh = fresh_events(opened, events, runtime.spec, most=most, most_exposure=most_exposure)
            n_duplicates = len(events) - len(fresh)
            at = self.clock()
            if not fresh and not (final and not opened.taught) and not runtime.measures(opened, seen, at=at):
                # Its first copy may still be on its way to disk; the acknowledgement waits for that.
                late = seen is not None and not runtime.is_open(opened.shown, at)
                status = "window_closed" if late else "duplicate"
                return Learned(0, n_duplicates, status, self.submit(live, [], live.committed))
            with self._whole(live):
                feedback = runtime.learn(opened, fresh, at=at, final=final, seen=seen)
                place = (live.row.policy, feedback.seq, Kind.FEEDBACK, feedback.at)
                entry = Append(*place, feedback.payload(), ranking=feedback.ranking)
            kept = self.submit(live, [entry], feedback.seq)
            live.keep(opened)
            self.snapshot(live, at_least=self.settings.snapshot_every)
            return Learned(len(fresh), n_duplicates, feedback.status, kept)

    def rankings_named(self, request_id: str) -> list[str]:
        """The ids of the latest ranking of each policy that was made for `request_id`."""
        found = [(self._by_id.get(policy), *place) for policy, place in self.archive.named(request_id).items()]
        return [
            self.ids.make(live.row.policy, seq)
            for live, seq, at in found
            if live is not None and (live.problem is not None or not self.archive.has_expired(live, at))
        ]

    def keep_fields(self, live: LivePolicy, table: Table, given: Sequence[Fields]) -> Future[None]:
        """Keep fields of items or users of a policy; acknowledge when it is done."""
        with live.lock:
            items = live.runtime.spec.items
            if items is None:
                raise invalid("policy", "one that keeps no items", "one whose `items` says how many to keep")
            return self.catalog.put(live.row.policy, table, given, most=items.most)

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
            for live in self.policies():
                with live.lock:
                    live.requests.let_go(committed=live.committed)
        return n_rankings

    def known_of(self, user: str) -> dict[str, Any]:
        """What is kept about a user: how many rankings name them, and their fields by policy."""
        self.writer.submit([]).result()  # what was handed in is on disk
        found = {each.row.name: self.catalog.find(each.row.policy, "users", [user]) for each in self.policies()}
        fields = {name: known[user] for name, known in sorted(found.items()) if user in known}
        return {"user": user, "rankings": self.archive.n_shown_to(user), "fields": fields}

    def policy_of(self, ranking_id: str) -> LivePolicy:
        """The policy that showed a ranking; a 404 if there is none."""
        return self._place(ranking_id)[0]

    def _place(self, ranking_id: str) -> tuple[LivePolicy, int]:
        policy, seq = self.ids.read(ranking_id)
        live = self._by_id.get(policy)
        if live is None:
            raise unknown_ranking(ranking_id)
        return live, seq

    # Keeping

    @property
    def healthy(self) -> bool:
        """Whether what is asked for can be kept. A damaged policy is out of service alone; one to be rebuilt is not."""
        return self.ready and not self.writer.broken and not any(live.stale for live in self._policies.values())

    @property
    def damaged(self) -> list[str]:
        """The policies whose records are not what was written."""
        return sorted(live.row.name for live in self._policies.values() if live.problem is not None)

    def check_store(self) -> None:
        """A 503 if nothing can be kept."""
        if not self.ready or self.writer.broken:
            raise storage_unavailable()

    def _hand_in(self, writes: Sequence[Write]) -> Future[None]:
        """Hand the writer what belongs to no log."""
        self.check_store()
        return self.writer.submit(writes)

    def submit(self, live: LivePolicy, writes: Sequence[Write], seq: int) -> Future[None]:
        """Hand a policy's writes to the writer, under its lock; `seq` is the last entry among them."""
        future = self.writer.submit(writes)

        def note(done: Future[None]) -> None:
            if done.exception() is None:
                live.committed = max(live.committed, seq)

        future.add_done_callback(note)
        return future

    def snapshot(self, live: LivePolicy, *, at_least: int) -> None:
        """Hand in a snapshot if `at_least` so many entries came since the last one."""
        with live.lock:
            if live.problem is not None or live.stale or live.runtime.seq - live.snapshot_seq < at_least:
                return
            runtime = live.runtime
            meta, arrays = runtime.state()
            self.writer.submit([AddSnapshot(live.row.policy, runtime.seq, runtime.at, meta, arrays)])
            live.snapshot_seq = runtime.seq

    @contextmanager
    def _whole(self, live: LivePolicy) -> Iterator[None]:
        """A change of a policy's state that is made entirely or not at all, as far as its callers can tell."""
        try:
            yield
        except FairexpError:
            raise  # what the library refuses it refuses before changing anything; other errors are not foreseen
        except BaseException:
            live.stale = True  # to be rebuilt from the store
            self.background.call()
            raise

    def store_failed(self, error: StoreError) -> None:
        """Take note that the store failed, and have it brought back."""
        self.failures += 1
        LOG.error("store failed", extra={"facts": {"problem": str(error)}})
        self.background.call()

    def restore(self, policies: dict[AddPolicy, Loaded | StoreError]) -> None:
        """Go on from what the store holds."""
        for row, loaded in policies.items():
            live = self._policies.get(row.name) or LivePolicy(row, self.settings)
            with live.lock:
                if isinstance(loaded, StoreError):
                    LOG.error("policy not restored", extra={"facts": {"policy": row.name, "problem": str(loaded)}})
                    live.fail(loaded)
                else:
                    live.start(loaded.runtime, loaded.versions, snapshot_seq=loaded.snapshot_seq)
            self._policies[row.name] = self._by_id[row.policy] = live
