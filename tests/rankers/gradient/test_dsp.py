"""DSP: moves stay where the documents that were seen are, and have length 1."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp.checks import check_ranker
from fairexp.rankers.gradient.dbgd import DBGD
from fairexp.rankers.gradient.dsp import DSP, projection
from fairexp.types import Query
from tests.rankers.simulation import learn, small_world


def winning(ranker, query):
    """A ranking, the clicks that let its rival win with one click, and that click's position."""
    ranking = ranker.rank(query)
    position = int(np.flatnonzero(ranking.memory["credit"] == 1)[0])
    return ranking, np.arange(len(ranking)) == position, position


def some_query(n=30, d=40, seed=0):
    return Query(features=np.random.default_rng(seed).random((n, d)))


def test_keeps_the_contract():
    check_ranker(lambda seed: DSP(5, viewed=3, decay=0.99, seed=seed))


def test_a_move_lies_in_the_span_of_what_was_seen_and_has_the_rates_length():
    ranker = DSP(40, learning_rate=0.5, viewed=4, seed=1)
    ranking, clicks, position = winning(ranker, some_query())
    ranker.update(ranking, clicks)
    seen = ranking.features[: position + 3]
    assert np.linalg.norm(ranker.weights) == pytest.approx(0.5)
    coordinates, *_ = np.linalg.lstsq(seen.T, ranker.weights)
    assert seen.T @ coordinates == pytest.approx(ranker.weights, abs=1e-12)
    direction = ranking.memory["directions"][0]
    inside = seen.T @ np.linalg.lstsq(seen.T, direction)[0]
    assert ranker.weights == pytest.approx(0.5 * inside / np.linalg.norm(inside))


def test_documents_seen_before_are_in_the_span_and_the_oldest_go():
    ranker = DSP(40, learning_rate=1.0, viewed=4, seed=1)
    first, clicks, position = winning(ranker, some_query(seed=1))
    ranker.update(first, clicks)
    kept = first.features[: position + 3][-4:]
    before = ranker.weights
    second, clicks, position = winning(ranker, some_query(seed=2))
    ranker.update(second, clicks)
    move = ranker.weights - before
    span = np.concatenate([second.features[: position + 3], kept])
    inside = span.T @ np.linalg.lstsq(span.T, second.memory["directions"][0])[0]
    assert move == pytest.approx(inside / np.linalg.norm(inside), abs=1e-9)


def test_without_a_click_and_without_a_component_nothing_moves():
    ranker = DSP(3, length=4, seed=0)
    ranking = ranker.rank(some_query(d=3))
    ranker.update(ranking, np.zeros(4, dtype=bool))
    assert int(ranker.state()["n_seen"]) == 0
    blank = ranker.rank(Query(features=np.zeros((6, 3))))
    ranker.update(blank, np.ones(4, dtype=bool))
    assert not ranker.weights.any()


def test_projection_onto_dependent_and_zero_rows():
    rows = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    assert projection(np.array([1.0, 0.0, 7.0]), rows) == pytest.approx(np.array([1.0, 1.0, 0.0]) / np.sqrt(2))
    assert not projection(np.array([0.0, 0.0, 1.0]), rows).any()
    assert not projection(np.array([1.0, 0.0, 1.0]), np.zeros((2, 3))).any()


def test_with_few_documents_in_a_wide_space_it_learns_faster_than_dbgd():
    """The published ordering: the same duels, and moves without the component that clicks cannot speak of."""
    features, grades = small_world(seed=1, n_features=60)
    seeds = range(4)
    ours = [learn(DSP(60, seed=seed), features, grades, 800, seed=seed) for seed in seeds]
    plain = [learn(DBGD(60, seed=seed), features, grades, 800, seed=seed) for seed in seeds]
    assert np.mean(ours) > np.mean(plain) + 0.02


def test_learns_a_linear_truth():
    features, grades = small_world(seed=1)
    assert learn(DSP(10, seed=4), features, grades, 2000, seed=5) >= 0.88
