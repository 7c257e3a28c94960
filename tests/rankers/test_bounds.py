"""Bounds of click rates against known values and bisection."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp.kernels.bandits.rates import hoeffding_bounds, kl_bounds
from fairexp.rankers.bandits.bounds import bernoulli_kl, hoeffding_budget, hoeffding_width, kl_budget


def bisected(rates, counts, budget, *, end):
    """The points (n,) between `rates` and `end` where counts * kl reaches the budget."""
    near, far = rates.copy(), np.full(len(rates), end)
    for _ in range(200):
        middle = (near + far) / 2
        within = counts * bernoulli_kl(rates, middle) <= budget
        near, far = np.where(within, middle, near), np.where(within, far, middle)
    return near


def test_known_values():
    rate, count = np.array([0.5]), np.array([10.0])
    assert 0.5 + hoeffding_width(count, 100)[0] == pytest.approx(1.331, abs=5e-4)
    lower, upper = kl_bounds(rate, count, kl_budget(100))
    assert (lower[0], upper[0]) == pytest.approx((0.0415, 0.9585), abs=5e-5)
    assert kl_bounds(rate, count, np.log(100))[1][0] == pytest.approx(0.8879, abs=5e-5)
    assert kl_budget(1) == 0.0


def test_the_bounds_are_those_of_bisection():
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 5000, size=300).astype(float)
    rates = np.floor(rng.random(300) ** 2 * (counts + 1)) / counts
    rates[:3] = 0.0, 1.0, 1.0
    for budget in (0.3, 7.0, 40.0):
        lower, upper = kl_bounds(rates, counts, budget)
        assert upper == pytest.approx(bisected(rates, counts, budget, end=1.0), abs=1e-9)
        assert lower == pytest.approx(bisected(rates, counts, budget, end=0.0), abs=1e-9)


def test_without_a_budget_a_rate_is_taken_at_its_word():
    rates = np.array([0.0, 0.2, 0.5, 1.0])
    lower, upper = kl_bounds(rates, np.full(4, 10.0), 0.0)
    assert lower == pytest.approx(rates, abs=1e-7) and upper == pytest.approx(rates, abs=1e-7)


def test_what_was_never_counted_may_be_anything():
    lower, upper = kl_bounds(np.zeros(1), np.zeros(1), 5.0)
    assert (lower[0], upper[0]) == (0.0, 1.0)
    assert hoeffding_width(np.zeros(1), 5)[0] == np.inf
    assert [each[0] for each in hoeffding_bounds(np.zeros(1), np.zeros(1), 5.0)] == [-np.inf, np.inf]


def test_hoeffdings_bounds_are_a_width_away():
    rates, counts = np.array([0.2, 0.9]), np.array([3.0, 40.0])
    lower, upper = hoeffding_bounds(rates, counts, hoeffding_budget(70))
    assert upper - rates == pytest.approx(hoeffding_width(counts, 70)) == rates - lower
