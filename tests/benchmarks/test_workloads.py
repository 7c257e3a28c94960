"""What the benchmarks play and compare: shapes, floors that are what they say, and tables of quality."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.large import SLAB, slab_products
from benchmarks.million import N_DOCUMENTS, N_FEATURES, POINTS, play_long, small_queries
from benchmarks.widths import Quality, interval, lines, quality
from benchmarks.workloads import pool, warm_ranker
from fairexp.lab.metrics import GAMMA
from fairexp.lab.simulation.result import Result
from fairexp.measures import HELDOUT_NDCG, ONLINE_NDCG, SPEED
from fairexp.rankers.pairrank.widths import DiagonalConfidence


def test_products_in_slabs_are_the_products():
    features = np.random.default_rng(0).random((SLAB + 30, 7))
    inverse = np.linalg.inv(np.eye(7) + features[:300].T @ features[:300])
    assert slab_products(features)() == pytest.approx((features[SLAB:] @ inverse) @ features.T)


def test_settings_reach_the_host():
    ranker = warm_ranker(pool(20, 8, count=2), rounds=3, width="diagonal")
    assert isinstance(ranker.host.confidence, DiagonalConfidence) and ranker.n_ranked == 3


def test_small_queries_have_the_shape_they_say():
    data = small_queries()
    sizes = np.diff(data.offsets)
    assert data.n_features == N_FEATURES and sizes.mean() == pytest.approx(N_DOCUMENTS, abs=1.0)
    assert data.n_groups == 2


def test_a_long_run_is_told_in_points(capsys):
    points = play_long(60, tell=False)
    assert [point["round"] for point in points] == list(range(3, 61, 3)) and len(points) == POINTS
    assert all(point["seconds"] > 0 and point["memory"] > 1e6 for point in points)
    assert capsys.readouterr().out == ""


def a_result(online: float, heldout: float) -> Result:
    return Result(2, {ONLINE_NDCG: online, HELDOUT_NDCG: heldout, SPEED: 500.0})


def test_online_quality_is_a_discounted_mean():
    found = quality([a_result(1.0 + GAMMA, 0.5), a_result(0.0, 0.7)])
    assert found.online == pytest.approx([1.0, 0.0])
    assert found.heldout.tolist() == [0.5, 0.7] and found.milliseconds.tolist() == [2.0, 2.0]


def test_differences_are_taken_seed_by_seed():
    first = Quality(np.array([0.5, 0.7]), np.array([0.1, 0.3]), np.ones(2))
    second = Quality(np.array([0.6, 0.8]), np.array([0.0, 0.2]), np.ones(2))
    rows = lines("a world | a user", {"full": first, "diagonal": second})
    assert rows[0] == "| a world | a user | full | 0.600 ± 1.271 | 0.200 ± 1.271 | 1.00 |"
    assert rows[2] == "| a world | a user | diagonal - full | +0.100 ± 0.000 | -0.100 ± 0.000 | |"


def test_the_interval_is_student_s():
    assert interval(np.array([0.5, 0.6, 0.7])) == "0.600 ± 0.248"
