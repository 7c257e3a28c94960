"""DBGD: what a duel changes, what it does not, and that it learns."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp.checks import check_ranker
from fairexp.errors import ArgumentError
from fairexp.kernels.learning.interleaving import draft_duel
from fairexp.kernels.learning.linear import scale_to_unit
from fairexp.rankers.dbgd import DBGD, unit_vector
from fairexp.rankers.interleaving import team_draft
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
    credit, direction = ranking.memory["credit"], ranking.memory["direction"]
    assert np.linalg.norm(direction) == pytest.approx(1.0)
    for losing in (credit < 0, np.zeros(10, dtype=bool), credit == 0, np.ones(10, dtype=bool)):
        if (credit[losing]).sum() <= 0:
            ranker.update(ranking, losing)
            assert not ranker.weights.any()
    ranker.update(ranking, credit > 0)
    assert ranker.weights == pytest.approx(0.25 * direction)
    ranker.update(ranking, credit > 0)
    assert ranker.weights == pytest.approx(0.375 * direction)


def test_probabilistic_duel_moves_only_when_the_rival_probably_won():
    ranker = DBGD(4, interleaving="probabilistic", seed=2)
    ranking = ranker.rank(some_query())
    chance = ranking.memory["credit"]
    best, worst = np.arange(10) == np.argmax(chance), np.arange(10) == np.argmin(chance)
    assert chance.min() < 0.5 < chance.max()
    ranker.update(ranking, worst)
    assert not ranker.weights.any()
    ranker.update(ranking, best)
    assert ranker.weights == pytest.approx(0.01 * ranking.memory["direction"])


def test_directions_are_uniform_on_the_sphere():
    rng = np.random.default_rng(0)
    directions = np.array([unit_vector(3, rng) for _ in range(4000)])
    assert directions.mean(axis=0) == pytest.approx(np.zeros(3), abs=0.05)
    assert directions.T @ directions / 4000 == pytest.approx(np.eye(3) / 3, abs=0.03)
    assert {float(unit_vector(1, rng)[0]) for _ in range(50)} == {-1.0, 1.0}


def test_the_zero_vector_stays_as_it_is_and_a_duel_along_it_has_no_winner():
    zero = np.zeros(3)
    assert not scale_to_unit(zero) and not zero.any()
    scores, shown, team = np.empty(5), np.empty(4, dtype=np.int64), np.empty(4)
    rng = np.random.default_rng(0)
    draft_duel(rng.random((5, 3)), rng.random(3), zero, 1.0, rng.random(9), scores, shown, team)
    assert sorted(shown) == sorted(np.argsort(-scores)[:4]) and not team.any()


def test_a_draft_is_that_of_the_two_score_lists():
    query = some_query(n=12, d=4, seed=5)
    ranker = DBGD(4, length=6, seed=3)
    ranker.weights = np.array([1.0, -2.0, 0.5, 0.0])
    ranking = ranker.rank(query)
    rng = DBGD(4, length=6, seed=3).stream.at(0)
    direction = unit_vector(4, rng)
    rival = query.features @ (ranker.weights + direction)
    shown, credit = team_draft(query.features @ ranker.weights, rival, length=6, rng=rng)
    assert np.array_equal(ranking.memory["direction"], direction)
    assert np.array_equal(ranking.shown, shown) and np.array_equal(ranking.memory["credit"], credit)


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
