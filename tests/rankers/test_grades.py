"""Clicks of different worth: grades of preference, and rewards."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp import PDGD, FairCo, FairExp, PairRank, Query
from fairexp.errors import ArgumentError
from fairexp.ranker import Ranker
from fairexp.rankers import DBGD
from fairexp.rankers.pairrank.pairs import examined, graded_rows, preference_rows


def brute_force(features: np.ndarray, grades: np.ndarray) -> set[tuple[float, ...]]:
    n_seen = examined(grades > 0)
    pairs = [(i, j) for i in range(n_seen) for j in range(n_seen) if grades[i] > grades[j]]
    return {tuple(features[i] - features[j]) for i, j in pairs}


@pytest.mark.parametrize("seed", range(20))
def test_every_pair_of_different_grades_is_a_preference_and_with_keys_each_document_is_in_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grades = rng.choice([0, 0, 0, 1, 1, 2, 3], size=9)
    features = np.eye(9)
    rows = graded_rows(features, grades)
    assert {tuple(row) for row in rows} == brute_force(features, grades) and len(rows) == len(set(map(tuple, rows)))
    matched = graded_rows(features, grades, rng.random(9))
    assert {tuple(row) for row in matched} <= brute_force(features, grades)
    in_pairs = np.abs(matched).sum(axis=0)
    assert in_pairs.max(initial=0.0) <= 1.0
    alone = [grades[place] for place in range(examined(grades > 0)) if not in_pairs[place]]
    assert len(set(alone)) <= 1  # no two that could still be matched
    binary = graded_rows(features, np.where(grades > 0, 1, 0), keys := rng.random(9))
    assert binary.tobytes() == preference_rows(features, grades > 0, keys).tobytes()


def test_a_preference_makes_pairrank_as_sure_however_far_the_grades_are_apart() -> None:
    query = Query(features=np.eye(4))
    rankers = [PairRank(4, length=4, pairs="all", seed=1) for _ in range(2)]
    for ranker, worth in zip(rankers, (2, 9), strict=True):
        ranking = ranker.rank(query)
        ranker.update(ranking, [True, True, False, False], grades=[1, worth, 0, 0])
    one, two = (ranker.state() for ranker in rankers)
    assert all(np.array_equal(one[key], two[key]) for key in one if key.startswith(("model.", "confidence.")))


def taught(ranker: Ranker, grades: list[int] | None) -> np.ndarray:
    ranking = ranker.rank(Query(features=np.eye(4), groups=[0, 1, 0, 1]))
    clicks = np.array([True, True, False, False])
    ranker.update(ranking, clicks, grades=grades)
    scores = ranker.score(np.eye(4))
    return np.asarray(scores[ranking.shown])


@pytest.mark.parametrize(
    "make",
    [
        lambda: PairRank(4, length=4, pairs="all", seed=1),
        lambda: PDGD(4, length=4, seed=1),
        lambda: FairCo(4, length=4, seed=1),
        lambda: FairExp(PairRank(4, length=4, pairs="all", seed=1), tolerance=5.0, seed=1),
    ],
)
def test_what_is_worth_more_is_liked_more_and_equal_grades_are_clicks(make: object) -> None:
    assert callable(make)
    ranker: Ranker = make()
    assert ranker.uses_grades
    before = taught(make(), None)
    assert taught(make(), [1, 1, 0, 0]).tobytes() == before.tobytes()
    after = taught(ranker, [1, 2, 0, 0])
    assert after[1] - after[0] > before[1] - before[0]
    assert after[0] > after[2]


def test_dbgd_weighs_clicks_by_their_worth_in_a_team_draft() -> None:
    query = Query(features=np.random.default_rng(0).random((6, 3)))
    for seed in range(40):
        ranker = DBGD(3, length=4, seed=seed)
        ranking = ranker.rank(query)
        credit = np.asarray(ranking.memory["credit"])
        if not {0, 1} <= set(credit.tolist()):
            continue
        rival, own = credit.tolist().index(1), credit.tolist().index(0)
        clicks = np.isin(np.arange(len(ranking)), [rival, own])
        before = ranker.weights.copy()
        ranker.update(ranking, clicks)
        assert np.array_equal(ranker.weights, before)  # a tie
        ranker.update(ranking, clicks, grades=np.where(np.arange(len(ranking)) == rival, 2, clicks.astype(int)))
        assert not np.array_equal(ranker.weights, before)
        return
    raise AssertionError("no draft with picks of both")


@pytest.mark.parametrize("grades", [[1, 0, 0], [1, 1], [1.5, 1, 0], [-1, 1, 0], [1, 1, 1]])
def test_grades_that_do_not_fit_the_clicks_are_refused(grades: list[float]) -> None:
    ranker = PairRank(3, length=3, seed=0)
    ranking = ranker.rank(Query(features=np.eye(3)))
    with pytest.raises(ArgumentError, match="grades"):
        ranker.update(ranking, [True, True, False], grades=grades)
