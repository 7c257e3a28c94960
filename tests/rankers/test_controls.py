"""Controls: what they are certain of, that the rest is chance, and what the oracle refuses."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp.checks import all_queries, check_ranker
from fairexp.errors import ArgumentError, CannotScoreError
from fairexp.rankers.baselines.controls import FixedScores, Oracle, RandomRanker
from fairexp.types import Query

GRADES = {"q": [0, 2, 1, 2, 0]}


def graded_query():
    return Query(features=np.zeros((5, 3)), groups=[0, 1, 0, 1, 0], query_id="q")


def known_grades():
    return {query.query_id: np.floor(3 * query.features[:, 0]) for query in all_queries(5, 2, seed=0)}


@pytest.mark.parametrize(
    "factory",
    [
        lambda seed: RandomRanker(5, seed=seed),
        lambda seed: FixedScores([1.0, 0.0, -2.0, 0.5, 0.0], seed=seed),
        lambda seed: Oracle(known_grades(), 5, length=4, seed=seed),
    ],
    ids=["random", "fixed scores", "oracle"],
)
def test_keeps_the_contract(factory):
    check_ranker(factory)


def test_random_rankings_are_uniform_and_nothing_is_certain():
    ranker = RandomRanker(2, length=3, seed=1)
    query = Query(features=np.random.default_rng(0).random((4, 2)))
    counts = np.zeros((4, 3))
    for _ in range(4000):
        counts[ranker.rank(query).shown, np.arange(3)] += 1
    assert ((counts - 1000.0) ** 2 / 1000.0).sum() < 30.0  # about 9 degrees of freedom; p = .001 at 27.9
    belief = ranker.believe(query)
    assert not belief.certain_order.any()
    assert belief.block.tolist() == [0, 0, 0, 0]
    assert sorted(belief.draw) == [0, 1, 2, 3]


def test_fixed_scores_order_what_differs_and_shuffle_what_ties():
    ranker = FixedScores([1.0], seed=0)
    belief = ranker.believe(Query(features=[[1.0], [3.0], [1.0], [2.0]]))
    assert belief.scores.tolist() == [1.0, 3.0, 1.0, 2.0]
    assert belief.block.tolist() == [2, 0, 2, 1]
    assert belief.draw[:2].tolist() == [1, 3]
    assert belief.certain_order.sum(axis=1).tolist() == [0, 3, 0, 2]
    last = {int(ranker.rank(Query(features=[[1.0], [3.0], [1.0]])).shown[-1]) for _ in range(50)}
    assert last == {0, 2}


@pytest.mark.parametrize("d", [1, 3, 7, 46, 136])
def test_equal_documents_get_equal_scores_and_share_a_block(d):
    rng = np.random.default_rng(d)
    rows = rng.random((5, d))
    ranker = FixedScores(rng.standard_normal(d))
    belief = ranker.believe(Query(features=np.tile(rows, (9, 1))))
    assert belief.scores[:5] == pytest.approx(rows @ ranker.weights)
    assert belief.block.max() == 4
    assert np.array_equal(belief.block, np.tile(belief.block[:5], 9))


def test_fixed_scores_take_any_numbers_and_restore_their_weights():
    one, two = FixedScores([1, 2]), FixedScores([0.0, 0.0])
    two.restore(one.state())
    assert two.score([[1.0, 1.0]]).tolist() == [3.0]
    for bad in ([], 1.0, [[1.0]], ["a"], [np.nan]):
        with pytest.raises(ArgumentError, match="weights: expected"):
            FixedScores(bad)


def test_oracle_shows_the_best_first_and_its_blocks_are_the_grades():
    oracle = Oracle(GRADES, 3, length=4, seed=0)
    tops = set()
    for _ in range(30):
        ranking = oracle.rank(graded_query())
        tops.add(tuple(ranking.shown[:2].tolist()))
        assert ranking.scores.tolist() == [2.0, 2.0, 1.0, 0.0]
    assert tops == {(1, 3), (3, 1)}
    belief = oracle.believe(graded_query())
    grades = np.array(GRADES["q"])
    assert belief.block.tolist() == [2, 0, 1, 0, 2]
    assert np.array_equal(belief.certain_order, grades[:, None] > grades)


def test_oracle_refuses_what_it_does_not_know():
    oracle = Oracle(GRADES, 3)
    before = oracle.state()
    with pytest.raises(ArgumentError, match=r"query\.query_id: expected one of the 1 query ids in grades, got 'other'"):
        oracle.rank(Query(features=np.zeros((5, 3)), query_id="other"))
    with pytest.raises(ArgumentError, match=r"query\.query_id: .* got None"):
        oracle.rank(Query(features=np.zeros((5, 3))))
    with pytest.raises(ArgumentError, match=r"grades\['q'\]: expected one number for each of the query's 2"):
        oracle.rank(Query(features=np.zeros((2, 3)), query_id="q"))
    with pytest.raises(ArgumentError, match="finite"):
        Oracle({"q": [np.nan]}, 3).rank(Query(features=np.zeros((1, 3)), query_id="q"))
    with pytest.raises(ArgumentError, match="grades: expected a mapping"):
        Oracle([1, 2], 3)
    with pytest.raises(CannotScoreError, match="cannot score unseen"):
        oracle.score(np.zeros((2, 3)))
    assert not Oracle.scores_unseen
    assert all(np.array_equal(value, before[key]) for key, value in oracle.state().items())


def test_believe_draws_from_the_generator_it_is_given():
    ranker = RandomRanker(2, seed=1)
    query = Query(features=np.zeros((20, 2)))
    before = ranker.state()
    one = ranker.believe(query, np.random.default_rng(9)).draw
    two = ranker.believe(query, np.random.default_rng(9)).draw
    assert np.array_equal(one, two)
    assert all(np.array_equal(value, before[key]) for key, value in ranker.state().items())
