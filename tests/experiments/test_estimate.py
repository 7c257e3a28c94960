from __future__ import annotations

from pathlib import Path

import pytest

from fairexp.experiments.estimate import Line, Plan, make_plan
from fairexp.experiments.local import LocalProcesses
from fairexp.experiments.preparing import prepare
from fairexp.experiments.records import Records
from fairexp.experiments.store import open_store
from fairexp.experiments.trying import Pace
from tests.experiments.conftest import small


def test_early_rounds_count_for_as_many_as_there_are() -> None:
    pace = Pace(10, 2.0, 1.0, 0.0, 5.0, 3.0, 1.0, 1.0)
    assert pace.run_seconds(4, 0) == 3 + 8
    assert pace.run_seconds(30, 2) == 3 + 20 + 20 + 10


def test_a_trend_goes_on_within_bounds() -> None:
    level, falling, rising = (Pace(100, 1.0, 1.0, slope, 0.0, 0.0, 1.0, 1.0) for slope in (0.0, -0.3, 50.0))
    assert level.run_seconds(1000, 0) == 1000
    assert 700 < falling.run_seconds(1000, 0) < 900
    assert rising.run_seconds(1000, 0) == 100 + 900 * 1.25


def test_the_plan_counts_every_run_once(tmp_path: Path) -> None:
    experiment = small(users=["perfect"], rounds=4, sweep=None)
    plan = make_plan(experiment, prepare(experiment), LocalProcesses(2), records=Records(open_store(tmp_path)))
    assert plan.n_runs == 2 * (5 * 2 + 1) and plan.n_done == 0 and plan.seconds > 0 and plan.busy >= 1


def test_work_is_shared_out_and_the_longest_run_may_end_alone() -> None:
    def line(seconds: float) -> Line:
        return Line("d", "u", "r", 1, 1, 1.0, seconds)

    assert Plan([line(8.0)], 2, 0).seconds == 8.0
    assert 8.0 <= Plan([line(8.0)] * 2, 2, 0).seconds <= 12.0
    assert Plan([line(1.0)] * 100, 2, 0).seconds == pytest.approx(50, abs=1)
