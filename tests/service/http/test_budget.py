"""Memory for bodies: the largest makes room."""

from __future__ import annotations

import asyncio

import pytest

from fairexp.service.problems import ServiceError
from fairexp.service.requests.budget import Budget


def test_the_largest_body_that_is_not_whole_makes_room() -> None:
    async def play() -> None:
        budget, dropped = Budget(100), []

        async def slow() -> None:
            with budget.arrival() as arrival:
                try:
                    async with asyncio.timeout(60) as arrival.deadline:
                        budget.add(arrival, 60)
                        await asyncio.Event().wait()
                except TimeoutError:
                    dropped.append(arrival.dropped)

        task = asyncio.create_task(slow())
        while budget.used < 60:
            await asyncio.sleep(0)
        with budget.arrival() as small, budget.arrival() as whole:
            budget.add(whole, 30)
            whole.whole = True
            budget.add(small, 40)
            assert budget.used == 70
            await task
            with pytest.raises(ServiceError, match="max_bodies_bytes"):
                budget.add(small, 40)  # the only one that is not whole
            assert budget.used == 30
        assert (dropped, budget.used, budget.refused) == ([True], 0, 2)

    asyncio.run(play())


def test_a_body_that_had_to_go_takes_no_more_room() -> None:
    """Its next part may be on its way when it is dropped: it is refused, and counts for nothing."""
    budget = Budget(100)
    with budget.arrival() as slow, budget.arrival() as other:
        budget.add(slow, 60)
        budget.add(other, 50)
        assert slow.dropped and budget.used == 50
        for _ in range(3):
            with pytest.raises(ServiceError, match="max_bodies_bytes"):
                budget.add(slow, 20)
    assert budget.used == 0
    with budget.arrival() as whole, budget.arrival() as late:
        budget.add(whole, 90)
        whole.whole = True
        with pytest.raises(ServiceError, match="max_bodies_bytes"):
            budget.add(late, 30)
    assert budget.used == 0
