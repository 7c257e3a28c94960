"""MGD, P-MGD, DP-DBGD and MP-DGD: which way a win moves the weights, and that they learn."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp.checks import check_ranker
from fairexp.errors import ArgumentError
from fairexp.rankers.gradient.dbgd import DBGD
from fairexp.rankers.gradient.dual_point import DPDBGD
from fairexp.rankers.gradient.mgd import MGD, PMGD
from fairexp.rankers.gradient.multi_point import MPDGD
from fairexp.types import Query
from tests.rankers.simulation import learn, small_world
from tests.reference.interleaving import expected_sign

FAMILY = (MGD, PMGD, DPDBGD, MPDGD)


def some_query(n=15, d=4, seed=0):
    return Query(features=np.random.default_rng(seed).random((n, d)))


@pytest.mark.parametrize("cls", FAMILY)
def test_keeps_the_contract_with_a_rate_that_decays(cls):
    check_ranker(lambda seed: cls(5, decay=0.99, seed=seed))


@pytest.mark.parametrize("cls", FAMILY)
def test_learns_a_linear_truth(cls):
    features, grades = small_world(seed=1)
    assert learn(cls(10, seed=4), features, grades, 2000, seed=5) >= 0.95


@pytest.mark.parametrize("cls", FAMILY)
def test_unlearns_a_linear_truth_when_moves_go_the_wrong_way(cls):
    """What a sign error would do: the check above would notice."""

    class Backwards(cls):
        def _move(self, direction):
            super()._move(-direction)

    features, grades = small_world(seed=1)
    assert learn(Backwards(10, seed=4), features, grades, 500, seed=5) < 0.35


def test_mgd_moves_along_the_mean_of_all_with_more_clicks_than_the_current_ranker():
    ranker = MGD(4, candidates=3, learning_rate=0.5, length=12, seed=1)
    ranking = ranker.rank(some_query())
    team, directions = ranking.memory["credit"], ranking.memory["directions"]
    assert directions.shape == (3, 4) and np.bincount(team).tolist() == [3, 3, 3, 3]
    ranker.update(ranking, np.isin(team, (1, 3)))
    assert ranker.weights == pytest.approx(0.5 * (directions[0] + directions[2]) / 2)
    before = ranker.weights
    ranker.update(ranking, np.ones(12, dtype=bool))  # nobody has more than the current ranker
    ranker.update(ranking, team == 0)
    assert ranker.weights is before


def test_p_mgd_moves_along_the_mean_of_all_that_probably_won():
    ranker = PMGD(4, candidates=3, learning_rate=0.5, length=5, seed=1)
    ranking = ranker.rank(some_query())
    chances, directions = ranking.memory["credit"], ranking.memory["directions"]
    clicks = np.array([False, False, True, True, False])
    signs = [expected_sign(chances[clicks], ranker, 0) for ranker in (1, 2, 3)]
    assert min(signs) < 0 < max(signs)
    ranker.update(ranking, clicks)
    assert ranker.weights == pytest.approx(0.5 * directions[np.array(signs) > 0].mean(axis=0))


def test_mgd_with_one_candidate_is_dbgd():
    one, two = MGD(4, candidates=1, seed=3), DBGD(4, seed=3)
    for number in range(30):
        query = some_query(seed=number)
        a, b = one.rank(query), two.rank(query)
        assert np.array_equal(a.shown, b.shown)
        one.update(a, a.features[:, 0] > 0.5)
        two.update(b, b.features[:, 0] > 0.5)
    assert np.array_equal(one.weights, two.weights) and one.weights.any()


def test_dual_points_lie_opposite_and_whoever_wins_is_followed():
    ranker = DPDBGD(4, learning_rate=0.5, seed=1)
    ranking = ranker.rank(some_query())
    team, (one, other) = ranking.memory["credit"], ranking.memory["directions"]
    assert np.array_equal(one, -other)
    assert np.array_equal(ranking.scores, np.zeros(10))  # scores are the current ranker's
    ranker.update(ranking, np.ones(10, dtype=bool))
    assert not ranker.weights.any()
    ranker.update(ranking, team == 0)
    assert ranker.weights == pytest.approx(0.5 * one)
    ranker.update(ranking, team == 1)
    ranker.update(ranking, team == 1)
    assert ranker.weights == pytest.approx(0.5 * other)


def test_a_dual_point_move_turns_round_with_the_clicks_and_twice_as_many_duels_move():
    """Mirrored clicks give the mirrored move, so that its mean follows the outcome's; DBGD moves on wins alone."""
    moves = {DPDBGD: 0, DBGD: 0}
    for cls in moves:
        for seed in range(200):
            ranker = cls(4, learning_rate=1.0, length=4, seed=seed)
            ranking = ranker.rank(some_query(seed=seed))
            ranker.update(ranking, np.arange(4) == 0)
            moves[cls] += bool(ranker.weights.any())
    assert moves[DPDBGD] > 1.6 * moves[DBGD]


def test_axes_take_turns_both_ways():
    ranker = MPDGD(5, axes=2, seed=0)
    seen = []
    for _ in range(5):
        directions = ranker.rank(some_query(d=5)).memory["directions"]
        assert np.array_equal(directions[:2], -directions[2:])
        seen += np.flatnonzero(directions[:2].any(axis=0)).tolist()
    assert sorted(seen) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert MPDGD(3, axes=9, seed=0).rank(some_query(d=3)).memory["directions"].shape == (6, 3)


@pytest.mark.parametrize("cls", [MGD, PMGD])
def test_counts_below_one_are_refused(cls):
    with pytest.raises(ArgumentError, match="candidates: expected"):
        cls(3, candidates=0)
    with pytest.raises(ArgumentError, match="step: expected"):
        cls(3, step=0.0)
