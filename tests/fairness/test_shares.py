"""Shares that are learned: by size, by merit without position bias, with a floor and a stated beginning."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp import FairExp, PairRank, Query
from fairexp.fairness.shares import FLOOR, FROZEN, MeritShares, SizeShares

CURVE = 1.0 / np.arange(1, 11)


def learned(relevance, *, rounds, sizes=(20, 20), seed=0, order=None):
    """Merit of two groups whose documents are all of `relevance` by group, shown by chance or group 0 first."""
    rng = np.random.default_rng(seed)
    shares = MeritShares(1, 2)
    groups = np.repeat([0, 1], sizes)
    features = np.zeros((len(groups), 1))
    for _ in range(rounds):
        shown = rng.permutation(len(groups))[:10] if order is None else order(groups, rng)
        shares.note(shares.seen(features, groups))
        clicks = rng.random(10) < CURVE * np.asarray(relevance)[groups[shown]]
        shares.learn(features[shown], groups[shown], CURVE, clicks)
    return shares


def first_group_on_top(groups, rng):
    return np.concatenate([rng.permutation(np.flatnonzero(groups == g))[:5] for g in (0, 1)])


@pytest.mark.parametrize("order", [None, first_group_on_top])
def test_merit_is_found_wherever_documents_stood(order):
    """Relevance .2 and .6: shares 1 to 3, within four standard errors, though group 0 is always on top."""
    shares = learned((0.2, 0.6), rounds=2000, order=order)
    assert np.all(np.abs(shares.now() - [0.25, 0.75]) < 4 * shares.standard_errors())
    assert shares.standard_errors().max() < 0.06


def test_merit_counts_every_candidate():
    """Equally relevant documents, three of group 0 for each of group 1."""
    shares = learned((0.5, 0.5), rounds=1500, sizes=(30, 10))
    assert shares.now() == pytest.approx([0.75, 0.25], abs=0.05)


def test_features_that_explain_relevance_tell_candidates_apart():
    """Group 1 has as many relevant candidates as group 0 and three times as many that are not: equal merit."""
    rng, shares = np.random.default_rng(0), MeritShares(1, 2)
    groups = np.repeat([0, 1], (10, 30))
    features = np.concatenate([np.ones(10), np.ones(10), np.zeros(20)])[:, None]
    for _ in range(2000):
        shown = rng.permutation(40)[:10]
        shares.note(shares.seen(features, groups))
        shares.learn(features[shown], groups[shown], CURVE, rng.random(10) < CURVE * 0.8 * features[shown, 0])
    assert shares.now() == pytest.approx([0.5, 0.5], abs=0.05)


def test_a_group_counts_with_the_average_until_enough_of_it_was_shown():
    shares = learned((0.0, 0.9), rounds=1)
    assert shares.now() == pytest.approx([0.5, 0.5])
    assert np.isinf(shares.standard_errors()).all()
    enough = learned((0.0, 0.9), rounds=FROZEN)
    assert enough.now()[1] > 0.9


def test_groups_of_no_merit_get_the_floor():
    shares = learned((0.0, 0.9), rounds=1000)
    floor = FLOOR / 2
    assert shares.now()[0] == pytest.approx(floor / (1 + floor), abs=0.01)
    none = SizeShares(3)
    assert none.now() == pytest.approx(np.full(3, 1 / 3))
    none.note(none.seen(np.zeros((5, 1)), np.array([0, 0, 0, 0, 1])))
    assert none.now().min() == pytest.approx(FLOOR / 3 / (1 + FLOOR / 3))


def serve(ranker, *, rounds, share, seed=0, n=30):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        groups = (rng.random(n) > share).astype(int)
        ranking = ranker.rank(Query(rng.random((n, 2)), groups))
        relevance = np.where(ranking.groups == 0, 0.2, 0.6)
        ranker.update(ranking, rng.random(len(ranking)) < ranking.exposure * relevance)
        yield ranking


@pytest.mark.parametrize("shares", ["size", "merit"])
def test_the_tolerance_holds_while_shares_are_learned(shares):
    ranker = FairExp(PairRank(2, length=10), tolerance=0.3, shares=shares, seed=1)
    for ranking in serve(ranker, rounds=400, share=0.7):
        assert ranking.qualified
        assert ranker.ledger.largest_gap <= 0.3 + 1e-9
    now, got = ranker.accounts[0].shares.now(), ranker.ledger.exposure
    assert got[0] / got.sum() == pytest.approx(now[0], abs=0.08)


@pytest.mark.parametrize(("shares", "truth"), [("size", 0.7), ("merit", 0.7 * 0.2 / (0.7 * 0.2 + 0.3 * 0.6))])
def test_shares_are_learned_while_the_tolerance_holds(shares, truth):
    """From one seed to another the learned share of merit varies by about .05 after so many rounds: the mean of 8."""
    learned = []
    for seed in range(8):
        ranker = FairExp(PairRank(2, length=10), tolerance=0.3, shares=shares, seed=seed)
        for ranking in serve(ranker, rounds=400, share=0.7, seed=seed):
            assert ranking.qualified == (ranker.ledger.largest_gap <= 0.3 + 1e-9)
        learned.append(ranker.accounts[0].shares.now()[0])
    assert np.mean(learned) == pytest.approx(truth, abs=0.06)


@pytest.mark.parametrize("shares", ["size", "merit"])
def test_a_restored_copy_goes_on_bit_for_bit(shares):
    ranker = FairExp(PairRank(2, length=10), tolerance=0.3, shares=shares, seed=1)
    list(serve(ranker, rounds=60, share=0.7))
    copy = FairExp(PairRank(2, length=10), tolerance=0.3, shares=shares, seed=1)
    copy.restore(ranker.state())
    for own, other in zip(
        serve(ranker, rounds=30, share=0.5, seed=3), serve(copy, rounds=30, share=0.5, seed=3), strict=True
    ):
        assert np.array_equal(own.shown, other.shown)
    assert np.array_equal(copy.accounts[0].shares.now(), ranker.accounts[0].shares.now())
