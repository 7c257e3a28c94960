"""Known values of single methods, against brute force and by hand."""

from __future__ import annotations

import sys
from itertools import permutations

import numpy as np
import pytest

from fairexp import PairRank, Query
from fairexp.errors import ArgumentError, MissingExtraError
from fairexp.kernels.baselines.lists import click_chances
from fairexp.kernels.baselines.objectives import descent
from fairexp.rankers import C3UCB, EARS, MMF, PMMF, FixedScores, OFFRAround, XQuAD
from fairexp.rankers.bandits.orders import interval_belief
from fairexp.rankers.baselines.lp_fair import LPFair, birkhoff, fair_chances
from fairexp.rankers.baselines.mcfair import unfairness
from fairexp.rankers.baselines.objective import OBJECTIVES, gradient
from fairexp.rankers.baselines.offr_around import values
from fairexp.rankers.baselines.p_mmf import projected
from tests.rankers.baselines.world import with_weights

# MCFair


def test_mcfairs_gradient_has_the_published_value_and_is_the_negative_one_of_its_measure():
    exposure, merit = np.array([3.0, 0.0, 1.0]), np.array([0.8, 0.8, 0.4])
    assert descent(exposure, merit) == pytest.approx([-0.9286, 1.0, -0.1429], abs=1e-4)
    assert unfairness(exposure, merit) == pytest.approx(2.18667, abs=1e-5)
    steps = 1e-6 * np.eye(3)
    slopes = [(unfairness(exposure + step, merit) - unfairness(exposure - step, merit)) / 2e-6 for step in steps]
    assert -np.array(slopes) / np.abs(slopes).max() == pytest.approx(descent(exposure, merit), abs=1e-6)
    assert descent(5.0 * merit, merit) == pytest.approx(0.0, abs=1e-5)


# P-MMF


