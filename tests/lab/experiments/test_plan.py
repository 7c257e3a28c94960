from __future__ import annotations

from pathlib import Path

import pytest

from fairexp.lab.experiments.plan.prepared import prepare
from fairexp.lab.experiments.run.local import LocalProcesses
from fairexp.lab.experiments.run.plan import Line, Plan, make_plan
from fairexp.lab.experiments.run.probes import Pace, to_probe
from fairexp.lab.experiments.run.records import Records
from fairexp.lab.experiments.store import open_records_store
from tests.lab.experiments.conftest import small


def test_early_rounds_count_for_as_many_as_there_are() -> None:
    pace = Pace(10, 2.0, 1.0, 0.0, 5.0, 3.0, 1.0, 1.0)
    assert pace.run_seconds(4, 0) == 3 + 8
    assert pace.run_seconds(30, 2) == 3 + 20 + 20 + 10


def test_a_trend_goes_on_within_bounds() -> None:
    level, falling, rising = (Pace(100, 1.0, 1.0, slope, 0.0, 0.0, 1.0, 1.0) for slope in (0.0, -0.3, 50.0))
    assert level.run_seconds(1000, 0) == 1000
    assert 700 < falling.run_seconds(1000, 0) < 900
    assert rising.run_seconds(1000, 0) == 100 + 900 * 1.25


def test_doubt_grows_with_what_was_not_seen() -> None:
    steady = Pace(100, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0)
    falling = Pace(100, 1.0, 1.0, -0.1, 0.0, 0.0, 1.0, 1.0, noise=0.01)
    assert steady.doubt(1000) == 0.0 and falling.doubt(50) == 0.0
    assert 0 < falling.doubt(500) < falling.doubt(1000) < 450


def test_probes_go_from_one_end_of_the_grid_to_the_other() -> None:
    rankers = {"pairrank": {"ranker": "pairrank", "grid": {"alpha": [1, 2, 3, 4, 5]}}, "dbgd": {"ranker": "dbgd"}}
    experiment = small(rankers=rankers, sweep=None, users=["perfect", "navigational", "informational"])
    probes = to_probe(experiment, prepare(experiment))
    own = [(run.user, run.parameters.get("alpha")) for run in probes if run.data == "pagerank"]
    assert own[:3] == [("perfect", 1), ("navigational", 3), ("informational", 5)]
    assert own[3:] == [("perfect", None), ("navigational", None), ("informational", None)]


def test_the_plan_counts_every_run_once(tmp_path: Path) -> None:
    experiment = small(users=["perfect"], rounds=4, sweep=None)
    plan = make_plan(experiment, prepare(experiment), LocalProcesses(2), records=Records(open_records_store(tmp_path)))
    assert plan.n_runs == 2 * (5 * 2 + 2) and plan.n_done == 0 and plan.seconds > 0 and plan.busy >= 1
    low, high = plan.range
    assert 0 <= low < plan.seconds < high
    assert [(line.data, line.ranker) for line in plan.lines[:2]] == [("inlinks", "dbgd"), ("inlinks", "fairco")]


def test_work_is_shared_out_and_the_longest_run_may_end_alone() -> None:
    def line(seconds: float) -> Line:
        return Line("d", "r", 1, 1, 1.0, seconds)

    assert Plan([line(8.0)], 2, 0).seconds == 8.0
    assert 8.0 <= Plan([line(8.0)] * 2, 2, 0).seconds <= 12.0
    assert Plan([line(1.0)] * 100, 2, 0).seconds == pytest.approx(50, abs=1)
