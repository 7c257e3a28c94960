from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fairexp.cli.printing.summary import estimate, summarise, write_summary
from fairexp.simulation import Result
from fairexp.simulation.settings import Settings


def result(online: float, *, largest: float | None = 2.0, **changes: Any) -> Result:
    numbers: dict[str, Any] = {
        "rounds": 100,
        "online_ndcg": online,
        "offline_ndcg": 0.5,
        "max_unfairness": largest,
        "mean_unfairness": largest,
        "final_unfairness": largest,
        "mean_added_regret": 1.0,
        "mean_misordered_pairs": 9.0,
        "qualified_share": None,
        "rounds_per_second": 50.0,
    }
    return Result(**{**numbers, **changes})


@pytest.mark.parametrize("n", [2, 3, 8])
def test_the_interval_is_students(n: int) -> None:
    values = np.random.default_rng(n).normal(50, 7, size=n)
    found = estimate(values.tolist())
    low, high = stats.t.interval(0.95, n - 1, loc=values.mean(), scale=stats.sem(values))
    assert found.mean == pytest.approx(values.mean())
    assert found.half_width == pytest.approx((high - low) / 2)


def test_one_seed_has_no_interval() -> None:
    assert estimate([3.0]).half_width is None


def test_seeds_are_put_together_and_users_kept_apart() -> None:
    runs = [Settings(ranker=r, user=u, seed=s) for u in ("perfect", "mine.yaml") for r in ("a", "b") for s in (0, 1)]
    results = [result(float(i), largest=float(i)) for i in range(8)]
    found = summarise(runs, results)
    assert [(line.user, line.ranker, line.n_seeds) for line in found] == [
        ("perfect", "a", 2),
        ("perfect", "b", 2),
        ("mine.yaml", "a", 2),
        ("mine.yaml", "b", 2),
    ]
    assert [line.measures["online_ndcg"].mean for line in found] == [0.5, 2.5, 4.5, 6.5]  # type: ignore[union-attr]
    assert [line.max_unfairness for line in found] == [1.0, 3.0, 5.0, 7.0]


def test_runs_that_never_began_are_left_out() -> None:
    runs = [Settings(ranker=name) for name in ("a", "b", "c")]
    found = summarise(runs, [result(1.0), None, result(0.0, rounds=0)])
    assert [line.ranker for line in found] == ["a"]


def test_the_file_holds_what_the_summaries_hold(tmp_path: Path) -> None:
    runs = [Settings(ranker="a", seed=seed) for seed in (0, 1)]
    summaries = summarise(runs, [result(1.0), result(2.0)])
    write_summary(tmp_path / "summary.csv", summaries)
    with (tmp_path / "summary.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    online = summaries[0].measures["online_ndcg"]
    assert online is not None
    assert float(row["online_ndcg"]) == online.mean == 1.5
    assert float(row["online_ndcg_half_width"]) == online.half_width
    assert row["qualified_share"] == "" and float(row["max_unfairness"]) == 2.0 and row["seeds"] == "2"
