"""Many at once: one order of charges, and rankings that do not wait for the learner."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import numpy as np

from fairexp.client import AsyncClient
from fairexp.service.engine import Engine
from fairexp.service.events import GivenEvent
from tests.service.live import Live
from tests.service.worlds import GROUPS, SPEC, matrix, rank

IDS = [f"d{index}" for index in range(8)]
BY_ID = [GROUPS[index % 2] for index in range(8)]


def test_the_tolerance_holds_over_the_sequence_of_charges(live: Callable[..., Live], address: str) -> None:
    running = live(address)

    async def crowd() -> None:
        async with AsyncClient(running.url) as client:

            async def visitor(number: int) -> None:
                for step in range(8):
                    ranking = await client.rank("shop", IDS, matrix(100 * number + step), groups=BY_ID)
                    await client.feedback(ranking["ranking_id"], [{"position": 1 + step % 4}])

            await asyncio.gather(*(visitor(number) for number in range(12)))

    asyncio.run(crowd())
    engine = running.service.engine
    spent, n_shown = np.zeros(2), 0
    for entry in engine.store.latest(1, 2, limit=1000)[::-1]:  # type: ignore[arg-type]
        shown, _ = engine.archive.ranking(engine.desk("shop"), entry.seq)
        assert shown.spent is not None and shown.exposure is not None and shown.groups is not None
        assert np.array_equal(shown.spent, spent), "a ranking was charged out of order"
        spent = spent + np.bincount(shown.groups, weights=shown.exposure, minlength=2)
        assert abs(spent[0] - spent[1]) <= SPEC.tolerance + 1e-9
        n_shown += 1
    assert n_shown == 96
    assert engine.writer.writes > engine.writer.groups, "some commits were shared"


def test_a_ranking_waits_for_one_update_at_most(live: Callable[..., Live], sqlite_address: str) -> None:
    """With slow updates and a long queue of feedback, a ranking still comes after one update, not after all."""
    running = live(sqlite_address)
    engine = running.service.engine
    ids = [rank(engine, number).id for number in range(10)]
    runtime = engine.desk("shop").runtime
    update, slow = runtime.ranker.update, 0.3

    def slowly(*arguments: object, **options: object) -> None:
        time.sleep(slow)
        update(*arguments, **options)  # type: ignore[arg-type]

    runtime.ranker.update = slowly  # type: ignore[method-assign]

    async def meet() -> list[float]:
        waits = []
        async with AsyncClient(running.url, timeout_seconds=30.0) as client:
            batch = [{"ranking_id": each, "events": [{"position": 2}]} for each in ids]
            learning = [asyncio.create_task(client.feedback_batch(batch[half::2])) for half in (0, 1)]
            await asyncio.sleep(0.25)
            for number in range(4):
                started = time.perf_counter()
                await client.rank("shop", IDS, matrix(number), groups=BY_ID)
                waits.append(time.perf_counter() - started)
            assert not all(task.done() for task in learning), "the learner was not busy"
            await asyncio.gather(*learning)
        return waits

    assert max(asyncio.run(meet())) < 1.9 * slow, "a ranking waited for more than one update"


def test_a_long_search_holds_up_nobody_else(live: Callable[..., Live], sqlite_address: str) -> None:
    """While one policy searches for a second, the service is healthy, tells its state and serves another policy."""
    running = live(sqlite_address, policies={"shop": SPEC, "other": SPEC})
    ranking_ids = {name: rank(running.service.engine, policy=name).id for name in ("shop", "other")}
    ranker = running.service.engine.desk("shop").runtime.ranker
    rank_, slow = ranker.rank, 1.0

    def slowly(*arguments: object, **options: object) -> object:
        time.sleep(slow)
        return rank_(*arguments, **options)  # type: ignore[arg-type]

    ranker.rank = slowly  # type: ignore[assignment, method-assign]

    async def meet() -> list[float]:
        waits = []
        async with AsyncClient(running.url, timeout_seconds=30.0) as client:
            late = asyncio.create_task(client.feedback(ranking_ids["shop"], [{"position": 1}]))
            searches = [asyncio.create_task(client.rank("shop", IDS, matrix(0), groups=BY_ID)) for _ in range(12)]
            await asyncio.sleep(0.2)
            for ask in (
                client.ready,
                client.policies,
                lambda: client.rank("other", IDS, matrix(1), groups=BY_ID),
                lambda: client.policy("other"),
                lambda: client.fairness("other"),
                lambda: client.feedback(ranking_ids["other"], [{"position": 1}]),
            ):
                started = time.perf_counter()
                assert await ask()
                waits.append(time.perf_counter() - started)
            assert not any(search.done() for search in searches), "the search was over before anybody asked"
            for search in (late, *searches):
                search.cancel()
        return waits

    assert max(asyncio.run(meet())) < 0.5 * slow
    ranker.rank = rank_  # type: ignore[method-assign]


def test_threads_may_share_an_engine(started: Callable[..., Engine], sqlite_address: str) -> None:
    engine = started(sqlite_address, settings={"cached_bytes": 35_000})
    engine.put_policy("shop", SPEC)
    problems: list[BaseException] = []

    def visitor(number: int) -> None:
        try:
            for step in range(10):
                ranking_id = rank(engine, 100 * number + step).id
                for _ in range(2):
                    engine.learn(ranking_id, [GivenEvent(id="e", position=1)]).kept.result(10)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=visitor, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    totals = engine.desk("shop").runtime.totals
    assert totals.rounds == totals.events == totals.clicks == 60
