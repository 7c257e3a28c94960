from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.statistics import Sharing, effect, effect_over, independent
from tests.statistics.letor_layout import CASES, LAYOUT, PARTS, Case, coverage, values

TRIALS = 1500
LEAST = 0.93
"""What intervals over folds of a collection must cover at least, for a nominal 95%."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_intervals_cover_although_folds_serve_the_same_queries(case: Case) -> None:
    """`python -m tests.statistics.letor_layout` is the same with more collections."""
    noise = 3 * math.sqrt(LEAST * (1 - LEAST) / TRIALS)  # so rarely would 93% seem this much less
    for what, folds in values(case, TRIALS, seed=4).items():
        correlation = LAYOUT.correlation(range(PARTS), held_out=what.startswith("held out"))
        assert coverage(folds, correlation) > LEAST - noise, what


def test_folds_taken_for_independent_do_not_cover() -> None:
    """Why the correction is there: without it, 95% intervals of online NDCG hold the truth in some 73% of cases."""
    assert coverage(values(CASES[0], TRIALS, seed=4)["online"], None) < 0.8


def test_letor_shares_two_parts_of_three_or_one() -> None:
    found = LAYOUT.correlation(range(PARTS))
    assert [round(3 * each) for each in found[0]] == [3, 2, 1, 1, 2]
    halves = LAYOUT.correlation([0, 2], held_out=True)
    assert halves == [[1.0, pytest.approx(1 / 6)], [pytest.approx(1 / 6), 1.0]]
    assert Sharing.of([{"a"}, {"b", "c"}], [3, 7]).correlation([7, 3]) == [[1.0, 0.0], [0.0, 1.0]]


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=8, unique=True))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_folds_that_share_nothing_are_independent(found: list[float]) -> None:
    one, other = effect(found), effect(found, np.eye(len(found)).tolist())
    assert (other.mean, other.low, other.high) == pytest.approx((one.mean, one.low, one.high), rel=1e-9, abs=1e-9)
    assert other.degrees == pytest.approx(len(found) - 1) and other.p == pytest.approx(one.p, rel=1e-6, abs=1e-12)


def test_equal_correlations_give_the_corrected_t() -> None:
    """Nadeau and Bengio: the variance of the mean is that between values times 1/n + r / (1 - r)."""
    found, r = [3.0, 4.0, 6.0, 9.0], 0.25
    alike = [[1.0 if i == j else r for j in range(4)] for i in range(4)]
    one = effect(found, alike)
    assert one.error == pytest.approx(math.sqrt(np.var(found, ddof=1) * (1 / 4 + r / (1 - r))))
    assert one.degrees == pytest.approx(3)


def test_the_spread_is_what_normal_values_of_that_correlation_have() -> None:
    """Brute force: the estimated error of the mean squared is unbiased for draws with LETOR's correlations."""
    correlation = np.array(LAYOUT.correlation(range(PARTS)))
    draws = np.random.default_rng(3).multivariate_normal(np.zeros(PARTS), correlation, size=4000)
    squares = np.array([effect(row, correlation.tolist()).error ** 2 for row in draws.tolist()])  # type: ignore[operator]
    truth = correlation.sum() / PARTS**2
    assert abs(squares.mean() - truth) < 4 * squares.std() / math.sqrt(len(squares))


def test_folds_that_are_all_the_same_queries_say_nothing_of_others() -> None:
    same = Sharing.of([{1, 2}] * 3)
    found = effect([1.0, 2.0, 4.0], same.correlation(range(3)))
    assert found.low is None and found.p is None and found.units == 3


def test_seeds_of_a_fold_are_one_unit_of_a_fold_that_shares() -> None:
    table = {(seed, fold): float(seed + fold * fold) for seed in range(4) for fold in range(PARTS)}
    over = effect_over(table, LAYOUT.correlation)
    alone = effect_over(table, independent)
    assert over.mean == alone.mean and over.n == 20 and over.units == 5
    assert over.error is not None and alone.error is not None and over.error > 2 * alone.error
    assert 2 < over.degrees < 4
