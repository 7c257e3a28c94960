from __future__ import annotations

import io

import pytest
from rich.console import Console

from fairexp.cli.printing.progress import Bar, Lines, Pace, watcher
from fairexp.simulation.settings import Settings
from fairexp.simulation.trace import GAMMA

RUNS = [Settings(ranker="pdgd", rounds=100), Settings(ranker="dbgd", rounds=100)]


def row(number: int, *, ndcg: float = 0.5) -> dict[str, float]:
    online = sum(GAMMA**t * ndcg for t in range(number))
    return {"round": number, "ndcg": ndcg, "online_ndcg": online, "unfairness": 1.25}


def test_recent_ndcg_is_the_mean_of_the_rounds_between() -> None:
    pace = Pace(RUNS)
    assert pace.note(0, row(10)) == "NDCG 0.500, unfairness 1.25"
    later = row(10)
    later["round"] = 20
    later["online_ndcg"] += sum(GAMMA**t * 0.9 for t in range(10, 20))
    assert pace.note(0, later).startswith("NDCG 0.900")
    assert pace.done == 20 and pace.total == 200


def test_without_groups_there_is_no_unfairness() -> None:
    without = row(10)
    del without["unfairness"]
    assert Pace(RUNS).note(1, without) == "NDCG 0.500"


def test_lines_come_now_and_then() -> None:
    out = io.StringIO()
    with Lines(RUNS, Console(file=out, width=300)) as watch:
        for number in range(1, 101):
            watch(0, row(number))
            watch(1, row(number))
    lines = out.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[-1].startswith("100%  200 of 200 rounds, 0 s left; dbgd/perfect/seed-0: NDCG 0.500, unfairness 1.25")


@pytest.mark.parametrize(("terminal", "kind"), [(True, Bar), (False, Lines)])
def test_only_terminals_get_a_bar(terminal: bool, kind: type) -> None:
    console = Console(file=io.StringIO(), force_terminal=terminal)
    assert isinstance(watcher(RUNS, console), kind)


def test_the_bar_shows_quality_and_unfairness_while_it_runs() -> None:
    out = io.StringIO()
    with Bar(RUNS, Console(file=out, force_terminal=True, width=140)) as watch:
        watch(0, row(40))
        watch._progress.refresh()
        shown = out.getvalue()
    assert "40/200" in shown and "NDCG 0.500, unfairness 1.25" in shown and "pdgd/perfect/seed-0" in shown
