"""DBGD: what a duel changes, what it does not, and that it learns."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp.checks import check_ranker
from fairexp.errors import ArgumentError
from fairexp.interleaving import team_draft
from fairexp.kernels.algebra.linear import scale_to_unit
from fairexp.rankers.gradient.challengers import unit_vectors
from fairexp.rankers.gradient.dbgd import DBGD
from fairexp.types import Query
from tests.rankers.simulation import learn, small_world

KINDS = ("team-draft", "probabilistic")


def some_query(n=15, d=4, seed=0):
    return Query(features=np.random.default_rng(seed).random((n, d)))


@pytest.mark.parametrize("interleaving", KINDS)
def test_keeps_the_contract(interleaving):
    check_ranker(lambda seed: DBGD(5, interleaving=interleaving, decay=0.99, seed=seed))


def test_a_win_moves_the_weights_by_the_rate_along_the_direction_and_a_loss_does_not():
    ranker = DBGD(4, learning_rate=0.25, decay=0.5, seed=2)
    ranking = ranker.rank(some_query())
    team, (direction,) = ranking.memory["credit"], ranking.memory["directions"]
    assert np.linalg.norm(direction) == pytest.approx(1.0)
    assert (team == 0).sum() == (team == 1).sum() == 5
    for losing in (team == 0, np.zeros(10, dtype=bool), np.ones(10, dtype=bool)):
        ranker.update(ranking, losing)
        assert not ranker.weights.any()
    ranker.update(ranking, team == 1)
    assert ranker.weights == pytest.approx(0.25 * direction)
    ranker.update(ranking, team == 1)
    assert ranker.weights == pytest.approx(0.375 * direction)


def test_probabilistic_duel_moves_only_when_the_rival_probably_won():
    ranker = DBGD(4, interleaving="probabilistic", seed=2)
    ranking = ranker.rank(some_query())
    ours, rivals = ranking.memory["credit"].T
    best, worst = np.arange(10) == np.argmax(rivals / ours), np.arange(10) == np.argmin(rivals / ours)
    assert (rivals < ours).any() and (rivals > ours).any()
    ranker.update(ranking, worst)
    assert not ranker.weights.any()
    ranker.update(ranking, best)
    assert ranker.weights == pytest.approx(0.01 * ranking.memory["directions"][0])


def test_directions_are_uniform_on_the_sphere():
    rng = np.random.default_rng(0)
    directions = unit_vectors(4000, 3, rng)
    assert directions.mean(axis=0) == pytest.approx(np.zeros(3), abs=0.05)
    assert directions.T @ directions / 4000 == pytest.approx(np.eye(3) / 3, abs=0.03)
    assert set(unit_vectors(50, 1, rng)[:, 0].tolist()) == {-1.0, 1.0}


def test_the_zero_vector_stays_as_it_is():
    vectors = np.array([[0.0, 0.0], [3.0, 4.0]])
    scale_to_unit(vectors)
    assert vectors.tolist() == [[0.0, 0.0], [0.6, 0.8]]


def test_a_draft_is_that_of_the_two_score_lists():
    query = some_query(n=12, d=4, seed=5)
    ranker = DBGD(4, length=6, seed=3)
    ranker.weights = np.array([1.0, -2.0, 0.5, 0.0])
    ranking = ranker.rank(query)
    rng = DBGD(4, length=6, seed=3).stream.at(0)
    directions = unit_vectors(1, 4, rng)
    scores = np.stack([query.features @ ranker.weights, query.features @ (ranker.weights + directions[0])])
    mixed = team_draft(scores, length=6, rng=rng)
    assert np.array_equal(ranking.memory["directions"], directions)
    assert np.array_equal(ranking.shown, mixed.shown) and np.array_equal(ranking.memory["credit"], mixed.team)


def test_equal_documents_are_shown_in_random_order():
    query = Query(features=np.repeat(np.random.default_rng(1).random((1, 7)), 3, axis=0))
    ranker = DBGD(7, length=1, seed=0)
    ranker.weights = np.random.default_rng(2).standard_normal(7)
    first = [int(ranker.rank(query).shown[0]) for _ in range(900)]
    assert np.bincount(first, minlength=3) == pytest.approx([300, 300, 300], abs=60)


def test_one_candidate_and_one_feature():
    ranker = DBGD(1, seed=0)
    ranking = ranker.rank(Query(features=[[2.0]]))
    ranker.update(ranking, [True])
    assert ranking.shown.tolist() == [0]
    assert ranker.weights.tolist() == [0.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"interleaving": "balanced"}, "interleaving: expected one of 'team-draft', 'probabilistic', got 'balanced'"),
        ({"step": 0.0}, "step: expected a finite number above 0"),
        ({"learning_rate": -1.0}, "learning_rate: expected"),
        ({"decay": 1.5}, "decay: expected a number above 0 and at most 1, got 1.5"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        DBGD(3, **arguments)


@pytest.mark.parametrize(("interleaving", "least"), [("team-draft", 0.88), ("probabilistic", 0.88)])
def test_learns_a_linear_truth(interleaving, least):
    features, grades = small_world(seed=1)
    assert learn(DBGD(10, interleaving=interleaving, seed=4), features, grades, 2000, seed=5) >= least
