"""Fairness measures of the field against packages of others, and by routes that share no step with ours."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, files
from itertools import permutations
from runpy import run_path

import numpy as np
import pytest

from fairexp.arrays import Floats
from fairexp.lab.metrics import (
    expected_exposure,
    exposure_per_merit,
    gini,
    impact_per_merit,
    item_disparity,
    largest_ratio,
    max_min_share,
    ndkl,
    target_exposure,
)

SEEDS = range(5)
CURVE = 1.0 / np.arange(1, 5)


@pytest.mark.parametrize("seed", SEEDS)
def test_pygini_agrees(seed: int) -> None:
    pygini = pytest.importorskip("pygini", reason="pygini is not installed")
    amounts = np.random.default_rng(seed).exponential(size=40)
    assert gini(amounts) == pytest.approx(pygini.gini(amounts.copy()), abs=1e-6)  # it adds 1e-8 to all


@pytest.mark.parametrize("seed", SEEDS)
def test_item_disparity_is_the_mean_distance_of_scipy_and_the_mean_difference_of_pygini(seed: int) -> None:
    distance = pytest.importorskip("scipy.spatial.distance", reason="scipy is not installed")
    pygini = pytest.importorskip("pygini", reason="pygini is not installed")
    rng = np.random.default_rng(seed)
    exposure, merit = rng.exponential(size=12), rng.integers(1, 4, size=12).astype(np.float64)
    rates = exposure / merit
    found = item_disparity(exposure, merit)
    assert found == pytest.approx(distance.pdist(rates[:, None], "cityblock").mean())
    assert found == pytest.approx(2.0 * pygini.gini(rates.copy()) * rates.mean() * 12 / 11, abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_fairdiverse_agrees(seed: int) -> None:
    """Its module of metrics alone: the package as a whole wants PyTorch and a licensed solver."""
    try:
        found = [each for each in files("fairdiverse") or [] if str(each).endswith("recommendation/metric.py")]
    except PackageNotFoundError:
        pytest.skip("fairdiverse is not installed")
    theirs = run_path(str(found[0].locate()))
    rng = np.random.default_rng(seed)
    exposure, shares = rng.exponential(size=4), rng.uniform(0.5, 2.0, size=4)
    equal = theirs["MMF"](exposure, ratio=1 / 4)
    assert max_min_share(exposure, np.ones(4)) == pytest.approx(4 * equal)
    owed = theirs["MMF"](exposure, ratio=1 / 4, weights=(1.0 / shares).tolist())
    scale = (exposure / shares).sum() * shares.sum() / exposure.sum()  # it divides by the sum of what it has weighed
    assert max_min_share(exposure, shares) == pytest.approx(owed * scale)
    assert gini(exposure) == pytest.approx(theirs["Gini"](exposure))


def test_max_min_share_is_the_most_that_every_group_can_be_promised() -> None:
    """By a linear program: the largest t such that each group has at least t times its part of all exposure."""
    optimize = pytest.importorskip("scipy.optimize", reason="scipy is not installed")
    rng = np.random.default_rng(3)
    for _ in range(20):
        exposure, shares = rng.exponential(size=5), rng.uniform(0.5, 2.0, size=5)
        due = exposure.sum() * shares / shares.sum()
        found = optimize.linprog([-1.0], A_ub=due[:, None], b_ub=exposure)
        assert max_min_share(exposure, shares) == pytest.approx(found.x[0])


def attention(order: tuple[int, ...]) -> Floats:
    """What each document gets in one list."""
    given = np.zeros(len(order))
    given[list(order)] = CURVE[: len(order)]
    return given


@pytest.mark.parametrize("grades", [[2, 1, 1, 0], [1, 1, 0, 0], [0, 1, 2, 3], [1, 1, 1, 1]])
def test_expected_exposure_from_pairs_of_lists(grades: list[int]) -> None:
    """Diaz et al. by expectations over two lists drawn independently: no mean exposure is ever formed.

    EE-D is E[a(pi).a(pi')], EE-R is 2 E[a(pi).a(sigma)] with sigma from all ideal lists, and EE-L what follows.
    """
    orders = list(permutations(range(4)))
    chances = np.random.default_rng(7).dirichlet(np.ones(len(orders)))
    lists = [attention(order) for order in orders]
    ideal = [attention(order) for order in orders if sorted(grades, reverse=True) == [grades[d] for d in order]]
    n_ideal = len(ideal)
    disparity = sum(
        p * q * (a @ b) for p, a in zip(chances, lists, strict=True) for q, b in zip(chances, lists, strict=True)
    )
    relevance = 2 * sum(p * (a @ b) / n_ideal for p, a in zip(chances, lists, strict=True) for b in ideal)
    constant = sum(a @ b for a in ideal for b in ideal) / n_ideal**2
    found = expected_exposure(chances @ np.array(lists), target_exposure(grades, CURVE))
    assert found.disparity == pytest.approx(disparity)
    assert found.relevance == pytest.approx(relevance)
    assert found.loss == pytest.approx(disparity - relevance + constant)


@pytest.mark.parametrize(("m", "n", "patience"), [(1, 5, 0.5), (3, 8, 0.8), (4, 4, 0.9)])
def test_target_exposure_has_its_closed_form_for_patient_users(m: int, n: int, patience: float) -> None:
    """Of m relevant among n documents under rank-biased browsing: sums of geometric series, evenly shared."""
    found = target_exposure([1] * m + [0] * (n - m), patience ** np.arange(n))
    assert found[:m] == pytest.approx((1 - patience**m) / (m * (1 - patience)))
    if n > m:
        assert found[m:] == pytest.approx((patience**m - patience**n) / ((n - m) * (1 - patience)))


def test_expected_exposure_of_sampled_lists() -> None:
    """Monte Carlo: disjoint pairs of lists drawn by Plackett-Luce; 4.5 standard errors of the mean over pairs."""
    rng, n_pairs, grades = np.random.default_rng(5), 20_000, [2, 1, 0, 0]
    scores = np.array([1.0, 0.3, 0.0, -0.5])
    draws = np.argsort(-(scores + rng.gumbel(size=(2, n_pairs, 4))), axis=2)
    lists = np.zeros((2, n_pairs, 4))
    np.put_along_axis(lists, draws, np.broadcast_to(CURVE, draws.shape), axis=2)
    odds, e = np.exp(scores), np.zeros(4)
    for order in permutations(range(4)):
        chance, left = 1.0, odds.sum()
        for document in order:
            chance, left = chance * odds[document] / left, left - odds[document]
        e += chance * attention(order)
    found = expected_exposure(e, target_exposure(grades, CURVE))
    ideal = np.argsort(-(np.array(grades) + 1e-3 * rng.random(size=(n_pairs, 4))), axis=1)
    owed = np.zeros((n_pairs, 4))
    np.put_along_axis(owed, ideal, np.broadcast_to(CURVE, ideal.shape), axis=1)
    for value, samples in (
        (found.disparity, (lists[0] * lists[1]).sum(axis=1)),
        (found.relevance, 2.0 * (lists[0] * owed).sum(axis=1)),
    ):
        assert abs(samples.mean() - value) < 4.5 * samples.std(ddof=1) / np.sqrt(n_pairs)


@pytest.mark.parametrize("seed", range(5))
def test_fairranktune_agrees(seed: int) -> None:
    pandas = pytest.importorskip("pandas", reason="FairRankTune needs pandas")
    Metrics = pytest.importorskip("FairRankTune", reason="FairRankTune is not installed").Metrics

    rng = np.random.default_rng(seed)
    groups = np.array([0, 1, 2, *rng.integers(0, 3, size=7)])
    order = rng.permutation(10)
    merit = rng.uniform(0.1, 1.0, size=10)
    curve = 1.0 / np.log2(np.arange(2, 12))
    ranking, relevance = pandas.DataFrame(order), pandas.DataFrame(merit[order])
    members = {document: int(group) for document, group in enumerate(groups)}
    shares = np.bincount(groups).astype(float)
    assert ndkl(groups[order], shares) == pytest.approx(Metrics.NDKL(ranking, members), rel=1e-4)  # it adds 1e-7 to all
    exposure = np.empty(10)
    exposure[order] = curve
    theirs = Metrics.EXPU(ranking, members, relevance, "MaxMinRatio")[0]
    assert largest_ratio(exposure_per_merit(exposure, merit, groups, n_groups=3)) == pytest.approx(theirs)
    clicks = pandas.DataFrame((exposure * merit)[order])
    theirs = Metrics.EXPRU(ranking, members, relevance, clicks, "MaxMinRatio")[0]
    assert largest_ratio(impact_per_merit(exposure, merit, groups, n_groups=3)) == pytest.approx(theirs)
