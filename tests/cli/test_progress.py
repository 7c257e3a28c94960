from __future__ import annotations

import io
from collections import Counter

import pytest
from rich.console import Console

from fairexp.cli.progress import Bar, Lines, RoundsDone, watcher
from fairexp.lab.metrics import GAMMA
from fairexp.lab.simulation.pool.paces import Kind, Paces
from fairexp.lab.simulation.settings import RunSettings

RUNS = [RunSettings(ranker="pdgd", rounds=100), RunSettings(ranker="dbgd", rounds=100)]


def row(number: int, *, ndcg: float = 0.5) -> dict[str, float]:
    online = sum(GAMMA**t * ndcg for t in range(number))
    return {"round": number, "nDCG@10": ndcg, "online nDCG@10": online, "UF": 1.25}


def test_recent_ndcg_is_the_mean_of_the_rounds_between() -> None:
    done = RoundsDone(RUNS)
    assert done.note(0, row(10)) == "nDCG@10 0.5000, UF 1.250"
    later = row(10)
    later["round"] = 20
    later["online nDCG@10"] += sum(GAMMA**t * 0.9 for t in range(10, 20))
    assert done.note(0, later).startswith("nDCG@10 0.9000")
    assert done.done == 20 and done.total == 200


def test_without_groups_there_is_no_unfairness() -> None:
    without = row(10)
    del without["UF"]
    assert RoundsDone(RUNS).note(1, without) == "nDCG@10 0.5000"


def test_the_time_left_counts_rounds_by_what_their_ranker_takes() -> None:
    """Two runs side by side, one ten times as slow; two more wait."""
    now = [0.0]
    done = RoundsDone([*RUNS, *RUNS], clock=lambda: now[0])
    assert done.left() == ""
    for tick in range(1, 101):
        now[0] = float(tick)
        done.note(1, row(tick))
        assert tick > 1 or done.left() == ""
        if tick % 10 == 0:
            done.note(0, row(tick // 10))
    # Left: 90 rounds of 10 s, then 100 of 10 s and 100 of 1 s, in two processes.
    found, unit = done.left().split()[:2]
    assert unit == "min" and 60 * float(found) == pytest.approx((900 + 1000 + 100) / 2, rel=0.1)


def test_lines_come_now_and_then() -> None:
    out = io.StringIO()
    with Lines(RUNS, Console(file=out, width=300)) as watch:
        for number in range(1, 101):
            watch(0, row(number))
            watch(1, row(number))
    lines = out.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[-1].startswith("100%  200 of 200 rounds, 0 s left; dbgd/perfect/seed-0: nDCG@10 0.5000, UF 1.250")


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
    assert "40/200" in shown and "nDCG@10 0.5000, UF 1.250" in shown and "pdgd/perfect/seed-0" in shown


def test_what_a_row_costs_does_not_grow_with_the_number_of_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Counter[int]()
    seconds = Paces.seconds

    def counted(self: Paces, kind: Kind, ranker: str, *, rounds: int) -> float | None:
        asked[n_runs] += 1
        return seconds(self, kind, ranker, rounds=rounds)

    monkeypatch.setattr(Paces, "seconds", counted)
    for n_runs in (2, 200):
        now = [0.0]
        done = RoundsDone([*RUNS] * (n_runs // 2), clock=lambda now=now: now[0])  # type: ignore[misc]
        for number in (10, 20):
            now[0] += 1.0
            done.note(0, row(number))
        assert done.left().endswith("left")
    assert asked[2] == asked[200] > 0
