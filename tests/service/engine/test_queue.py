"""Who goes next at a policy."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from fairexp.service.engine.queue import Queue


class Crowd:
    """Callers of one queue, in the order in which they come; names that begin with L learn, with R rank.

    The work of each goes on until `end` ends it; `begun` has the names in the order in which they had their turn.
    """

    def __init__(self) -> None:
        self.queue = Queue("shop", most_rankings=9)
        self.begun: list[str] = []
        self.callers: dict[str, asyncio.Task[str]] = {}
        self._work: dict[str, asyncio.Future[str]] = {}

    async def come(self, *names: str) -> None:
        for name in names:
            take = self.queue.learn if name[0] == "L" else self.queue.rank
            self.callers[name] = asyncio.create_task(take(lambda name=name: self._begin(name)))  # type: ignore[misc]
            await settled()

    async def end(self, name: str, error: Exception | None = None) -> None:
        if error is None:
            self._work[name].set_result(name)
        else:
            self._work[name].set_exception(error)
        await settled()

    def _begin(self, name: str) -> asyncio.Future[str]:
        assert all(work.done() for work in self._work.values()), "one at a time"
        self.begun.append(name)
        self._work[name] = asyncio.get_running_loop().create_future()
        return self._work[name]


async def settled() -> None:
    """All that can go on without anything else happening has done so."""
    for _ in range(10):
        await asyncio.sleep(0)


def in_loop(test: Callable[[Crowd], Awaitable[None]]) -> None:
    async def run() -> None:
        await test(Crowd())

    asyncio.run(run())


@pytest.mark.parametrize(
    ("holder", "queued", "expected"),
    [
        ("L0", ["L1", "R1", "R2"], ["L0", "R1", "R2", "L1"]),
        ("R0", ["L1", "R1", "L2", "R2"], ["R0", "L1", "R1", "R2", "L2"]),
        ("R0", ["R1", "L1", "R2"], ["R0", "R1", "L1", "R2"]),
        ("L0", ["L1", "L2"], ["L0", "L1", "L2"]),
    ],
)
def test_a_ranking_waits_for_one_update_and_updates_are_not_shut_out(
    holder: str, queued: list[str], expected: list[str]
) -> None:
    async def test(crowd: Crowd) -> None:
        await crowd.come(holder, *queued)
        assert crowd.begun == [holder] and len(crowd.queue.waiting) == len(queued)
        for number in range(len(expected)):
            assert crowd.begun == expected[: number + 1]
            await crowd.end(expected[number])
        assert [await crowd.callers[name] for name in expected] == expected

    in_loop(test)


def test_updates_go_on_while_rankings_keep_coming() -> None:
    """As soon as a ranking ends two others come, and still no update waits for more than those before it."""

    async def test(crowd: Crowd) -> None:
        await crowd.come("R0", "L0", "L1", "L2")
        for number in range(1, 40):
            await crowd.come(f"R{2 * number}", f"R{2 * number + 1}")
            await crowd.end(crowd.begun[-1])
        places = [crowd.begun.index(name) for name in ("L0", "L1", "L2")]
        assert places[0] == 1, "it came second"
        for update, after in pairwise(places):
            # Between two updates only those rankings are served that the first of them kept waiting.
            came_before = 2 * (update + 1) + 1
            assert all(int(name[1:]) <= came_before for name in crowd.begun[update + 1 : after])

    in_loop(test)


def test_a_turn_that_ends_in_an_error_is_given_back() -> None:
    async def test(crowd: Crowd) -> None:
        await crowd.come("L0", "R0")
        await crowd.end("L0", ValueError("boom"))
        with pytest.raises(ValueError, match="boom"):
            await crowd.callers["L0"]
        assert crowd.begun == ["L0", "R0"] and crowd.queue.waiting == []

        def not_begun() -> asyncio.Future[str]:
            raise RuntimeError("no thread")

        await crowd.end("R0")
        with pytest.raises(RuntimeError, match="no thread"):
            await crowd.queue.rank(not_begun)
        await crowd.come("R1")
        assert crowd.begun[-1] == "R1"

    in_loop(test)


def test_who_goes_away_while_waiting_leaves_the_queue() -> None:
    async def test(crowd: Crowd) -> None:
        await crowd.come("R0", "R1", "L1", "R2")
        crowd.callers["R1"].cancel()
        await settled()
        assert len(crowd.queue.waiting) == 2
        await crowd.end("R0")
        assert crowd.begun == ["R0", "L1"]

    in_loop(test)


def test_who_goes_away_as_the_turn_comes_passes_it_on() -> None:
    async def test(crowd: Crowd) -> None:
        await crowd.come("R0", "R1", "R2", "R3")
        crowd.callers["R1"].cancel()  # before it is called
        crowd._work["R0"].set_result("R0")
        await settled()
        assert crowd.begun == ["R0", "R2"]
        crowd._work["R2"].set_result("R2")
        while crowd.queue.waiting:  # until R3 is called, which cannot have gone on yet
            await asyncio.sleep(0)
        crowd.callers["R3"].cancel()
        await settled()
        await crowd.come("R4")
        assert crowd.begun[-1] == "R4"

    in_loop(test)


def test_work_that_nobody_waits_for_keeps_its_turn_to_its_end() -> None:
    """A thread cannot be stopped, so the next one must not begin beside it."""

    async def test(crowd: Crowd) -> None:
        await crowd.come("L0", "R0")
        crowd.callers["L0"].cancel()
        await settled()
        assert crowd.callers["L0"].cancelled() and crowd.begun == ["L0"]
        await crowd.end("L0")
        assert crowd.begun == ["L0", "R0"]

    in_loop(test)
