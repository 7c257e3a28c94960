from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.errors import ArgumentError
from fairexp.lab.data import world
from fairexp.lab.metrics import GAMMA, misordered_pairs, ndcg
from fairexp.lab.simulation.meter import Meter, PlayedRound, checkpoints
from fairexp.lab.simulation.trace import Trace
from fairexp.rankers.baselines.controls import FixedScores, Oracle
from fairexp.types import Query, Ranking

METER = Meter(exposure=np.ones(10), shares=None)


def a_round(number: int, shown: list[int], groups: list[int], relevance: list[int]) -> PlayedRound:
    query = Query(features=np.zeros((len(relevance), 1)), groups=groups)
    ranking = Ranking(
        shown=np.array(shown),
        features=query.features[shown],
        scores=np.zeros(len(shown)),
        ranker=1,
        number=number - 1,
        groups=np.array(groups)[shown],
        added_regret=2,
        qualified=True,
    )
    return PlayedRound(number, 0, ranking, np.array(relevance), np.array([True] + [False] * (len(shown) - 1)))


def test_a_meter_audits_from_outside() -> None:
    meter = Meter(exposure=np.array([1.0, 0.5]), shares=np.array([1.0, 1.0]))
    first = meter.row(a_round(1, [0, 2], [0, 0, 1], [1, 0, 0]))
    assert first["UF"] == pytest.approx(0.5) and first["nDCG@10"] == 1.0 == first["online nDCG@10"]
    second = meter.row(a_round(2, [2, 1], [0, 0, 1], [1, 0, 0]))
    assert second["UF"] == pytest.approx(0.0)
    assert second["nDCG@10"] == 0.0 and second["online nDCG@10"] == 1.0 and second["misordered pairs"] > 0
    third = meter.row(a_round(3, [0, 1], [0, 0, 1], [1, 0, 0]))
    assert third["online nDCG@10"] == pytest.approx(1.0 + GAMMA**2)
    assert third["UF"] == pytest.approx(1.5) and (third["clicks"], third["added regret"]) == (1, 2)


@given(
    grades=st.lists(st.integers(0, 6), min_size=1, max_size=20),
    length=st.integers(1, 25),
    k=st.integers(1, 12),
    seed=st.integers(0, 1000),
)
@settings(deadline=None, derandomize=True, max_examples=60)
def test_what_a_meter_says_is_what_the_metrics_say(grades: list[int], length: int, k: int, seed: int) -> None:
    relevance = np.array(grades)
    shown = np.random.default_rng(seed).permutation(len(grades))[:length]
    played = a_round(1, shown.tolist(), [0] * len(grades), grades)
    row = Meter(exposure=np.ones(length), shares=None, k=k).row(played)
    assert row[f"nDCG@{k}"] == pytest.approx(ndcg(relevance[shown], relevance, k=k), abs=1e-12)
    assert row["misordered pairs"] == misordered_pairs(shown, relevance)


@pytest.mark.parametrize(
    ("shown", "relevance", "named"),
    [([0, 0], [1, 0], "shown"), ([0, 1], [1, -1], "relevance"), ([1], [0, 60], "grade")],
)
def test_a_meter_refuses_what_the_metrics_refuse(shown: list[int], relevance: list[int], named: str) -> None:
    meter = Meter(exposure=np.ones(2), shares=None)
    with pytest.raises(ArgumentError, match=named):
        meter.row(a_round(1, shown, [0, 0], relevance))


def test_no_groups_no_unfairness() -> None:
    row = Meter(exposure=np.array([1.0, 0.5]), shares=None).row(a_round(1, [0, 2], [0, 0, 1], [1, 0, 0]))
    assert "UF" not in row


