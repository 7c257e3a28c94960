"""PDGD: golden gradients, agreement with the paper's own formula, stability, and that it learns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.checks import check_ranker
from fairexp.errors import ArgumentError
from fairexp.kernels.pdgd.pdgd import document_weights, expected_regret, log_rest
from fairexp.rankers.pdgd.ranker import PDGD
from fairexp.types import Query
from tests.rankers.simulation import learn, small_world
from tests.reference import pdgd as reference


def weights_of(scores, shown, clicks, current=None, groups=None):
    scores = np.asarray(scores, dtype=np.float64)
    shown = np.asarray(shown)
    current = scores if current is None else np.asarray(current, dtype=np.float64)
    groups = np.zeros(len(scores), dtype=np.int64) if groups is None else groups
    rest = log_rest(scores, groups, shown)
    return document_weights(scores[shown], rest, groups[shown], current[shown], np.asarray(clicks, dtype=bool))


def test_keeps_the_contract():
    check_ranker(lambda seed: PDGD(5, decay=0.99, seed=seed))


@pytest.mark.parametrize(
    ("scores", "clicks", "gradient"),
    [
        ((0, 0, 0), (0, 1, 0), (-0.125, 0.25, -0.125)),
        ((0, 0, 0), (1, 0, 0), (0.125, -0.125, 0.0)),
        ((1, 0, 0), (0, 0, 1), (-0.03248, -0.125, 0.15748)),
    ],
)
def test_golden_gradients(scores, clicks, gradient):
    assert weights_of(scores, (0, 1, 2), clicks) == pytest.approx(gradient, abs=5e-6)
    ranker = PDGD(3, learning_rate=1.0)
    ranker.weights = np.array(scores, dtype=np.float64)
    while True:
        ranking = ranker.rank(Query(features=np.eye(3)))
        if ranking.shown.tolist() == [0, 1, 2]:
            break
    ranker.update(ranking, clicks)
    assert ranker.weights - scores == pytest.approx(gradient, abs=5e-6)


@settings(deadline=None, derandomize=True, max_examples=80)
@given(
    st.integers(2, 12),
    st.integers(1, 8),
    st.integers(1, 3),
    st.integers(0, 10_000),
    st.sampled_from([0.1, 1.0, 5.0, 30.0]),
)
def test_equals_the_ratio_of_whole_ranking_probabilities(n, length, n_groups, seed, spread):
    rng = np.random.default_rng(seed)
    scores, current = spread * rng.standard_normal(n), rng.standard_normal(n)
    shown = rng.permutation(n)[:length]
    clicks, groups = rng.random(len(shown)) < 0.4, rng.integers(n_groups, size=n)
    expected = reference.gradient(np.eye(n), scores, current, shown, clicks, groups)[shown]
    assert weights_of(scores, shown, clicks, current, groups) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_expected_regret_is_the_difference_of_pair_probabilities():
    scores = np.array([0.0, 2.0, -900.0, 2.0, -1000.0])
    chance = 1.0 / (1.0 + np.exp(-np.clip(scores[:, None] - scores, -700, 700)))
    expected = np.maximum(np.rint(100 * (chance - chance.T)), 0)
    assert np.array_equal(expected_regret(scores, 100), expected)
    assert expected_regret(scores, 100)[2, 4] == 100 and expected_regret(scores, 100)[1, 0] == 76


def test_shifting_all_scores_changes_nothing():
    rng = np.random.default_rng(0)
    scores, shown, clicks = rng.standard_normal(9), np.arange(5), [0, 1, 0, 0, 1]
    assert weights_of(scores + 500.0, shown, clicks) == pytest.approx(weights_of(scores, shown, clicks), rel=1e-9)


def test_scores_hundreds_apart_give_finite_weights():
    weights = weights_of([900.0, -900.0, 0.0, 400.0], [1, 0, 2], [0, 1, 1], current=np.zeros(4))
    assert np.isfinite(weights).all()
    assert weights.sum() == pytest.approx(0.0)
    # The first was certain to stand below the second, so exchanging the two has all the probability: rho = 1.
    assert weights[1] == pytest.approx(0.25)


def test_late_feedback_is_weighted_by_the_scores_at_display_and_the_slope_of_today():
    ranker = PDGD(3, learning_rate=1.0, seed=1)
    ranking = ranker.rank(Query(features=np.eye(3)))
    today = np.array([0.7, -0.2, 0.4])
    ranker.weights = today.copy()
    ranker.update(ranking, [False, True, False])
    expected = reference.gradient(np.eye(3), np.zeros(3), today, ranking.shown, np.array([False, True, False]))
    assert ranker.weights - today == pytest.approx(expected)


def test_lists_are_drawn_from_plackett_luce():
    ranker = PDGD(3, length=2, seed=3)
    ranker.weights = np.array([1.0, 0.0, -1.0])
    counts = {}
    for _ in range(6000):
        shown = tuple(ranker.rank(Query(features=np.eye(3))).shown.tolist())
        counts[shown] = counts.get(shown, 0) + 1
    expected = {order: 6000 * np.exp(reference.log_probability(order, ranker.weights)) for order in counts}
    assert len(counts) == 6
    assert sum((counts[o] - expected[o]) ** 2 / expected[o] for o in counts) < 20.5  # 5 degrees, p = .001


def test_no_click_and_all_clicked_teach_nothing():
    ranker = PDGD(3, seed=0)
    for clicks in ([False] * 3, [True] * 3):
        ranker.update(ranker.rank(Query(features=np.eye(3))), clicks)
    assert not ranker.weights.any()


def test_the_rate_decays_with_each_step():
    ranker = PDGD(1, learning_rate=1.0, decay=0.5, seed=0)
    ranking = ranker.rank(Query(features=[[1.0], [1.0]]))
    for _ in range(3):
        ranker.update(ranking, [True, False])
    assert float(ranker.state()["rate"]) == pytest.approx(0.125)
    with pytest.raises(ArgumentError, match="decay"):
        PDGD(1, decay=0.0)


def test_one_huge_document_cannot_drown_the_rest():
    ranker = PDGD(2, seed=0)
    ranking = ranker.rank(Query(features=[[1e99, 0.0], [0.0, 0.0]]))
    ranker.update(ranking, ranking.shown == 0)
    assert np.abs(ranker.weights).max() <= 100.0


def test_learns_a_linear_truth():
    features, grades = small_world(seed=1)
    assert learn(PDGD(10, seed=4), features, grades, 2000, seed=5) >= 0.97
