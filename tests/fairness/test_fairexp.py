"""FairExp around its hosts: what is promised in every round, and what it leaves alone."""

from __future__ import annotations

import warnings
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from fairexp import PDGD, FairExp, PairRank, Query, RandomRanker
from fairexp.errors import ArgumentError, ForeignRankingError, StateError, ToleranceWarning
from fairexp.rankers import DBGD, FixedScores


def serve(ranker, *, rounds, n=20, n_groups=2, seed=0, share=0.5):
    """Rounds on random queries with clicks on the better half; yields each ranking."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=ranker.n_features)
    for _ in range(rounds):
        features = rng.random((n, ranker.n_features))
        groups = (rng.random(n) > share).astype(int) if n_groups == 2 else rng.integers(0, n_groups, n)
        ranking = ranker.rank(Query(features, groups))
        ranker.update(ranking, ranking.features @ truth > np.median(features @ truth))
        yield ranking


def make(host=None, **options):
    options = {"tolerance": 0.1, "seed": 7, **options}
    return FairExp(host or PairRank(4, length=8, alpha=0.05), **options)


@pytest.mark.parametrize("ties", ["draw", "fairest"])
@pytest.mark.parametrize("beta", [0.5, 1.0, 1.22])
@pytest.mark.parametrize("exposure", ["reciprocal", "logarithmic"])
def test_unfairness_stays_within_the_tolerance_while_rounds_are_qualified(ties, beta, exposure):
    ranker = make(beta=beta, exposure=exposure, ties=ties, tolerance=0.2)
    total = np.zeros(2)
    for ranking in serve(ranker, rounds=300, n=40):
        for group, amount in zip(ranking.template, ranking.exposure, strict=True):
            total[group] += amount
        assert ranking.qualified
        assert abs(total[0] - beta * total[1]) <= 0.2 + 1e-9
        assert ranking.unfairness == ranker.ledger.unfairness == pytest.approx(total[0] - beta * total[1], abs=1e-9)
    assert ranker.ledger.exposure == pytest.approx(total)


def test_three_groups_keep_every_pair_within_the_tolerance():
    shares = np.array([2.0, 1.0, 1.0])
    ranker = make(shares=shares, tolerance=0.3)
    qualified = 0
    for ranking in serve(ranker, rounds=200, n=30, n_groups=3):
        gaps = ranker.ledger.exposure[:, None] - shares[:, None] / shares[None, :] * ranker.ledger.exposure[None, :]
        assert ranker.ledger.unfairness == pytest.approx(gaps)
        if ranking.qualified:
            qualified += 1
            assert np.abs(np.triu(gaps, 1)).max() <= 0.3 + 1e-9
    assert qualified > 150


@given(seed=st.integers(0, 2**32 - 1), share=st.sampled_from([0.0, 0.1, 0.5, 1.0]), n=st.integers(1, 12))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_whatever_comes_a_qualified_round_is_fair_and_another_could_not_be(seed, share, n):
    ranker = make(PairRank(3, length=5), tolerance=0.3)
    for ranking in serve(ranker, rounds=15, n=n, seed=seed, share=share):
        assert ranking.qualified == (abs(ranker.ledger.unfairness) <= 0.3 + 1e-9)
        assert len(set(ranking.shown)) == min(5, n)


@pytest.mark.parametrize("within", ["certain", "random", "score"])
def test_without_a_limit_it_is_its_host(within):
    """Tolerance infinity and the same seed: the same rankings, bit for bit, while both learn."""
    host = PairRank(4, length=8, within_block=within, seed=3)
    fair = make(PairRank(4, length=8, within_block=within), tolerance=np.inf, seed=3)
    for own, other in zip(serve(host, rounds=150), serve(fair, rounds=150), strict=True):
        assert np.array_equal(own.shown, other.shown)
        assert other.added_regret == 0
        assert other.qualified


@pytest.mark.parametrize("group", [0, 1])
def test_queries_of_one_group_give_the_host(group):
    host, fair = PairRank(4, length=8, seed=3), make(PairRank(4, length=8), seed=3)
    own = serve(host, rounds=40, share=float(group == 0))
    for a, b in zip(own, serve(fair, rounds=40, share=float(group == 0)), strict=True):
        assert np.array_equal(a.shown, b.shown)
        assert b.added_regret == 0


@pytest.mark.parametrize("ties", ["draw", "fairest"])
def test_exploration_inside_a_group_is_uniform(ties):
    """Three documents of group 0 in one block, always all shown: each of 6 orders alike (5 degrees of freedom)."""
    query = Query(np.random.default_rng(0).random((6, 2)), [0, 0, 0, 1, 1, 1])
    ranker = make(PairRank(2, length=6), ties=ties)
    counts = Counter()
    for _ in range(3000):
        shown = ranker.rank(query).shown  # no feedback: nothing ever becomes certain
        counts[tuple(d for d in shown if d < 3)] += 1
    assert chisquare([counts[p] for p in permutations(range(3))]).pvalue > 0.001


def test_exploration_inside_a_block_is_uniform_next_to_certain_orders():
    """Two blocks, by one decisive feature; documents 0, 1, 2 of group 0 share the upper block."""
    features = np.array([[1.0, 0.3], [1.0, 0.1], [1.0, 0.7], [1.0, 0.5], [0.0, 0.2], [0.0, 0.6], [0.0, 0.9]])
    ranker = make(PairRank(2, length=5, alpha=0.1, within_block="random"), tolerance=0.3)
    ranker.host.model.theta = np.array([8.0, 0.0])
    belief = ranker.host.believe(Query(features))
    assert belief.block.tolist() == [0, 0, 0, 0, 1, 1, 1]
    counts = Counter()
    for _ in range(3000):
        ranking = ranker.rank(Query(features, [0, 0, 0, 1, 1, 1, 1]))
        counts[tuple(d for d in ranking.shown if d < 3)] += 1
    pairs = list(permutations(range(3), 2))
    first_two = Counter()
    for order, count in counts.items():
        if len(order) >= 2:
            first_two[order[:2]] += count
    assert chisquare([first_two[p] for p in pairs]).pvalue > 0.001


def test_any_host_with_a_belief_will_do():
    for host in (
        RandomRanker(4, length=8),
        FixedScores(np.ones(4), length=8),
        PairRank(4, length=8),
        PDGD(4, length=8),
    ):
        ranker = make(host)
        assert all(ranking.qualified for ranking in serve(ranker, rounds=50, n=40))
    with pytest.raises(ArgumentError, match="host"):
        FairExp(DBGD(4), tolerance=0.1)


def test_infeasible_rounds_take_the_least_unfair_ranking():
    """Group 1 has spent far too much; the query offers two of group 0, which go on top."""
    ranker = make(PairRank(2, length=3), tolerance=0.2)
    ranker.ledger.exposure = np.array([0.0, 50.0])
    ranking = ranker.rank(Query(np.random.default_rng(0).random((6, 2)), [1, 1, 1, 0, 0, 1]))
    assert not ranking.qualified
    assert ranking.template.tolist() == [0, 0, 1]


def test_measured_exposure_replaces_what_was_projected():
    ranker = make(PairRank(2, length=3), tolerance=0.5)
    ranking = ranker.rank(Query(np.random.default_rng(0).random((4, 2)), [0, 0, 1, 1]))
    measured = np.array([1.0, 1.0, 0.0])
    ranker.update(ranking, [False, True, False], measured=measured)
    expected = np.bincount(ranking.groups, weights=measured, minlength=2)
    assert ranker.ledger.exposure == pytest.approx(expected)


def test_measured_exposure_steers_the_next_rounds():
    """Users who look at the top only: what they saw is kept in balance, not what was projected."""
    ranker = make(PairRank(2, length=4), tolerance=0.5)
    rng = np.random.default_rng(0)
    tops = np.zeros(2)
    for _ in range(200):
        ranking = ranker.rank(Query(rng.random((8, 2)), [0, 0, 0, 0, 1, 1, 1, 1]))
        tops[ranking.template[0]] += 1
        ranker.update(ranking, [False] * 4, measured=[1.0, 0.0, 0.0, 0.0])
    assert ranker.ledger.exposure == pytest.approx(tops)
    assert abs(tops[0] - tops[1]) <= 2


def test_coarse_grids_are_warned_of():
    with pytest.warns(ToleranceWarning, match="below half the grid"):
        FairExp(PairRank(2, length=10), tolerance=0.1, beta=1.22, exposure="flat")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FairExp(PairRank(2, length=10), tolerance=0.1, beta=1.22, exposure="reciprocal")
        FairExp(PairRank(2, length=10), tolerance=np.inf, exposure="flat", beta=1.22)


def test_state_continues_bit_for_bit_with_late_feedback():
    ranker = make()
    list(serve(ranker, rounds=60))
    query = Query(np.random.default_rng(9).random((20, 4)), [0, 1] * 10)
    pending = ranker.rank(query)
    copy = make(seed=99).restore(ranker.state())
    for each in (ranker, copy):
        each.update(pending, [True] + [False] * 7)
    for a, b in zip(serve(ranker, rounds=30, seed=5), serve(copy, rounds=30, seed=5), strict=True):
        assert np.array_equal(a.shown, b.shown)
    assert ranker.ledger.unfairness == copy.ledger.unfairness
    assert np.array_equal(ranker.host.model.theta, copy.host.model.theta)


def test_states_that_do_not_fit_are_refused_and_change_nothing():
    ranker = make()
    before = ranker.state()
    for other in (PairRank(4, length=8), make(PairRank(5, length=8)), make(shares=(1, 1, 1))):
        with pytest.raises(StateError):
            ranker.restore(other.state())
    broken = {**before, "constraint.0.ledgers.rows": np.array([[[np.nan, 0.0]]])}
    with pytest.raises(StateError, match="exposure"):
        ranker.restore(broken)
    after = ranker.state()
    assert all(np.array_equal(before[key], after[key]) for key in before)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("tolerance", -1.0),
        ("tolerance", np.nan),
        ("tolerance", None),
        ("beta", 0.0),
        ("beta", np.inf),
        ("shares", (1.0,)),
        ("shares", (1.0, -1.0)),
        ("shares", (1.0, np.nan)),
        ("exposure", "exponential"),
        ("exposure", [1.0, 0.5]),
        ("exposure", [1.0] * 7 + [-1.0]),
        ("ties", "first"),
        ("scope", "everything"),
        ("seed", -3),
    ],
)
def test_bad_parameters_are_named(argument, value):
    with pytest.raises(ArgumentError) as error:
        make(**{argument: value})
    assert error.value.argument == argument


def test_beta_and_shares_exclude_each_other():
    with pytest.raises(ArgumentError, match="one of the two"):
        make(beta=1.0, shares=(1.0, 1.0))


def test_refused_calls_change_nothing():
    ranker = make()
    list(serve(ranker, rounds=5))
    ranking = ranker.rank(Query(np.random.default_rng(0).random((9, 4)), [0, 1, 0, 1, 0, 1, 0, 1, 0]))
    before = ranker.state()
    features = np.random.default_rng(1).random((3, 4))
    for query in (Query(features), Query(features, [0, 1, 2]), Query(features[:, :2], [0, 1, 1]), features):
        with pytest.raises(ArgumentError, match="query"):
            ranker.rank(query)
    with pytest.raises(ArgumentError, match="clicks"):
        ranker.update(ranking, [True], measured=np.ones(8))
    for measured in ([1.0], [np.nan] * 8, [-1.0] * 8, ["a"] * 8):
        with pytest.raises(ArgumentError, match="measured"):
            ranker.update(ranking, [True] * 8, measured=measured)
    with pytest.raises(ForeignRankingError):
        ranker.update(make().rank(Query(features, [0, 1, 1])), [True] * 3)
    after = ranker.state()
    assert all(np.array_equal(before[key], after[key]) for key in before)


def test_a_ranking_says_what_is_proven_of_it():
    """Ten rounds without a document of group 1: the gap grows, and no list could be less unfair."""
    ranker = FairExp(PairRank(3, length=4, seed=1), tolerance=0.2, seed=2)
    rng = np.random.default_rng(0)
    fair = ranker.rank(Query(rng.random((12, 3)), np.arange(12) % 2))
    assert (fair.proof, fair.qualified) == ("found", True) and fair.gap_bound <= 0.2
    for _ in range(10):
        ranking = ranker.rank(Query(rng.random((12, 3)), np.zeros(12, dtype=int)))
        assert (ranking.proof, ranking.qualified) == ("least", False)
        assert ranking.gap_bound == pytest.approx(abs(ranking.unfairness))
