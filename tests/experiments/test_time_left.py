"""The time that is told against a schedule in which everything is known."""

from __future__ import annotations

import heapq
from dataclasses import replace

import numpy as np
import pytest

from fairexp.experiments.plan.run import Run
from fairexp.experiments.run.time_left import TimeLeft
from fairexp.registry import relative_cost
from fairexp.simulation.settings import RunSettings

RANKERS = ("fairexp-pairrank", "pairrank", "fairco", "pdgd", "dbgd")
DATA = {"small": (1.0, 0.0004), "large": (1.0, 0.003), "wide": (0.25, 0.05)}
"""By data: what part of the rounds is played, and the seconds that one takes for each unit of a ranker's cost."""
HANDING_OUT = 0.3
"""Seconds by the clock for every run besides."""
BUSY = 3.0
"""Seconds by the clock for a second of work, in the mean."""


def runs(rounds: int, n_seeds: int) -> list[Run]:
    return [
        Run(data, "perfect", 1, name, {}, seed, RunSettings(ranker=name, rounds=int(part * rounds)), "")
        for data, (part, _) in DATA.items()
        for name in RANKERS
        for seed in range(n_seeds)
    ]


def true_work(run: Run) -> float:
    """The declared costs are only about right."""
    off = {"pairrank": 1.6, "fairco": 0.6, "dbgd": 1.5}.get(run.ranker, 1.0)
    return DATA[run.data][1] * off * (1.0 + relative_cost(run.ranker)) * run.settings.rounds


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_the_time_left_is_true_within_30_percent(jobs: int) -> None:
    """Two stages, the first with fewer rounds: choosing, then all; told from a tenth of the way on.

    Other programs come and go: what a run takes by the clock says little about what others of its kind will take.
    """
    others = np.random.default_rng(5)
    tuning, final = runs(100, 3), runs(400, 8)
    watch, now, told = TimeLeft(), 0.0, []
    for stage, later in ((tuning, final), (final, [])):
        waiting = watch.ordered(stage)
        left = {id(run): run for run in waiting}  # in the order in which they begin, as they are handed out
        free: list[tuple[float, int, Run | None, float]] = [(now, -1 - i, None, 0.0) for i in range(jobs)]
        heapq.heapify(free)
        number = 0
        while left:
            at, _, done, seconds = heapq.heappop(free)
            now = max(now, at)
            if done is not None:
                left.pop(id(done))
                watch.add(done, seconds=seconds, worked=true_work(done))
                told.append((now, watch.seconds([*left.values(), *later], passed=now, jobs=jobs)))
            if waiting:
                run = waiting.pop(0)
                seconds = true_work(run) * others.uniform(0.6 * BUSY, 1.4 * BUSY)
                heapq.heappush(free, (now + seconds + HANDING_OUT, number, run, seconds))
                number += 1
    end = now
    judged = [(at, seconds) for at, seconds in told if 0.1 * end < at < 0.95 * end]
    assert len(judged) >= 40
    assert all(seconds is None or seconds > 0.5 * (end - at) for at, seconds in told if at <= 0.1 * end)
    for at, seconds in judged:
        assert seconds == pytest.approx(end - at, rel=0.3), (at, end)


def test_how_busy_the_machine_is_follows_what_was_seen_of_late() -> None:
    watch, (run, *_) = TimeLeft(), runs(10, 1)
    for seconds in (1.0, 1.0, 4.0, 4.0):
        watch.add(run, seconds=seconds, worked=1.0)
    assert watch.seconds([run] * 3, passed=10.0, jobs=1) == pytest.approx(12.0)


def test_a_ranker_with_other_users_counts_before_other_rankers() -> None:
    dbgd, pairrank = (next(run for run in runs(10, 1) if run.ranker == name) for name in ("dbgd", "pairrank"))
    watch = TimeLeft()
    watch.add(dbgd, seconds=9.0, worked=9.0)
    watch.add(pairrank, seconds=1.0, worked=1.0)
    assert watch.expected(replace(dbgd, user="informational")) == pytest.approx(9.0)


def test_of_every_kind_one_is_played_first_and_data_sets_take_turns() -> None:
    n_kinds = len(DATA) * len(RANKERS)
    ordered = TimeLeft().ordered(runs(10, 3))
    assert len({(run.data, run.ranker) for run in ordered[:n_kinds]}) == n_kinds
    assert {run.data for run in ordered[: len(DATA)]} == set(DATA)
    costs = [run.settings.rounds * (1.0 + relative_cost(run.ranker)) for run in ordered[n_kinds:]]
    assert costs == sorted(costs, reverse=True)


def test_nothing_is_told_of_data_that_nothing_was_played_of() -> None:
    small, large = (next(run for run in runs(10, 1) if run.data == data) for data in ("small", "large"))
    watch = TimeLeft()
    watch.add(small, seconds=2.0, worked=2.0)
    assert watch.seconds([small, large], passed=2.0, jobs=1) is None
    assert watch.seconds([small], passed=2.0, jobs=1) == pytest.approx(2.0)


def test_nothing_is_told_before_anything_is_known() -> None:
    watch = TimeLeft()
    assert watch.seconds(runs(10, 1), passed=5.0, jobs=2) is None and watch.expected(runs(10, 1)[0]) is None
    watch.add(runs(10, 1)[0], seconds=2.0, worked=1.0)
    assert watch.seconds([], passed=5.0, jobs=2) == 0.0
