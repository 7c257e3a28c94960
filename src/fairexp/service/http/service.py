"""A running service: its engine, who may use it, its metrics, how it ranks and learns, and how it starts and stops."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from fastapi import Request

from fairexp.errors import FairexpError
from fairexp.service.changes import ChangeRequest, Changes, Prefer
from fairexp.service.engine.candidates import Candidates
from fairexp.service.engine.engine import Engine, Learned, Ranked
from fairexp.service.engine.events import GivenEvent
from fairexp.service.engine.runtime import Runtime
from fairexp.service.http.answers import read_body
from fairexp.service.http.connections import Connections
from fairexp.service.http.keys import Access
from fairexp.service.http.metrics import Metrics
from fairexp.service.http.tally import Tally
from fairexp.service.limit import Limit
from fairexp.service.policies.columns import Columns
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.problems import AboveLimitError, ServiceError, StoreBusyError, StoreError
from fairexp.service.requests.asked import Asked
from fairexp.service.requests.budget import Budget
from fairexp.service.requests.fields import filled, lacking
from fairexp.service.requests.reader import Reader
from fairexp.service.settings import ServerSettings
from fairexp.service.store.base import Fields, Store, Table
from fairexp.service.views.page.cache import ChartCache
from fairexp.service.views.page.script import Script

LOG = logging.getLogger("fairexp.service")
Result = TypeVar("Result")
WORKING_THREADS = 8
"""So many policies rank or learn at once."""

WAITING_THREADS = 32
"""For what waits for the store, or for a policy at work: many, so that none waits for lack of a thread."""

TELL_SECONDS = 0.5
"""Time between two looks whether there is anything to tell the log."""

MOST_TOLD = 5
"""Most addresses, or limits, that a line of the log names."""

BUSY_SECONDS = 10.0
"""How long a server waits at its start for the one before it to let go of the store."""


class Service:
    """Everything that the routes need, as `request.app.state.service`.

    Nobody is let in without a key, unless it is `open`: then everybody on this machine may do everything.
    """

    def __init__(
        self,
        store: Store,
        *,
        settings: ServerSettings | None = None,
        policies: Mapping[str, PolicySpec] | None = None,
        prefer: Prefer | None = None,
        discard: bool = False,
        open: bool = False,
        fatal: Callable[[FairexpError], None] | None = None,
    ) -> None:
        self.settings = settings or ServerSettings()
        self.engine = Engine(store, self.settings)
        self.access = Access(
            open=open,
            default_rate=self.settings.requests_per_second,
            stranger_rate=self.settings.unauthenticated_per_second,
        )
        self.changes = Changes(self.engine)
        most = self.settings.max_waiting_feedback
        self.feedback = Limit("requests with feedback", most=most, setting="max_waiting_feedback")
        self.budget = Budget(self.settings.max_bodies_bytes)
        self.reader = Reader(self.settings)
        self.connections = Connections(self.settings)
        self.metrics = Metrics(
            self.engine, self.feedback, budget=self.budget, reader=self.reader, connections=self.connections
        )
        self._threads = ThreadPoolExecutor(WORKING_THREADS, thread_name_prefix="fairexp-work")
        self._above_limit = Tally[str]()
        self.charts = ChartCache()
        self.script: Script | None = None
        self._policies = dict(policies or {})
        self._prefer = prefer
        self._change_request = ChangeRequest(by="the policy file", origin="file", discard=discard)
        self._fatal = fatal
        self._tasks: list[asyncio.Task[None]] = []
        self.declared = False

    @property
    def ready(self) -> bool:
        """State restored, keys known, declared policies in force, and a store that keeps things."""
        return self.declared and self.access.known and self.engine.healthy

    def start(self) -> None:
        """Begin to get ready; the health check answers meanwhile."""
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(WAITING_THREADS, "fairexp-wait"))
        self._tasks += [asyncio.create_task(self._get_ready()), asyncio.create_task(self._tell_the_log())]

    async def stop(self) -> None:
        """Keep what was taken, and let go of the store."""
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self._tell(math.inf)
        await asyncio.to_thread(self.engine.close)
        self._threads.shutdown(wait=False)
        await asyncio.to_thread(self.reader.stop)

    async def read(self, request: Request, limit: str, function: Callable[..., Result], **options: Any) -> Result:
        """What a function of `bodies` makes of a request's body, which the setting `limit` limits."""
        with self.budget.arrival() as arrival:
            most = getattr(self.settings, limit)
            body = await read_body(request, most, limit, budget=self.budget, arrival=arrival)
            return await self.reader.read(function, body, **options)

    async def rank(
        self,
        policy: str,
        ask: Callable[[Runtime], Candidates],
        *,
        request_id: str | None = None,
        asked: str = "",
        after: str | None = None,
    ) -> Ranked:
        """A ranking that is on disk; a 503 if too many of the policy wait already."""
        queue = self.engine.policy(policy).queue
        with queue.rankings.place(), self._counting(policy):
            call = partial(self.engine.rank, policy, ask, request_id=request_id, asked=asked, after=after)
            ranked = await queue.rank(partial(self.in_thread, call))
            await _on_disk(ranked.kept)
        return ranked

    async def learn(
        self, ranking_id: str, events: Sequence[GivenEvent], *, final: bool = False, seen: int | None = None
    ) -> Learned:
        """What was made of feedback that is on disk; its request has a place in `feedback`, however many it brings."""
        live = self.engine.policy_of(ranking_id)
        call = partial(self.engine.learn, ranking_id, events, final=final, seen=seen)
        with self._counting(live.row.name):
            learned = await live.queue.learn(partial(self.in_thread, call))
        await _on_disk(learned.kept)
        self.metrics.learned(live.row.name, learned)
        return learned

    @contextmanager
    def _counting(self, policy: str) -> Iterator[None]:
        """Count what is rejected because it is above a limit of the policy."""
        try:
            yield
        except AboveLimitError as error:
            self.metrics.above_limit.labels(policy, error.setting).inc()
            self._above_limit.note(f"{policy}: {error.setting}")
            raise

    def expected(self, policy: str) -> Columns:
        """What the policy's requests bring; a 404 or a 503 if one would be refused: told before its body is read."""
        live = self.engine.policy(policy)
        live.queue.rankings.check()
        return live.runtime.columns

    async def fill(self, policy: str, asked: Asked, columns: Columns) -> Asked:
        """The request with what is stored of its items and its user, where it brings nothing itself."""
        ids = [asked.ids[place] for place in lacking(asked, columns)] if columns.stored else []
        if not ids:
            return filled(asked, columns, {})
        number, user = self.engine.policy(policy).row.policy, asked.context.get("user")

        def look_up() -> Asked:
            items = self.engine.catalog.find(number, "items", ids)
            known = {} if user is None else self.engine.catalog.find(number, "users", [user])
            return filled(asked, columns, items, known.get(user or ""))

        return await asyncio.to_thread(look_up)

    async def keep_fields(self, policy: str, table: Table, given: Sequence[Fields]) -> None:
        """Keep fields of items or users of a policy, on disk."""
        await _on_disk(self.engine.keep_fields(self.engine.policy(policy), table, given))

    async def forget_item(self, policy: str, item: str) -> None:
        """Forget the fields of an item of a policy, also on disk."""
        await _on_disk(self.engine.catalog.forget(self.engine.policy(policy).row.policy, item))

    def in_thread(self, function: Callable[..., Result], *arguments: Any) -> asyncio.Future[Result]:
        """Begin `function` in one of the threads in which policies work."""
        call = partial(contextvars.copy_context().run, function, *arguments)
        return asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def _get_ready(self) -> None:
        started, script = time.monotonic(), asyncio.create_task(self._make_script())
        self._tasks.append(script)
        while True:
            try:
                await asyncio.to_thread(self._start_engine)
                break
            except StoreError as error:
                patient = not isinstance(error, StoreBusyError) or time.monotonic() - started < BUSY_SECONDS
                if not patient:
                    self._give_up(error)
                    return
                LOG.warning("store not available yet", extra={"facts": {"problem": str(error)}})
                await asyncio.sleep(self.settings.retry_seconds)
            except FairexpError as error:
                self._give_up(error)
                return
            except Exception as error:
                LOG.exception("cannot start")
                self._give_up(
                    ServiceError("internal", f"the service cannot start ({type(error).__name__})", status=500)
                )
                return
        await script
        self.declared = True
        LOG.info("ready", extra={"facts": {"policies": self.engine.names(), "keys": len(self.access.keys)}})
        while True:
            await asyncio.sleep(self.settings.keys_refresh_seconds)
            with suppress(StoreError):
                self.access.use(await asyncio.to_thread(self.engine.store.keys))

    async def _make_script(self) -> None:
        try:
            self.script = await asyncio.to_thread(Script.made)
        except Exception as error:  # a page without charts is no reason not to rank
            LOG.warning("the page has no charts", extra={"facts": {"problem": str(error)}})

    async def _tell_the_log(self) -> None:
        while True:
            await asyncio.sleep(TELL_SECONDS)
            self._tell(self.access.clock())

    def _tell(self, now: float) -> None:
        """Tell the log what happens too often for a line each time."""
        if strangers := self.access.refused.take(now):
            most = dict(strangers.most_common(MOST_TOLD))
            facts = {"requests": strangers.total(), "addresses": len(strangers), "most": most}
            LOG.warning("requests without a valid key", extra={"facts": facts})
        if limits := self._above_limit.take(now):
            facts = {"requests": limits.total(), "most": dict(limits.most_common(MOST_TOLD))}
            LOG.warning("values above a limit of the policy", extra={"facts": facts})

    def _start_engine(self) -> None:
        if not self.engine.ready:
            self.engine.start()
        self.access.use(self.engine.store.keys())
        for name, spec in self._policies.items():
            change = self.changes.declare(name, spec, self._change_request, prefer=self._prefer)
            facts = {"policy": name, "version": change.version, "action": change.action, **change.effects.plain()}
            LOG.info("policy declared", extra={"facts": facts})

    def _give_up(self, error: FairexpError) -> None:
        LOG.error("cannot start", extra={"facts": {"problem": str(error)}})
        if self._fatal is not None:
            self._fatal(error)


def service_of(request: Request) -> Service:
    """The service that a request came to."""
    service: Service = request.app.state.service
    return service


async def _on_disk(kept: Future[None]) -> None:
    """Wait until something is on disk; a caller that goes away does not undo it."""
    await asyncio.shield(asyncio.wrap_future(kept))
