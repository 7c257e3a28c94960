"""NSGD: candidates keep away from what lost, hard queries decide between winners, and it learns."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp.checks import check_ranker
from fairexp.rankers.gradient.hard_queries import KEPT, WINDOW, HardQueries
from fairexp.rankers.gradient.nsgd import NSGD
from fairexp.types import Query
from tests.rankers.simulation import learn, small_world


def some_query(n=30, d=12, seed=0):
    return Query(features=np.random.default_rng(seed).random((n, d)))


def played(ranker, n_rounds):
    """The ranker after some rounds with clicks at random."""
    rng = np.random.default_rng(0)
    for number in range(n_rounds):
        ranking = ranker.rank(some_query(d=ranker.n_features, seed=number))
        ranker.update(ranking, rng.random(len(ranking)) < 0.3)
    return ranker


def test_keeps_the_contract_when_memory_is_full():
    check_ranker(lambda seed: NSGD(5, losers=6, avoided=3, decay=0.99, seed=seed))


def test_candidates_are_orthogonal_to_the_directions_that_lost_worst():
    ranker = played(NSGD(12, losers=8, avoided=4, seed=1), 40)
    lost = ranker.state()["lost"]
    assert len(lost) == 8 and (lost[:, -1] < 0).all()
    worst = lost[np.argsort(lost[:, -1], kind="stable")[:4], :-1]
    for seed in range(20):
        directions = ranker.rank(some_query(seed=seed)).memory["directions"]
        assert directions.shape == (9, 12)
        assert np.linalg.norm(directions, axis=1) == pytest.approx(np.ones(9))
        assert np.abs(directions @ worst.T).max() < 1e-8


def test_half_of_the_dimensions_stay_open_however_much_lost():
    ranker = played(NSGD(4, seed=1), 60)
    directions = np.concatenate([ranker.rank(some_query(d=4)).memory["directions"] for _ in range(20)])
    assert np.linalg.matrix_rank(directions, tol=1e-8) == 2


def test_candidates_are_those_in_which_the_mean_document_is_largest():
    ranker = NSGD(6, candidates=3, seed=2)
    query = Query(features=np.tile([10.0, 0, 0, 0, 0, 0], (5, 1)))
    chosen = np.abs(ranker.rank(query).memory["directions"][:, 0])
    rng = NSGD(6, candidates=3, seed=2).stream.at(0)
    offered = rng.standard_normal((8, 6))
    offered = np.abs(offered[:, 0]) / np.linalg.norm(offered, axis=1)
    assert sorted(chosen) == pytest.approx(sorted(offered)[-3:])


def test_only_losers_and_at_most_four_of_a_round_are_remembered():
    ranker = NSGD(6, candidates=9, length=10, seed=0)
    ranking = ranker.rank(some_query(d=6))
    team = ranking.memory["credit"]
    ranker.update(ranking, team == 0)  # the current ranker alone has a click, so all nine lose
    assert int(ranker.state()["n_lost"]) == 4
    assert not ranker.weights.any()
    ranker.update(ranking, team > 0)  # nobody loses
    assert int(ranker.state()["n_lost"]) == 4


def test_of_several_winners_the_one_is_followed_that_finds_what_was_clicked_before():
    ranker = NSGD(2, candidates=9, length=10, learning_rate=1.0, seed=4)
    first = ranker.rank(Query(features=np.array([[1.0, 0.0], [0.0, 1.0]])))
    ranker._hard.add(first, first.features[:, 0] > 0.5)  # clicked: the document with the first feature
    ranking = ranker.rank(some_query(d=2))
    team, directions = ranking.memory["credit"], ranking.memory["directions"]
    winners = np.unique(team[team > 0])
    ranker.update(ranking, team > 0)
    finding = [w for w in winners if directions[w - 1, 0] > directions[w - 1, 1]]
    assert 0 < len(finding) < len(winners)
    assert ranker.weights == pytest.approx(directions[finding[0] - 1])


def test_the_hardest_rankings_of_the_window_are_kept():
    hard = HardQueries(10, 3)
    ranking = NSGD(3, seed=0).rank(some_query(d=3))
    for position in (0, 9, 5):
        hard.add(ranking, np.arange(10) == position)
    assert hard.count == 3 and sorted(hard.found[:3]) == pytest.approx([1 / 10, 1 / 6, 1])
    for _ in range(KEPT):
        hard.add(ranking, np.arange(10) == 4)
    assert hard.count == KEPT and hard.found.max() == pytest.approx(1 / 5)  # the easiest made room
    for _ in range(WINDOW):
        hard.add(ranking, np.arange(10) == 0)
    assert hard.found[hard.size > 0].tolist() == [1.0] * KEPT  # whatever else there was is out of the window


def test_models_are_judged_by_one_over_the_rank_of_what_was_clicked():
    hard = HardQueries(4, 3)
    ranking = NSGD(3, length=4, seed=0).rank(Query(features=np.eye(3)))
    hard.add(ranking, ranking.shown == 1)
    models = np.array([[0.0, 1.0, 2.0], [0.0, 3.0, 2.0], [1.0, 0.0, 2.0]])
    assert hard.found_by(models) == pytest.approx([1 / 2, 1, 1 / 3])


def test_learns_a_linear_truth():
    features, grades = small_world(seed=1)
    assert learn(NSGD(10, seed=4), features, grades, 2000, seed=5) >= 0.95
