"""Who goes next at a policy."""

from __future__ import annotations

import threading

import pytest

from fairexp.service.engine.turns import Turns
from tests.waiting import until


def order_of(holder: str, queued: list[str]) -> list[str]:
    """The names in the order in which they had their turn; those that begin with L learn, with R rank."""
    turns, done, release = Turns(), [], threading.Event()

    def take(name: str) -> None:
        with turns.learning() if name[0] == "L" else turns.ranking():
            done.append(name)
            if name == holder:
                release.wait()

    threads = []
    for number, name in enumerate([holder, *queued]):
        threads.append(threading.Thread(target=take, args=(name,)))
        threads[-1].start()
        until(lambda: bool(done) if number == 0 else len(turns.waiting) == number)  # noqa: B023
    release.set()
    for thread in threads:
        thread.join()
    return done


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
    assert order_of(holder, queued) == expected


def test_a_turn_that_ends_in_an_error_is_given_back() -> None:
    turns = Turns()
    with pytest.raises(ValueError, match="boom"), turns.learning():
        raise ValueError("boom")
    with turns.ranking():
        pass
    assert turns.waiting == []
