"""PDGD with a network: its gradient is the numeric one, it starts at random, and it learns what is not linear."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp.checks import check_ranker
from fairexp.errors import StateError
from fairexp.kernels.pdgd.pdgd import document_weights
from fairexp.rankers.pdgd.neural import NeuralPDGD
from fairexp.rankers.pdgd.ranker import PDGD
from fairexp.remap import Remap
from fairexp.types import Query
from tests.rankers.simulation import CLICK_CHANCE, learn, ndcg, small_world


def test_keeps_the_contract():
    check_ranker(lambda seed: NeuralPDGD(5, hidden=7, decay=0.99, seed=seed))


def test_scores_are_those_of_the_network_written_out():
    ranker = NeuralPDGD(3, hidden=2, seed=1)
    ranker.weights = np.array([1.0, 2.0, 3.0, -1.0, 0.0, 1.0, 0.5, -0.5, 2.0, -3.0])
    x = np.array([0.2, 0.4, -0.6])
    one, two = 1 / (1 + np.exp(-(-0.8 + 0.5))), 1 / (1 + np.exp(-(-0.8 - 0.5)))
    assert ranker.score([x]) == pytest.approx([2.0 * one - 3.0 * two])
    assert ranker.linear_model() is None


def test_a_step_is_along_the_numeric_gradient():
    ranker = NeuralPDGD(4, hidden=3, learning_rate=1.0, seed=1)
    ranking = ranker.rank(Query(features=np.random.default_rng(0).random((8, 4))))
    clicks = np.array([False, True, False, True, False, False, False, False])
    before, features = ranker.weights.copy(), ranking.features
    rest, classes = ranking.memory["log_rest"], np.zeros(8, dtype=np.int64)
    factors = document_weights(ranking.scores, rest, classes, ranker.score(features), clicks)
    numeric = np.empty(len(before))
    for at in range(len(before)):
        ends = []
        for sign in (1.0, -1.0):
            ranker.weights = before + sign * 1e-5 * (np.arange(len(before)) == at)
            ends.append(factors @ ranker.score(features))
        numeric[at] = (ends[0] - ends[1]) / 2e-5
    ranker.weights = before.copy()
    ranker.update(ranking, clicks)
    assert ranker.weights - before == pytest.approx(numeric, abs=1e-8)
    assert np.abs(numeric).max() > 1e-3


def test_networks_start_with_the_variance_of_their_fan_in():
    weights = NeuralPDGD(400, hidden=100, seed=0).weights
    layer, biases, output = np.split(weights, [-200, -100])
    assert layer.std() == pytest.approx(1 / 20, rel=0.02)
    assert output.std() == pytest.approx(1 / 10, rel=0.2)
    assert not biases.any()
    assert not np.array_equal(weights, NeuralPDGD(400, hidden=100, seed=1).weights)


def test_a_network_of_another_size_is_not_taken_over():
    remap = Remap.by_name(["a", "b"], before=["a", "b"])
    with pytest.raises(StateError, match="4 units cannot be taken over by one of 3"):
        NeuralPDGD(2, hidden=3).take_over(NeuralPDGD(2, hidden=4), remap)


def test_learns_a_linear_truth():
    features, grades = small_world(seed=1)
    assert learn(NeuralPDGD(10, seed=4), features, grades, 2000, seed=5) >= 0.97


def test_learns_what_a_linear_model_cannot():
    """Relevance is being near the middle of one feature: no linear score orders that."""
    rng = np.random.default_rng(0)
    features = rng.random((60, 20, 3))
    middle = -np.abs(features[:, :, 0] - 0.5)
    grades = np.searchsorted(np.quantile(middle, [0.5, 0.8, 0.93, 0.98]), middle)
    found = {}
    for cls in (PDGD, NeuralPDGD):
        ranker, clicks = cls(3, learning_rate=0.3, seed=1), np.random.default_rng(2)
        for _ in range(4000):
            q = int(clicks.integers(60))
            ranking = ranker.rank(Query(features=features[q]))
            ranker.update(ranking, clicks.random(len(ranking)) < CLICK_CHANCE[grades[q][ranking.shown]])
        ordered = [np.argsort(-ranker.score(x), kind="stable") for x in features]
        found[cls] = np.nanmean([ndcg(g[order], g) for g, order in zip(grades, ordered, strict=True)])
    assert found[NeuralPDGD] > 0.8 > 0.6 > found[PDGD]
