"""PairRank: certain orders, blocks, draws, pairs from clicks, and learning."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from fairexp import FairExp, PairRank, Query
from fairexp.errors import ArgumentError, ForeignRankingError
from fairexp.rankers.pairrank import ranker as pairrank
from fairexp.rankers.pairrank.pairs import examined, matching_weight, preference_rows, scatter_rows
from tests.reference import pairrank as reference


def believer(rng, d, *, alpha, **options):
    """A PairRank with a random theta and M that calls certain what it keeps."""
    ranker = PairRank(d, alpha=alpha, regularization=0.5, certainty="paper", seed=0, **options)
    ranker.model.theta = rng.normal(size=d) * 2
    ranker.confidence.add(rng.normal(size=(rng.integers(1, 30), d)))
    return ranker


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    d=st.integers(1, 4),
    alpha=st.sampled_from([0.0, 0.05, 0.2, 1.0]),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_certain_orders_and_blocks_equal_the_papers_construction(seed, n, d, alpha):
    rng = np.random.default_rng(seed)
    ranker = believer(rng, d, alpha=alpha)
    features = rng.random((n, d))
    features[rng.integers(n)] = features[rng.integers(n)]  # duplicates are never certain
    belief = ranker.believe(Query(features))
    expected = reference.certain_orders(belief.scores, features, ranker.confidence.inverse, alpha)
    assert np.array_equal(belief.certain_order, expected)
    assert np.array_equal(belief.block, reference.blocks(expected))


@pytest.mark.parametrize("alpha", [0.001, 0.02, 0.2])
@pytest.mark.parametrize("spread", [0.1, 3.0])
def test_slabs_of_rows_change_nothing(monkeypatch, alpha, spread):
    """Many candidates are compared a slab at a time, and far ones not at all: the same relation as pair by pair."""
    rng = np.random.default_rng(0)
    ranker = believer(rng, 5, alpha=alpha)
    ranker.model.theta *= spread
    features = rng.random((60, 5))
    expected = reference.certain_orders(
        features @ ranker.model.theta, features, ranker.confidence.inverse, ranker.width_factor
    )
    for slab in (1, 7, 64):
        monkeypatch.setattr(pairrank, "SLAB", slab)
        belief = ranker.believe(Query(features))
        assert np.array_equal(belief.certain_order, expected)
        assert np.array_equal(belief.block, reference.blocks(expected))


def test_ten_thousand_candidates_in_bounded_memory():
    """The relation itself takes n^2 bytes; nothing of n^2 floats (800 MB) is ever held."""
    rng = np.random.default_rng(1)
    ranker = FairExp(PairRank(8, length=50, seed=0), tolerance=0.1)
    ranker.host.model.theta = rng.normal(size=8)
    query = Query(rng.random((10_000, 8)), rng.integers(0, 2, 10_000))
    ranker.rank(Query(query.features[:100], query.groups[:100]))
    tracemalloc.start()
    ranking = ranker.rank(query)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(set(ranking.shown)) == 50
    assert peak < 200e6


def test_diagonal_widths_are_those_of_the_diagonal():
    rng = np.random.default_rng(0)
    ranker = PairRank(3, width="diagonal", regularization=0.5, certainty="paper", seed=0)
    rows = rng.normal(size=(9, 3))
    ranker.confidence.add(rows)
    ranker.model.theta = rng.normal(size=3)
    features = rng.random((12, 3))
    inverse = np.diag(1.0 / (0.5 + (rows**2).sum(axis=0)))
    expected = reference.certain_orders(features @ ranker.model.theta, features, inverse, 0.1)
    assert np.array_equal(ranker.believe(Query(features)).certain_order, expected)


@given(seed=st.integers(0, 2**32 - 1), within=st.sampled_from(["certain", "random", "score"]))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_draws_respect_blocks_and_what_they_promise(seed, within):
    rng = np.random.default_rng(seed)
    ranker = believer(rng, 3, alpha=0.1, within_block=within)
    belief = ranker.believe(Query(rng.random((15, 3))))
    assert sorted(belief.draw) == list(range(15))
    assert (np.diff(belief.block[belief.draw]) >= 0).all()
    in_order = belief.certain_order[np.ix_(belief.draw, belief.draw)]
    if within != "random":
        assert not np.tril(in_order).any()
    if within == "score":
        assert (np.diff(belief.scores[belief.draw]) <= 0).all()


@pytest.mark.parametrize("within", ["certain", "random"])
def test_first_round_is_one_block_and_uniform(within):
    """theta = 0: all 24 permutations alike; chi-squared with 23 degrees of freedom at the .001 level."""
    ranker = PairRank(2, length=4, within_block=within, seed=1)
    query = Query(np.random.default_rng(0).random((4, 2)))
    assert ranker.believe(query).block.tolist() == [0, 0, 0, 0]
    counts = Counter(tuple(ranker.rank(query).shown) for _ in range(4800))
    observed = [counts[p] for p in permutations(range(4))]
    assert chisquare(observed).pvalue > 0.001


def test_alpha_zero_gives_one_block_per_score():
    ranker = PairRank(1, alpha=0.0, seed=0)
    ranker.model.theta = np.array([1.0])
    assert ranker.believe(Query([[3.0], [1.0], [3.0], [2.0]])).block.tolist() == [0, 2, 0, 1]


def test_pairs_reach_one_below_the_last_click():
    features = np.eye(4)
    rows = preference_rows(features, np.array([False, True, False, False]))
    assert rows.tolist() == [[-1, 1, 0, 0], [0, 1, -1, 0]]  # rank 4 was not examined
    assert len(preference_rows(features, np.array([True] * 4))) == 0
    assert len(preference_rows(features, np.array([False] * 4))) == 0
    assert len(preference_rows(features, np.array([True, False, True, False]))) == 4


@given(seed=st.integers(0, 2**32 - 1), clicks=st.lists(st.booleans(), min_size=1, max_size=10))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_independent_pairs_use_each_document_at_most_once(seed, clicks):
    shown = np.array(clicks)
    keys = np.random.default_rng(seed).random(len(shown))
    independent = preference_rows(np.eye(len(shown)), shown, keys)
    every = preference_rows(np.eye(len(shown)), shown)
    assert (np.abs(independent).sum(axis=0) <= 1).all()
    assert {tuple(row) for row in independent} <= {tuple(row) for row in every}
    seen = shown[: np.flatnonzero(shown)[-1] + 2] if shown.any() else shown[:0]
    assert len(independent) == min(seen.sum(), (~seen).sum())


def test_theoretical_alpha_follows_lemma_1():
    ranker = PairRank(3, alpha="theory", regularization=0.2, delta=0.1, noise=0.5, bound=2.0, reach=1.5)
    rows = np.random.default_rng(0).normal(size=(7, 3))
    ranker.confidence.add(rows)
    matrix = 0.2 * np.eye(3) + rows.T @ rows
    slope = 1 / (1 + np.exp(-3.0)) * (1 - 1 / (1 + np.exp(-3.0)))
    determinants = np.linalg.det(matrix) / (0.1**2 * 0.2**3)
    expected = 2 * 0.25 / slope * (np.sqrt(0.25 * np.log(determinants)) + np.sqrt(0.2) * 2.0)
    assert ranker.width_factor == pytest.approx(expected)
    assert ranker.believe(Query(np.eye(3))).block.tolist() == [0, 0, 0]


@pytest.mark.parametrize("options", [{}, {"pairs": "independent"}, {"history": "full"}, {"within_block": "score"}])
def test_learns_a_linear_truth(options):
    """After 400 rounds of clicks on the better half, the scores order unseen documents almost as the truth does."""
    rng = np.random.default_rng(0)
    truth = np.array([2.0, -1.0, 0.5])
    ranker = PairRank(3, length=6, seed=3, **options)
    for _ in range(400):
        features = rng.random((12, 3))
        ranking = ranker.rank(Query(features))
        utility = ranking.features @ truth
        ranker.update(ranking, utility > np.median(features @ truth))
    unseen = rng.random((200, 3))
    agreement = np.corrcoef(ranker.score(unseen), unseen @ truth)[0, 1]
    assert agreement > 0.98


@pytest.mark.parametrize(
    ("features", "length"),
    [
        (np.ones((1, 2)), 10),
        (np.ones((5, 2)), 3),
        (np.zeros((5, 2)), 5),
        (np.array([[1.0, 0.0]] * 3 + [[0.0, 0.0]]), 10),
    ],
    ids=["one candidate", "duplicates", "zero features", "fewer than positions"],
)
@pytest.mark.parametrize("clicked", ["all", "none", "first"])
def test_corner_cases_are_defined(features, length, clicked):
    ranker = PairRank(2, length=length, seed=0)
    for _ in range(5):
        ranking = ranker.rank(Query(features))
        assert len(set(ranking.shown)) == len(ranking.shown) == min(length, len(features))
        clicks = np.full(len(ranking), clicked == "all")
        clicks[0] |= clicked == "first"
        ranker.update(ranking, clicks)
    assert np.isfinite(ranker.score(features)).all()


def test_one_feature():
    ranker = PairRank(1, length=2, seed=0)
    for _ in range(30):
        ranking = ranker.rank(Query([[0.0], [1.0], [2.0]]))
        ranker.update(ranking, ranking.features[:, 0] == ranking.features.max())
    assert ranker.model.theta[0] > 0


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("n_features", 0),
        ("n_features", 2.5),
        ("length", 0),
        ("alpha", -1),
        ("alpha", "big"),
        ("regularization", 0),
        ("within_block", "sorted"),
        ("pairs", "some"),
        ("history", "none"),
        ("window", 0),
        ("delta", 1.0),
        ("delta", 0.0),
        ("noise", -1.0),
        ("seed", -1),
        ("seed", "seven"),
    ],
)
def test_bad_parameters_are_named(argument, value):
    arguments = {"n_features": 3, argument: value}
    with pytest.raises(ArgumentError) as error:
        PairRank(arguments.pop("n_features"), **arguments)
    assert error.value.argument == argument


def test_bad_feedback_changes_nothing():
    ranker, other = PairRank(2, length=3, seed=0), PairRank(2, length=3, seed=0)
    query = Query(np.random.default_rng(0).random((4, 2)))
    ranking, foreign = ranker.rank(query), other.rank(query)
    before = ranker.state()
    for clicks in ([True], [True, False, 2], [0.5, 0, 0], ["a", "b", "c"], [[True, False, True]]):
        with pytest.raises(ArgumentError, match="clicks"):
            ranker.update(ranking, clicks)
    with pytest.raises(ForeignRankingError, match="not shown by this PairRank"):
        ranker.update(foreign, [True, False, False])
    with pytest.raises(ArgumentError, match="ranking"):
        ranker.update("ranking", [True, False, False])
    after = ranker.state()
    assert all(np.array_equal(before[key], after[key]) for key in before)


@pytest.mark.parametrize(
    ("features", "groups", "argument"),
    [
        ([[1.0, np.nan]], None, "features"),
        ([[1.0, np.inf]], None, "features"),
        ([[1e200, 0.0]], None, "features"),
        ([1.0, 2.0], None, "features"),
        (np.zeros((0, 2)), None, "features"),
        ([["a", "b"]], None, "features"),
        ([[1j, 2j]], None, "features"),
        ([[1.0, 2.0]], [0, 1], "groups"),
        ([[1.0, 2.0]], [-1], "groups"),
        ([[1.0, 2.0]], [0.5], "groups"),
        ([[1.0, 2.0]], ["a"], "groups"),
    ],
)
def test_bad_queries_are_named(features, groups, argument):
    with pytest.raises(ArgumentError) as error:
        Query(features=features, groups=groups)
    assert error.value.argument == argument


@given(
    seed=st.integers(0, 2**32 - 1), n_clicked=st.integers(1, 9), n_unclicked=st.integers(1, 9), far=st.floats(0, 1e3)
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_scatter_rows_have_the_sum_of_squares_of_all_pairs(seed, n_clicked, n_unclicked, far):
    rng = np.random.default_rng(seed)
    clicks = rng.permutation(np.repeat([True, False], [n_clicked, n_unclicked]))
    features = rng.normal(size=(len(clicks), 4)) + far
    pairs = (features[clicks][:, None] - features[~clicks]).reshape(-1, 4)
    rows = scatter_rows(features, clicks)
    assert len(rows) == len(clicks) + 1
    np.testing.assert_allclose(rows.T @ rows, pairs.T @ pairs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("pairs", ["averaged", "all", "independent"])
@pytest.mark.parametrize("n_clicked", [1, 3, 8, 12])
def test_m_is_the_plain_sum_over_pairs(pairs, n_clicked):
    """Where pairs are many M is told of them by fewer rows."""
    rng = np.random.default_rng(n_clicked)
    ranker = PairRank(12, length=17, pairs=pairs, regularization=0.5, seed=0)
    expected = ranker.confidence.matrix
    for _ in range(5):
        ranking = ranker.rank(Query(rng.normal(size=(20, 12))))
        clicks = np.append(rng.permutation(16) < n_clicked, False)
        rows = preference_rows(ranking.features, clicks, ranking.memory.get("keys"))
        weight = matching_weight(clicks, examined(clicks)) if pairs == "averaged" else 1.0
        ranker.update(ranking, clicks)
        expected = expected + weight * rows.T @ rows
        np.testing.assert_allclose(ranker.confidence.matrix, expected, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(ranker.confidence.inverse, np.linalg.inv(expected), rtol=1e-8, atol=1e-10)
