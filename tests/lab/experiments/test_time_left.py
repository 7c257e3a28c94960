"""The time that is told against a schedule in which everything is known."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.lab.experiments.plan.run import Run
from fairexp.lab.experiments.run.plan import kind_of
from fairexp.lab.experiments.run.time_left import TimeLeft
from fairexp.lab.simulation.pool.paces import Kind, Paces
from fairexp.lab.simulation.settings import RunSettings
from fairexp.registry import relative_cost

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
        watch.expect(waiting, later=later)
        n_left = len(waiting)
        free: list[tuple[float, int, Run | None, float]] = [(now, -1 - i, None, 0.0) for i in range(jobs)]
        heapq.heapify(free)
        number = 0
        while n_left:
            at, _, done, seconds = heapq.heappop(free)
            now = max(now, at)
            if done is not None:
                n_left -= 1
                watch.add(done.key, seconds=seconds, worked=true_work(done))
                told.append((now, watch.seconds(passed=now, jobs=jobs)))
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
    watch, alike = TimeLeft(), runs(10, 7)[:7]
    watch.expect(alike)
    for run, seconds in zip(alike, (1.0, 1.0, 4.0, 4.0), strict=False):
        watch.add(run.key, seconds=seconds, worked=1.0)
    assert watch.seconds(passed=10.0, jobs=1) == pytest.approx(12.0)


def test_a_ranker_with_other_users_counts_before_other_rankers() -> None:
    dbgd, pairrank = (next(run for run in runs(10, 1) if run.ranker == name) for name in ("dbgd", "pairrank"))
    watch = TimeLeft()
    watch.expect([dbgd, pairrank])
    watch.add(dbgd.key, seconds=9.0, worked=9.0)
    watch.add(pairrank.key, seconds=1.0, worked=1.0)
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
    again = replace(small, seed=1)
    watch.expect([small, again, large])
    watch.add(small.key, seconds=2.0, worked=2.0)
    assert watch.seconds(passed=2.0, jobs=1) is None
    watch.fail(large.key)
    assert watch.seconds(passed=2.0, jobs=1) == pytest.approx(2.0)


def test_nothing_is_told_before_anything_is_known() -> None:
    watch = TimeLeft()
    first = runs(10, 1)[0]
    watch.expect([first])
    assert watch.seconds(passed=5.0, jobs=2) is None and watch.expected(first) is None
    watch.add(first.key, seconds=2.0, worked=1.0)
    assert watch.seconds(passed=5.0, jobs=2) == 0.0


def plain_seconds(
    now: list[Run], later: list[Run], done: list[tuple[Run, float, float]], passed: float, jobs: int
) -> float:
    """The same estimate from lists of all runs, one by one."""
    left = [*now, *later]
    spent = {kind: sum(worked for run, _, worked in done if kind_of(run) == kind) for kind in map(kind_of, left)}
    rounds = {kind: sum(run.settings.rounds for run, *_ in done if kind_of(run) == kind) for kind in spent}
    latest = next(n for n in range(1, len(done) + 1) if 2 * sum(w for *_, w in done[-n:]) >= sum(w for *_, w in done))
    busy = sum(seconds for _, seconds, _ in done[-latest:]) / sum(worked for *_, worked in done[-latest:])
    times = [busy * spent[kind_of(run)] / rounds[kind_of(run)] * run.settings.rounds for run in left]
    under_way = sum(times[: min(jobs - 1, len(now))])
    lost = max(passed * jobs - sum(seconds for _, seconds, _ in done) - under_way, 0.0) / len(done)
    return max((sum(times) - under_way / 2 + lost * len(times)) / jobs, 0.5 * max(times, default=0.0))


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 4), st.integers(0, 10_000))
def test_sums_by_kind_tell_what_lists_of_all_runs_would(jobs: int, seed: int) -> None:
    rng, watch, later = np.random.default_rng(seed), TimeLeft(), runs(40, 2)
    left, done, passed = watch.ordered(runs(20, 3)), [], 0.0
    watch.expect(left, later=later)
    for _ in range(len(left)):
        run = left.pop(int(rng.integers(min(jobs, len(left)))))  # which of those under way ends
        if rng.random() < 0.1 and len(done) > 20:
            watch.fail(run.key)
            continue
        seconds, worked = (float(each) for each in rng.exponential(size=2) + 0.01)
        passed += seconds / jobs
        watch.add(run.key, seconds=seconds, worked=worked)
        done.append((run, seconds, worked))
        if {kind_of(each) for each in (*left, *later)} <= {kind_of(each) for each, *_ in done}:
            found = watch.seconds(passed=passed, jobs=jobs)
            assert found == pytest.approx(plain_seconds(left, later, done, passed, jobs))
    assert len(done) > 30


def test_what_a_run_that_ends_costs_does_not_grow_with_the_runs_left(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Counter[int]()
    seconds = Paces.seconds

    def counted(self: Paces, kind: Kind, ranker: str, *, rounds: int) -> float | None:
        asked[n_seeds] += 1
        return seconds(self, kind, ranker, rounds=rounds)

    monkeypatch.setattr(Paces, "seconds", counted)
    for n_seeds in (3, 60):
        alike, watch = runs(10, n_seeds), TimeLeft()
        watch.expect(alike)
        for run in {kind_of(run): run for run in alike}.values():
            watch.add(run.key, seconds=1.0, worked=1.0)
        assert watch.seconds(passed=5.0, jobs=4) is not None
    assert asked[3] == asked[60] > 0
