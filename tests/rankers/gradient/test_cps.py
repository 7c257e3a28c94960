"""CPS: past lists say of new rankers what live ones would, and choosing by them helps."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from fairexp.checks import check_ranker
from fairexp.errors import StateError
from fairexp.rankers.gradient.cps import CPS
from fairexp.rankers.gradient.dbgd import DBGD
from fairexp.rankers.gradient.history import History
from fairexp.remap import Remap
from fairexp.types import Query
from tests.rankers.simulation import learn, small_world
from tests.reference.interleaving import chances_of, expected_sign


def order(scores):
    return np.argsort(-scores).tolist()


def test_keeps_the_contract():
    check_ranker(lambda seed: CPS(5, history=3, replays=2, max_candidates=12, decay=0.99, seed=seed))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("m", [1, 2, 4])
def test_over_all_lists_of_the_old_rankers_the_mean_is_that_of_a_live_comparison(seed, m):
    """Four documents, two of them attractive; every list that could have been shown, with its probability."""
    rng = np.random.default_rng(seed)
    logged, fresh = rng.random((2, 4)), rng.random((2, 4))
    attractive = rng.permutation(4) < 2
    from_past = live = total = 0.0
    for shown in permutations(range(4), m):
        clicks = attractive[list(shown)]
        by_logged = chances_of([order(row) for row in logged], shown)
        by_fresh = chances_of([order(row) for row in fresh], shown)
        chance = by_logged.mean(axis=1).prod()
        total += chance
        history = History(1, m, 4, 4)
        documents = [*shown, *(d for d in range(4) if d not in shown)]  # those shown come first
        history.add(np.eye(4)[documents], clicks, float(np.log(chance)))
        (said,) = history.said(history.chances(np.zeros(4), fresh, 1.0, rng.random(4)), 0, 1)
        from_past += chance * said
        live += by_fresh.mean(axis=1).prod() * expected_sign(by_fresh[clicks], 1, 0)
    assert total == pytest.approx(1.0)
    assert from_past == pytest.approx(live, abs=1e-9)


def test_the_chance_of_a_list_is_remembered_with_it():
    ranker = CPS(3, length=2, seed=1)
    ranker.weights = np.array([1.0, 2.0, 3.0])
    ranking = ranker.rank(Query(features=np.random.default_rng(0).random((5, 3))))
    assert ranking.memory["others"].shape == (3, 3)
    expected = np.log(ranking.memory["credit"].mean(axis=1)).sum()
    assert float(ranking.memory["log_chance"]) == pytest.approx(expected)


def test_only_lists_with_clicks_are_kept_and_the_oldest_goes():
    ranker = CPS(3, length=4, history=2, seed=1)
    rankings = [ranker.rank(Query(features=np.random.default_rng(n).random((6, 3)))) for n in range(4)]
    for ranking, clicked in zip(rankings, (True, False, True, True), strict=True):
        ranker.update(ranking, np.arange(4) == (0 if clicked else 9))
    state = ranker.state()
    assert int(state["history.now"]) == 3
    kept = {tuple(row) for row in state["history.features"][:, 0].tolist()}
    assert kept == {tuple(rankings[2].features[0].tolist()), tuple(rankings[3].features[0].tolist())}


def test_of_many_candidates_those_shown_and_the_best_are_kept():
    ranker = CPS(1, length=2, max_candidates=5, seed=1)
    ranker.weights = np.array([1.0])
    features = np.arange(20.0)[:, None]
    ranking = ranker.rank(Query(features=features))
    others = ranking.memory["others"][:, 0].tolist()
    rest = sorted(set(range(20)) - set(ranking.shown.tolist()), reverse=True)
    assert others == rest[:3]


def test_the_tournament_goes_to_the_direction_that_past_clicks_prefer():
    """Clicks were always on the document with the larger first feature, so rivals should weigh it more."""
    ranker = CPS(2, length=2, seed=3, replays=5)
    rng = np.random.default_rng(0)
    for _ in range(30):
        ranking = ranker.rank(Query(features=rng.random((6, 2))))
        ranker.update(ranking, np.arange(2) == np.argmax(ranking.features[:, 0]))
    ranker.weights = np.zeros(2)
    query = Query(features=rng.random((6, 2)))
    chosen = np.array([ranker.rank(query).memory["directions"][0] for _ in range(60)])
    assert (chosen[:, 0] > 0).mean() > 0.75


def test_history_of_another_size_is_not_taken_over():
    remap = Remap.by_name(["a", "b"], before=["a", "b"])
    with pytest.raises(StateError, match="history"):
        CPS(2, history=3).take_over(CPS(2, history=4), remap)


def test_learns_a_linear_truth():
    features, grades = small_world(seed=1)
    assert learn(CPS(10, seed=4), features, grades, 2000, seed=5) >= 0.95


def test_learns_faster_than_dbgd_with_the_same_interleaving():
    """The published ordering. Runs vary much: of ten pairs the mean difference has a standard error of about .02."""
    features, grades = small_world(seed=1)
    seeds = range(100, 110)
    ours = [learn(CPS(10, seed=seed), features, grades, 600, seed=seed) for seed in seeds]
    plain = [DBGD(10, interleaving="probabilistic", seed=seed) for seed in seeds]
    theirs = [learn(ranker, features, grades, 600, seed=seed) for ranker, seed in zip(plain, seeds, strict=True)]
    assert np.mean(ours) > np.mean(theirs) + 0.02
