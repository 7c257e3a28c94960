from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fairexp.statistics import Effect, effect, effect_over, holm, paired_difference, paired_log_ratio


def by_seed(values: Iterable[float]) -> dict[tuple[int, int], float]:
    """Values of one fold."""
    return {(seed, 1): float(value) for seed, value in enumerate(values)}


@pytest.mark.parametrize("n", [2, 3, 5, 25])
@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_intervals_cover_the_truth_as_often_as_they_say(n: int, kind: str) -> None:
    rng = np.random.default_rng(n)
    trials = 4000
    draws = rng.normal(3.0, 2.0, (trials, n)) if kind == "normal" else rng.uniform(2.0, 4.0, (trials, n))
    covered = sum(e.low <= 3.0 <= e.high for e in map(effect, draws.tolist()))  # type: ignore[operator]
    # For uniform values and tiny samples Student's t is known to cover a little less.
    floor = 0.95 - 3 * math.sqrt(0.95 * 0.05 / trials) - (0.05 if kind == "uniform" and n <= 5 else 0.0)
    assert floor <= covered / trials <= 0.95 + 3 * math.sqrt(0.95 * 0.05 / trials)


def test_paired_intervals_cover_although_pairs_share_their_difficulty() -> None:
    rng = np.random.default_rng(1)
    trials, n, covered, rejected = 3000, 10, 0, 0
    for _ in range(trials):
        difficulty = rng.normal(0, 10, n)
        first = by_seed(difficulty + 1.0 + rng.normal(0, 1, n))
        second = by_seed(difficulty + rng.normal(0, 1, n))
        found = paired_difference(first, second)
        assert found is not None and found.low is not None and found.high is not None and found.p is not None
        covered += found.low <= 1.0 <= found.high
        null = paired_difference(second, by_seed(difficulty + rng.normal(0, 1, n)))
        rejected += null is not None and null.p is not None and null.p < 0.05
    assert abs(covered / trials - 0.95) < 0.015
    assert abs(rejected / trials - 0.05) < 0.015


@pytest.mark.parametrize(("fold_spread", "n_folds", "n_seeds"), [(0.0, 5, 5), (1.0, 5, 5), (3.0, 3, 10), (2.0, 1, 5)])
def test_intervals_cover_although_seeds_of_a_fold_are_alike(fold_spread: float, n_folds: int, n_seeds: int) -> None:
    """The truth is the mean over all folds there might be; with one fold, that fold's own."""
    rng = np.random.default_rng(n_folds)
    trials, covered, naive = 3000, 0, 0
    for _ in range(trials):
        folds = rng.normal(0.0, fold_spread, n_folds)
        values = folds[:, None] + rng.normal(0.0, 1.0, (n_folds, n_seeds))
        truth = 0.0 if n_folds > 1 else float(folds[0])
        found = effect_over({(s, f): values[f, s] for f in range(n_folds) for s in range(n_seeds)})
        as_if_independent = effect(values.ravel())
        assert found.mean == pytest.approx(as_if_independent.mean) and found.n == n_folds * n_seeds
        for one, counts in ((found, True), (as_if_independent, False)):
            assert one.low is not None and one.high is not None
            inside = one.low <= truth <= one.high
            covered, naive = covered + (inside and counts), naive + (inside and not counts)
    assert abs(covered / trials - 0.95) < 3 * math.sqrt(0.95 * 0.05 / trials)
    if fold_spread and n_folds > 1:
        assert naive / trials < 0.85  # why seeds do not count as so many units


def test_holm_keeps_the_chance_of_any_false_alarm() -> None:
    rng = np.random.default_rng(2)
    alarms = sum(min(p for p in holm(rng.uniform(size=12).tolist()) if p is not None) < 0.05 for _ in range(4000))
    assert alarms / 4000 < 0.05 + 0.011


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12, unique=True))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_agrees_with_scipy(values: list[float]) -> None:
    found, theirs = effect(values), stats.ttest_1samp(values, 0.0)
    if np.std(values) < 1e-9 * max(abs(np.mean(values)), 1e-300):
        return
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-12)
    interval = theirs.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-6, abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_holm_agrees_with_stepping_down(p_values: list[float]) -> None:
    corrected = holm(list(p_values))
    for alpha in (0.01, 0.05, 0.2):
        order = sorted(range(len(p_values)), key=lambda i: p_values[i])
        rejected = set()
        for rank, index in enumerate(order):
            if p_values[index] * (len(order) - rank) >= alpha:
                break
            rejected.add(index)
        assert {i for i, p in enumerate(corrected) if p is not None and p < alpha} == rejected


def test_one_value_has_no_interval_and_equal_values_are_no_proof() -> None:
    assert effect([2.0]).low is None and effect([2.0]).p is None
    assert effect([1.0, 1.0]).p == 0.5 and effect([0.0, 0.0]).p == 1.0
    assert effect([1.0] * 10).p == 2.0**-9
    assert effect([0.1 + 0.2, 0.3]).p == 0.5  # equal but for rounding


def test_ratios_are_of_logarithms() -> None:
    found = paired_log_ratio(by_seed([2.0, 8.0, 5.0]), by_seed([1.0, 1.0]))
    assert found is not None and found.n == 2
    assert found.exp().mean == pytest.approx(4.0)
    assert paired_difference({(0, 1): 1.0}, {(1, 1): 1.0}) is None


def test_a_difference_taken_the_other_way_round() -> None:
    one, other = by_seed([2.0, 8.0, 5.0]), by_seed([1.0, 1.0, 9.0])
    ways = [paired_difference(one, other), paired_difference(other, one)]
    assert ways[0] is not None and ways[0].reversed() == ways[1]


def test_p_at_is_where_the_interval_ends() -> None:
    one = effect([1.0, 2.0, 4.0, 4.5])
    assert one.high is not None and one.p_at(one.high) == pytest.approx(0.05) and one.p_at(0.0) == one.p
    assert Effect(1.0, None, None, None, 1).p_at(0.0) is None