def test_heldout_quality_is_that_of_the_scores() -> None:
    data = world("mslr-pagerank", n_queries=8).without_irrelevant()
    weights = np.random.default_rng(1).normal(size=136)
    found = METER.heldout_ndcg(FixedScores(weights), data)
    each = []
    for i in range(data.n_queries):
        order = np.argsort(-(data.query(i).features @ weights))
        gains = 2.0 ** data.relevance(i) - 1
        discount = 1 / np.log2(np.arange(2, 12))
        top = gains[order][:10]
        best = np.sort(gains)[::-1][:10]
        each.append((top * discount[: len(top)]).sum() / (best * discount[: len(best)]).sum())
    assert found == pytest.approx(np.mean(each), abs=1e-9)
    assert METER.heldout_ndcg(Oracle({}, n_features=136), data) is None


@pytest.mark.parametrize("rule", ["zero", "skip"])
def test_one_rule_for_queries_without_a_relevant_document(rule: str) -> None:
    """Half of the queries have none: by one rule they halve what is online and held out, by the other neither."""
    data = world("mslr-pagerank", n_queries=8).without_irrelevant()
    grades = data.grades.copy()
    for index in range(0, data.n_queries, 2):
        grades[data.offsets[index] : data.offsets[index + 1]] = 0
    ranker = FixedScores(np.random.default_rng(1).normal(size=136))
    half = replace(data, grades=grades)
    others = half.without_irrelevant()
    meter = Meter(exposure=np.ones(2), shares=None, irrelevant=rule)
    kept = 1.0 if rule == "skip" else others.n_queries / data.n_queries
    assert meter.heldout_ndcg(ranker, half) == pytest.approx(kept * METER.heldout_ndcg(ranker, others))
    first = meter.row(a_round(1, [0, 2], [0, 0, 1], [0, 0, 0]))
    second = meter.row(a_round(2, [0, 2], [0, 0, 1], [1, 0, 0]))
    assert first["nDCG@10"] == (0.0 if rule == "zero" else None)
    assert first["mean online nDCG@10"] == first["nDCG@10"]
    assert second["online nDCG@10"] == pytest.approx(GAMMA)
    assert second["mean online nDCG@10"] == pytest.approx(1.0 if rule == "skip" else GAMMA / (1 + GAMMA))


def test_a_rule_that_there_is_none_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"zero \(.*skip \(.*'one'"):
        Meter(exposure=np.ones(2), shares=None, irrelevant="one")


def test_only_irrelevant_queries_have_no_held_out_ndcg_where_they_are_left_out() -> None:
    data = world("mslr-pagerank", n_queries=2)
    bare = replace(data, grades=np.zeros_like(data.grades))
    ranker = FixedScores(np.ones(136))
    assert METER.heldout_ndcg(ranker, bare) == 0.0
    assert Meter(exposure=np.ones(2), shares=None, irrelevant="skip").heldout_ndcg(ranker, bare) is None


@pytest.mark.parametrize(("rounds", "n_points"), [(1, 1), (2, 40), (1000, 8), (5000, 40)])
def test_checkpoints_end_with_the_last_round(rounds: int, n_points: int) -> None:
    marks = checkpoints(rounds, n_points)
    assert max(marks) == rounds and min(marks) >= 1 and len(marks) <= max(n_points, 2)


def test_a_trace_in_chunks_is_the_whole(tmp_path: Path) -> None:
    from pyarrow import parquet

    rows = [
        {
            "round": i,
            "nDCG@10": i / 7,
            "qualified": None if i < 3 else True,
            "held-out nDCG@10": 0.5 if i == 4 else None,
        }
        for i in range(1, 8)
    ]
    with Trace(tmp_path / "t.parquet", chunk=3) as trace:
        for row in rows:
            trace.write(row)
    assert parquet.read_table(tmp_path / "t.parquet").to_pylist() == rows
    assert parquet.ParquetFile(tmp_path / "t.parquet").num_row_groups == 3


def test_a_trace_of_nothing_leaves_no_file(tmp_path: Path) -> None:
    with Trace(tmp_path / "t.parquet"):
        pass
    assert not (tmp_path / "t.parquet").exists()