def test_the_projection_is_the_nearest_point_of_the_published_set():
    """The set: the prices times shares of any groups together are at least -boost."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(2, 6))
        shares, boost = rng.dirichlet(np.ones(n)), float(rng.choice([0.0, 0.3, 1.0]))
        prices = rng.normal(size=n) * 4
        nearest = projected(prices, shares, boost)
        assert np.minimum(shares * nearest, 0.0).sum() >= -boost - 1e-12
        distance = np.sum((shares * (nearest - prices)) ** 2)
        for _ in range(200):
            other = rng.normal(size=n) * rng.choice([0.1, 1.0, 4.0])
            weighed = shares * (nearest + other)
            short = -np.minimum(weighed, 0.0).sum()
            weighed[weighed < 0] *= min(1.0, boost / short) if short > 0 else 1.0
            assert np.sum((weighed - shares * prices) ** 2) >= distance - 1e-9


def test_a_round_of_p_mmf_by_hand():
    ranker = with_weights(
        PMMF(1, length=2, merit=(1.0, 1.0), exposure=[1.0, 1.0], capacity=1.0, step=0.1, momentum=1.0, boost=1.0), [1.0]
    )
    query = Query(features=[[0.9], [0.8], [0.7], [0.6]], groups=[0, 0, 1, 1])
    assert ranker.rank(query).shown.tolist() == [0, 1]
    # had (1, 0), due (.5, .5): prices move by .1 * .5 / .25 = .2 each
    assert ranker.prices == pytest.approx([0.2, -0.2])
    assert ranker.rank(query).shown.tolist() == [2, 3]
    assert ranker.prices == pytest.approx([0.0, 0.0])


def test_what_was_chosen_by_price_is_shown_by_relevance_and_an_exhausted_group_goes_last():
    ranker = with_weights(PMMF(1, length=2, merit=(1.0, 1.0), horizon=1, capacity=1.0), [1.0])
    query = Query(features=[[0.9], [0.8], [0.1], [0.05]], groups=[0, 0, 1, 1])
    ranker.prices = np.array([0.85, 0.0])
    assert ranker.rank(query).shown.tolist() == [0, 2]
    ranker.prices, ranker.spent = np.zeros(2), np.array([5.0, 0.0])
    assert ranker.rank(query).shown.tolist() == [2, 3]


# MMF and xQuAD


def test_mmf_gives_each_position_to_the_group_with_least_down_to_there():
    ranker = with_weights(MMF(1, length=3, merit=(1.0, 1.0), control=1.0, seed=0), [1.0])
    query = Query(features=[[0.9], [0.8], [0.7], [0.3], [0.2], [0.1]], groups=[0, 0, 0, 1, 1, 1])
    ranker._by_position = np.array([[1.0, 0.5, 1 / 3], [0.0, 0.0, 0.0]])
    # first 0 < 1: group 1; then 1 < 1.5: group 1; then 1.5 < 1.83: group 1
    assert ranker.rank(query).shown.tolist() == [3, 4, 5]
    # equal at every depth now: the first by lot, then the other one at once
    first = ranker.rank(query).groups.tolist()
    assert first[:2] in ([0, 1], [1, 0])


def test_mmf_without_control_ranks_by_relevance():
    ranker = with_weights(MMF(1, length=4, merit=(1.0, 1.0), control=0.0, seed=0), [1.0])
    query = Query(features=[[0.2], [0.9], [0.5], [0.7]], groups=[0, 0, 1, 0])
    assert ranker.rank(query).shown.tolist() == [1, 3, 2, 0]


def test_xquad_by_hand():
    ranker = with_weights(XQuAD(1, length=4, merit=(1.0, 1.0), control=0.5, seed=0), [1.0])
    query = Query(features=[[0.9], [0.8], [0.7], [0.3]], groups=[0, 0, 0, 1])
    # .45 + .25 first; then .4 + 0 against .15 + .25: .4 each, so by lot; then the rest by relevance
    orders = {tuple(ranker.rank(query).shown.tolist()) for _ in range(30)}
    assert orders <= {(0, 1, 2, 3), (0, 1, 3, 2), (0, 3, 1, 2)} and (0, 3, 1, 2) in orders
    free = with_weights(XQuAD(1, length=4, merit=(1.0, 1.0), control=0.0, seed=0), [1.0])
    assert free.rank(query).shown.tolist() == [0, 1, 2, 3]


# EARS


def chance(rates, patience):
    """Of a click in a cascade: going on after each document with `patience`, and before the first one too."""
    clicked, here = 0.0, 1.0
    for rate in rates:
        here *= patience
        clicked += here * rate
        here *= 1.0 - rate
    return clicked


@pytest.mark.parametrize("patience", [0.5, 0.9, 1.0])
def test_the_chance_of_a_click_is_the_mean_over_all_shuffles(patience):
    rates = np.array([0.7, 0.5, 0.3, 0.25, 0.0])
    for n, found in enumerate(click_chances(rates, patience), start=1):
        shuffles = [[*order, *rates[n:]] for order in permutations(rates[:n])]
        assert found == pytest.approx(np.mean([chance(order, patience) for order in shuffles]))


def test_ears_shuffles_as_far_as_the_loss_allows():
    rates = np.array([0.9, 0.85, 0.3, 0.05])
    chances = click_chances(rates, 0.9)
    query = Query(features=rates[:, None])
    for loss, n_shuffled in ((0.0, 1), (1.0 - chances[1] / chances[0] + 1e-9, 2), (1.0, 4)):
        ranker = with_weights(EARS(1, length=4, loss=loss, patience=0.9, seed=0), [1.0])
        tops = {tuple(ranker.rank(query).shown[:n_shuffled].tolist()) for _ in range(300)}
        rests = {tuple(ranker.rank(query).shown[n_shuffled:].tolist()) for _ in range(50)}
        assert tops == set(permutations(range(n_shuffled))) and rests == {tuple(range(n_shuffled, 4))}


# OFFR


@pytest.mark.parametrize("name", OBJECTIVES)
def test_gradients_are_those_of_their_objectives(name):
    due, smoothing = np.array([0.2, 0.5, 0.3]), 0.05
    objectives = {
        "deviation": lambda v: -np.sqrt(smoothing + np.mean((v / due - np.mean(v / due)) ** 2)),
        "softmin": lambda v: -smoothing * np.log(np.sum(np.exp(-v / due / smoothing))),
        "welfare": lambda v: np.sum(due * np.log(smoothing + v / due)),
    }
    shares = np.array([0.25, 0.35, 0.4])
    steps = 1e-6 * np.eye(3)
    slopes = [(objectives[name](shares + step) - objectives[name](shares - step)) / 2e-6 for step in steps]
    found = OBJECTIVES[name](shares, due, smoothing)
    assert found == pytest.approx(slopes, rel=1e-5)
    assert gradient(name, 8.0 * shares, 3.0 * due, smoothing) == pytest.approx(found)


def test_a_host_is_valued_by_its_upper_bounds_or_along_its_draw():
    rng = np.random.default_rng(0)
    scores, upper = np.array([0.5, 0.4, 0.3]), np.array([0.6, np.inf, 0.9])
    belief = interval_belief(scores, scores - 0.1, upper, rng)
    assert values(belief, optimistic=True).tolist() == [0.6, 1.0, 0.9]
    assert belief.draw.tolist() == [1, 2, 0]
    assert values(belief, optimistic=False).tolist() == [0.3, 0.5, 0.4]


@pytest.mark.parametrize("host", [PairRank, C3UCB])
@pytest.mark.parametrize("optimistic", [True, False])
def test_within_a_group_documents_stay_in_the_order_of_the_hosts_draw(host, optimistic):
    ranker = OFFRAround(host(3, length=6), fairness=0.4, optimistic=optimistic, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(40):
        ranking = ranker.rank(Query(features=rng.random((9, 3)), groups=rng.integers(2, size=9)))
        places = np.argsort(ranking.belief.draw)[ranking.shown]
        for group in (0, 1):
            assert (np.diff(places[ranking.groups == group]) > 0).all()
        ranker.update(ranking, rng.random(6) < 0.3)


def test_around_a_host_without_fairness_is_the_host():
    features, groups = np.random.default_rng(0).random((8, 3)), [0, 1] * 4
    alone, around = PairRank(3, length=4, seed=1), OFFRAround(PairRank(3, length=4), fairness=0.0, seed=1)
    for _ in range(10):
        one, two = (ranker.rank(Query(features=features, groups=groups)) for ranker in (alone, around))
        assert np.array_equal(one.shown, two.shown)
        for ranker, ranking in ((alone, one), (around, two)):
            ranker.update(ranking, [True, False, False, False])


def test_around_a_host_refuses_what_it_cannot_be_fair_to():
    with pytest.raises(ArgumentError, match="host: expected a ranker with an explicit belief"):
        OFFRAround(MMF(2))
    ranker = OFFRAround(FixedScores([1.0]))
    with pytest.raises(ArgumentError, match=r"query\.groups: expected a group from 0 to 1"):
        ranker.rank(Query(features=[[1.0]], groups=[2]))
    with pytest.raises(ArgumentError, match=r"query\.groups"):
        ranker.rank(Query(features=[[1.0]]))


# Linear programming


def test_the_program_ranks_by_relevance_until_a_group_is_owed():
    pytest.importorskip("scipy")
    scores, groups, curve = np.array([0.9, 0.8, 0.3, 0.2]), np.array([0, 0, 1, 1]), np.array([1.0, 0.5])
    ones = np.ones(2)
    free = fair_chances(scores, groups, curve, ones, np.zeros(2), 0.0)
    assert free == pytest.approx(np.array([[1, 0], [0, 1], [0, 0], [0, 0]]))
    equal = fair_chances(scores, groups, curve, ones, np.zeros(2), 10.0)
    given = (equal @ curve)[:2].sum(), (equal @ curve)[2:].sum()
    assert given == pytest.approx((0.75, 0.75)) and equal[[0, 2]].sum() == pytest.approx(2.0)
    owed = fair_chances(scores, groups, curve, ones, np.array([1.0, 0.0]), 10.0)
    assert (owed @ curve)[2:].sum() == pytest.approx(1.25)


def test_rankings_mix_to_the_chances_that_they_were_decomposed_from():
    pytest.importorskip("scipy")
    rng = np.random.default_rng(0)
    for _ in range(40):
        m, k = int(rng.integers(2, 7)), int(rng.integers(1, 5))
        k = min(k, m)
        mixed = np.zeros((m, k))
        for weight in rng.dirichlet(np.ones(5)):
            mixed[rng.permutation(m)[:k], np.arange(k)] += weight
        found, total = np.zeros((m, k)), 0.0
        for weight, rows in birkhoff(mixed):
            assert len(set(rows.tolist())) == k
            found[rows, np.arange(k)] += weight
            total += weight
        assert total == pytest.approx(1.0) and found == pytest.approx(mixed, abs=1e-7)


def test_drawn_rankings_have_the_programs_chances():
    pytest.importorskip("scipy")
    ranker = LPFair(1, length=2, merit=(1.0, 1.0), exposure=[1.0, 0.5], control=10.0, compensation=0.0, seed=0)
    with_weights(ranker, [1.0])
    query = Query(features=[[0.9], [0.8], [0.3], [0.2]], groups=[0, 0, 1, 1])
    tops = np.bincount([ranker.rank(query).shown[0] for _ in range(400)], minlength=4)
    assert tops == pytest.approx([200, 0, 200, 0], abs=40)


def test_without_scipy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fairexp\[lp\]'"):
        LPFair(2)
