"""Many at once: one order of charges, and rankings that do not wait for the learner."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import numpy as np
import pytest

from fairexp.client import AsyncClient
from fairexp.service.changes import Changes
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.events import GivenEvent
from tests.service.live import Live, Standstill
from tests.service.worlds import GROUPS, SPEC, matrix, rank
from tests.waiting import SECONDS, until

IDS = [f"d{index}" for index in range(8)]
BY_ID = [GROUPS[index % 2] for index in range(8)]


def test_the_tolerance_holds_over_the_sequence_of_charges(live: Callable[..., Live], address: str) -> None:
    running = live(address)

    async def crowd() -> None:
        async with AsyncClient(running.url, timeout_seconds=SECONDS) as client:

            async def visitor(number: int) -> None:
                for step in range(8):
                    ranking = await client.rank("shop", IDS, matrix(100 * number + step), groups=BY_ID)
                    await client.feedback(ranking.ranking_id, [{"position": 1 + step % 4}])

            await asyncio.gather(*(visitor(number) for number in range(12)))

    asyncio.run(crowd())
    engine = running.service.engine
    spent, n_shown = np.zeros(2), 0
    for entry in engine.store.latest(1, 2, limit=1000)[::-1]:  # type: ignore[arg-type]
        shown, _ = engine.archive.ranking(engine.policy("shop"), entry.seq)
        assert shown.exposure is not None and shown.groups is not None
        assert np.array_equal(shown.accounts[0].spent, spent), "a ranking was charged out of order"
        spent = spent + np.bincount(shown.groups, weights=shown.exposure, minlength=2)
        assert abs(spent[0] - spent[1]) <= SPEC.tolerance + 1e-9
        assert shown.accounts[0].gap == pytest.approx(abs(spent[0] - spent[1]))
        n_shown += 1
    assert n_shown == 96
    assert engine.writer.writes > engine.writer.groups, "some commits were shared"


def test_a_ranking_waits_for_one_update_at_most(live: Callable[..., Live], sqlite_address: str) -> None:
    """However long updates take and however many wait: once the one that is under way ends, a ranking is served."""
    running = live(sqlite_address)
    engine = running.service.engine
    ids = [rank(engine, number).id for number in range(10)]
    policy = engine.policy("shop")
    update = policy.runtime.ranker.update
    entered, permits = threading.Semaphore(0), threading.Semaphore(0)

    def held(*arguments: object, **options: object) -> None:
        entered.release()
        assert permits.acquire(timeout=SECONDS)
        update(*arguments, **options)  # type: ignore[arg-type]

    policy.runtime.ranker.update = held  # type: ignore[method-assign]

    async def meet() -> None:
        async with AsyncClient(running.url, timeout_seconds=SECONDS) as client:
            batch = [{"ranking_id": each, "events": [{"position": 2}]} for each in ids]
            learning = [asyncio.create_task(client.feedback_batch(batch[half::2])) for half in (0, 1)]
            for number in range(4):
                assert await asyncio.to_thread(entered.acquire, timeout=SECONDS)
                ranking = asyncio.create_task(client.rank("shop", IDS, matrix(number), groups=BY_ID))
                await asyncio.to_thread(until, lambda: any(not ticket.learns for ticket in policy.queue.waiting))
                assert not ranking.done()
                permits.release()  # for the update that is under way, and for no other
                await asyncio.wait_for(ranking, SECONDS)
            assert not any(task.done() for task in learning), "the learner was not busy"
            for _ in ids:
                permits.release()
            await asyncio.gather(*learning)

    asyncio.run(meet())


def test_a_long_search_holds_up_nobody_else(live: Callable[..., Live], sqlite_address: str) -> None:
    """While one policy's search does not end, the service is healthy, tells its state and serves another policy."""
    running = live(sqlite_address, policies={"shop": SPEC, "other": SPEC})
    ranking_ids = {name: rank(running.service.engine, policy=name).id for name in ("shop", "other")}

    async def meet() -> None:
        async with AsyncClient(running.url, timeout_seconds=SECONDS) as client:
            late = asyncio.create_task(client.feedback(ranking_ids["shop"], [{"position": 1}]))
            await late
            searches = [asyncio.create_task(client.rank("shop", IDS, matrix(0), groups=BY_ID)) for _ in range(12)]
            assert await asyncio.to_thread(hold.entered.wait, SECONDS)
            late = asyncio.create_task(client.feedback(ranking_ids["shop"], [{"position": 2}]))
            for ask in (
                client.ready,
                client.policies,
                lambda: client.rank("other", IDS, matrix(1), groups=BY_ID),
                lambda: client.policy("other"),
                lambda: client.fairness("other"),
                lambda: client.feedback(ranking_ids["other"], [{"position": 1}]),
            ):
                assert await ask()
            assert not any(each.done() for each in (late, *searches)), "the search was over before anybody asked"
            hold.go_on()
            await asyncio.gather(late, *searches)

    with Standstill(running.service.engine.policy("shop").runtime.ranker, "rank") as hold:
        asyncio.run(meet())


def test_threads_may_share_an_engine(started: Callable[..., Engine], sqlite_address: str) -> None:
    engine = started(sqlite_address, settings={"cached_bytes": 35_000})
    Changes(engine).put("shop", SPEC)
    problems: list[BaseException] = []

    def visitor(number: int) -> None:
        try:
            for step in range(10):
                ranking_id = rank(engine, 100 * number + step).id
                for _ in range(2):
                    engine.learn(ranking_id, [GivenEvent(id="e", position=1)]).kept.result(SECONDS)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=visitor, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    totals = engine.policy("shop").runtime.totals
    assert totals.rounds == totals.events == totals.clicks == 60
