from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from fairexp.cli.printing import summarise, write_summary
from fairexp.lab.simulation import Result
from fairexp.lab.simulation.settings import RunSettings
from fairexp.measures import (
    FINAL_UF,
    HELDOUT_NDCG,
    MAX_UF,
    MEAN_ADDED_REGRET,
    MEAN_MISORDERED,
    MEAN_UF,
    ONLINE_NDCG,
    QUALIFIED_SHARE,
    SPEED,
    Measure,
)


def result(online: float, *, largest: float | None = 2.0, rounds: int = 100) -> Result:
    measures: dict[Measure, float | None] = {
        ONLINE_NDCG: online,
        HELDOUT_NDCG: 0.5,
        MAX_UF: largest,
        MEAN_UF: largest,
        FINAL_UF: largest,
        MEAN_ADDED_REGRET: 1.0,
        MEAN_MISORDERED: 9.0,
        QUALIFIED_SHARE: None,
        SPEED: 50.0,
    }
    return Result(rounds, measures)


@pytest.mark.parametrize("n", [2, 3, 8])
def test_the_interval_is_students(n: int) -> None:
    values = np.random.default_rng(n).normal(50, 7, size=n)
    runs = [RunSettings(ranker="a", seed=seed) for seed in range(n)]
    (found,) = summarise(runs, [result(value) for value in values.tolist()])
    low, high = stats.t.interval(0.95, n - 1, loc=values.mean(), scale=stats.sem(values))
    assert found.value(ONLINE_NDCG) == pytest.approx(values.mean())
    assert found.half_width(ONLINE_NDCG) == pytest.approx((high - low) / 2)


def test_one_seed_has_no_interval() -> None:
    (found,) = summarise([RunSettings(ranker="a")], [result(3.0)])
    assert found.value(ONLINE_NDCG) == 3.0 and found.half_width(ONLINE_NDCG) is None


def test_seeds_are_put_together_and_users_kept_apart() -> None:
    runs = [RunSettings(ranker=r, user=u, seed=s) for u in ("perfect", "mine.yaml") for r in ("a", "b") for s in (0, 1)]
    results = [result(float(i), largest=float(i)) for i in range(8)]
    found = summarise(runs, results)
    assert [(line.user, line.ranker, line.n_seeds) for line in found] == [
        ("perfect", "a", 2),
        ("perfect", "b", 2),
        ("mine.yaml", "a", 2),
        ("mine.yaml", "b", 2),
    ]
    assert [line.value(ONLINE_NDCG) for line in found] == [0.5, 2.5, 4.5, 6.5]
    assert [line.value(MAX_UF) for line in found] == [1.0, 3.0, 5.0, 7.0]


def test_runs_that_never_began_are_left_out() -> None:
    runs = [RunSettings(ranker=name) for name in ("a", "b", "c")]
    found = summarise(runs, [result(1.0), None, result(0.0, rounds=0)])
    assert [line.ranker for line in found] == ["a"]


def test_the_file_holds_what_the_summaries_hold(tmp_path: Path) -> None:
    runs = [RunSettings(ranker="a", seed=seed) for seed in (0, 1)]
    summaries = summarise(runs, [result(1.0), result(2.0)])
    write_summary(tmp_path / "summary.csv", summaries)
    with (tmp_path / "summary.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert float(row["online nDCG@10"]) == summaries[0].value(ONLINE_NDCG) == 1.5
    assert float(row["online nDCG@10 half width"]) == summaries[0].half_width(ONLINE_NDCG)
    assert row["qualified share"] == "" and float(row["max UF"]) == 2.0 and row["seeds"] == "2"
