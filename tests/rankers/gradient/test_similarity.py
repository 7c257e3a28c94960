"""Sim-MGD and C-MGD: models that are sums of documents, and when they are let go."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp.checks import check_ranker
from fairexp.errors import StateError
from fairexp.rankers.gradient.cascade import CMGD
from fairexp.rankers.gradient.mgd import PMGD
from fairexp.rankers.gradient.similarity import SimMGD
from fairexp.remap import Remap
from fairexp.types import Query
from tests.rankers.simulation import learn, small_world


def some_query(n=15, d=6, seed=0):
    return Query(features=np.random.default_rng(seed).random((n, d)))


def played(ranker, n_rounds):
    """The ranker after rounds in which the first feature is what users like."""
    for number in range(n_rounds):
        ranking = ranker.rank(some_query(d=ranker.n_features, seed=number))
        ranker.update(ranking, ranking.features[:, 0] > 0.7)
    return ranker


@pytest.mark.parametrize("cls", [SimMGD, CMGD])
@pytest.mark.parametrize("references", [3, 200])
def test_keeps_the_contract(cls, references):
    check_ranker(lambda seed: cls(5, references=references, decay=0.99, seed=seed))


def test_the_first_documents_with_feedback_are_the_references_and_nothing_is_learned_before():
    ranker = SimMGD(6, references=14, seed=1)
    first = ranker.rank(some_query(seed=1))
    assert first.memory["directions"].shape == (0, 6)
    ranker.update(first, np.ones(10, dtype=bool))
    assert not ranker.weights.any()
    second = ranker.rank(some_query(seed=2))
    ranker.rank(some_query(seed=3))  # without feedback
    ranker.update(second, np.zeros(10, dtype=bool))
    assert ranker.rank(some_query(seed=4)).memory["directions"].shape == (19, 6)
    expected = np.concatenate([first.features, second.features[:4]])
    assert np.array_equal(ranker.state()["references"], expected)


def test_a_rivals_score_is_a_weighted_sum_of_dot_products():
    ranker = played(SimMGD(6, references=4, step=0.5, seed=1), 20)
    references = ranker.state()["references"]
    number = ranker.n_ranked
    directions = ranker.rank(some_query(seed=99)).memory["directions"]
    mixtures = ranker.stream.at(number).standard_normal((19, 4))
    mixtures /= np.linalg.norm(mixtures, axis=1, keepdims=True)
    documents = some_query(seed=7).features
    by_dots = (documents @ references.T) @ mixtures.T
    assert documents @ directions.T == pytest.approx(by_dots)
    coordinates = np.linalg.lstsq(references.T, ranker.weights)[0]
    assert references.T @ coordinates == pytest.approx(ranker.weights)  # the model is a sum of references


def test_when_weights_stand_still_the_model_is_rescaled_once_and_rivals_lie_anywhere():
    ranker = CMGD(6, references=4, window=3, learning_rate=0.1, threshold=1e-9, seed=2)
    played(ranker, 30)
    assert not bool(ranker.state()["is_linear"])
    mixture, before = ranker.state()["mixture"], ranker.weights
    references = ranker.state()["references"]
    assert references.T @ mixture == pytest.approx(before)
    ranking = ranker.rank(some_query())
    for _ in range(4):
        ranker.update(ranking, np.zeros(10, dtype=bool))  # nobody wins: the weights stand still
    assert bool(ranker.state()["is_linear"])
    assert np.linalg.norm(ranker.weights) == pytest.approx(np.linalg.norm(mixture) * np.sqrt(4 / 6))
    assert ranker.weights / np.linalg.norm(ranker.weights) == pytest.approx(before / np.linalg.norm(before))
    after = ranker.weights
    ranker.update(ranking, np.arange(10) == 5)  # shown before
    assert ranker.weights is after
    directions = ranker.rank(some_query()).memory["directions"]
    assert np.linalg.norm(directions, axis=1) == pytest.approx(np.ones(19))
    assert np.linalg.matrix_rank(directions) == 6


def test_while_weights_turn_the_references_stay():
    ranker = played(CMGD(6, references=4, window=3, learning_rate=0.1, threshold=1e-9, seed=2), 20)
    assert not bool(ranker.state()["is_linear"])


def test_other_numbers_of_references_are_not_taken_over():
    remap = Remap.by_name(["a", "b"], before=["a", "b"])
    with pytest.raises(StateError, match="4 references cannot be taken over by one of 3"):
        SimMGD(2, references=3).take_over(SimMGD(2, references=4), remap)


def test_learn_a_linear_truth():
    features, grades = small_world(seed=1)
    assert learn(SimMGD(10, seed=4), features, grades, 2000, seed=5) >= 0.88
    assert learn(CMGD(10, seed=4), features, grades, 2000, seed=5) >= 0.95


def test_the_published_ordering_few_references_cost_quality_that_cascading_regains():
    features, grades = small_world(seed=1)
    seeds = range(3)
    found = {
        cls: np.mean([learn(cls(10, seed=seed, **few), features, grades, 1500, seed=seed) for seed in seeds])
        for cls, few in ((SimMGD, {"references": 4}), (CMGD, {"references": 4}), (PMGD, {}))
    }
    assert found[SimMGD] < found[CMGD] - 0.02
    assert found[CMGD] == pytest.approx(found[PMGD], abs=0.03)
