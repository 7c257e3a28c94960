"""Exposure curves: named, given, estimated; and the grid of unfairness that templates can reach."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.errors import ArgumentError, DataError
from fairexp.fairness.exposure import ExposureEstimate, estimate_exposure, exposure_curve, reachable_gap
from fairexp.lab.users import PositionBased, dependent_clicks
from fairexp.lab.users.interventions import randomised_clicks, swapped_clicks

PERFECT = [1, 0.998, 0.992, 0.989, 0.989, 0.986, 0.986, 0.984, 0.984, 0.982]
"""The examination of perfect users that the authors of FairExp tabulated: all but flat."""


@dataclass
class Grades:
    grades: np.ndarray
    offsets: np.ndarray


def world(n_grades=5, seed=0):
    sizes = np.random.default_rng(seed).integers(5, 40, size=60)
    mix = np.array([0.52, 0.32, 0.13, 0.02, 0.01])[:n_grades]
    grades = np.random.default_rng(seed + 1).choice(n_grades, size=sizes.sum(), p=mix / mix.sum())
    return Grades(grades, np.concatenate([[0], np.cumsum(sizes)]))


def brute_force(curve, beta):
    values = np.array(
        [sum(p if a else -beta * p for p, a in zip(curve, t, strict=True)) for t in templates(len(curve))]
    )
    if np.abs(values).min() < 1e-12:
        return 0.0, 0.0
    return values[values < 0].max(), values[values > 0].min()


def templates(k):
    return product([False, True], repeat=k)


def test_named_curves():
    assert exposure_curve("reciprocal", 3).tolist() == [1.0, 0.5, 1 / 3]
    assert exposure_curve("logarithmic", 3) == pytest.approx([1.0, 0.63093, 0.5], abs=5e-6)
    assert exposure_curve("flat", 2).tolist() == [1.0, 1.0]


def test_a_given_curve_is_cut_and_copied():
    given_curve = np.array([1.0, 0.7, 0.6])
    curve = exposure_curve(given_curve, 2)
    curve[0] = 5.0
    assert given_curve.tolist() == [1.0, 0.7, 0.6]
    assert len(curve) == 2


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ([1.0, 0.5], "exposure: expected at least 3, the length of the rankings, got 2 positions"),
        ([1.0, 0.0, 0.5], "exposure: expected positive finite numbers, got 0.0 at position 2"),
        ([1.0, np.nan, 0.5], "exposure: expected positive finite numbers, got nan at position 2"),
        ([1.0, np.inf, 0.5], "exposure: expected positive finite numbers, got inf at position 2"),
        ([[1.0, 0.5, 0.2]], "exposure: expected one of 'reciprocal'"),
        (["a", "b", "c"], "exposure: expected one of 'reciprocal'"),
        (None, "exposure: expected one of 'reciprocal'"),
        ("recipro", "exposure: expected one of 'reciprocal'.* got 'recipro'"),
        ("nowhere.json", "exposure: expected a file that .* got 'nowhere.json', which does not exist"),
    ],
)
def test_bad_curves_are_named(spec, message):
    with pytest.raises(ArgumentError, match=message):
        exposure_curve(spec, 3)


@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_an_estimate_is_saved_and_read_back(tmp_path, suffix):
    estimate = ExposureEstimate(np.array([1.0, 1 / 3]), np.array([0.0, 0.01]), 50)
    estimate.save(tmp_path / f"curve{suffix}")
    assert exposure_curve(tmp_path / f"curve{suffix}", 2).tolist() == [1.0, 1 / 3]
    assert exposure_curve(str(tmp_path / f"curve{suffix}"), 1).tolist() == [1.0]
    with pytest.raises(ArgumentError, match=r"path: .* ends in \.json or \.csv"):
        estimate.save(tmp_path / "curve.txt")


@pytest.mark.parametrize(
    ("name", "text"), [("a.json", "{}"), ("b.json", "]"), ("c.csv", "p,q\n1,2\n"), ("d.json", "[1]")]
)
def test_a_file_without_a_curve_is_refused(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match="no exposure curve in it"):
        exposure_curve(tmp_path / name, 1)


def test_shuffles_recover_a_known_curve():
    """Position-based clicks, 1e5 sessions: errors below .02, and within 4.5 of the estimated standard errors."""
    truth = 1.0 / np.arange(1, 11)
    user = PositionBased(truth, [0.4, 0.6, 0.7, 0.8, 0.9], seed=1)
    estimate = estimate_exposure(randomised_clicks(world(), user, n_sessions=100_000, seed=2))
    assert np.abs(estimate.curve - truth).max() < 0.02
    assert (np.abs(estimate.curve - truth) <= 4.5 * estimate.standard_error).all()
    assert estimate.standard_error.max() < 0.02 / 4.5
    assert estimate.n_sessions == 100_000


def test_swaps_recover_a_known_curve():
    """Each position has a ninth of the sessions, so errors are three times as large."""
    truth = 1.0 / np.log2(np.arange(2, 12))
    user = PositionBased(truth, [0.4, 0.6, 0.7, 0.8, 0.9], seed=1)
    clicks, partner = swapped_clicks(world(), user, n_sessions=100_000, seed=2)
    estimate = estimate_exposure(clicks, partner=partner)
    assert (np.abs(estimate.curve - truth) <= 4.5 * estimate.standard_error).all()
    assert estimate.standard_error.max() < 0.02


@pytest.mark.parametrize("swap", [False, True])
def test_standard_errors_describe_the_spread(swap):
    """Over 300 repetitions a standard deviation is known to 4% (one standard error); bound 5 of them."""
    user = PositionBased([1.0, 0.5], [0.4, 0.8], seed=4)
    data = world(n_grades=2)
    curves, errors = [], []
    for seed in range(300):
        if swap:
            clicks, partner = swapped_clicks(data, user, length=2, n_sessions=1000, seed=seed)
            estimate = estimate_exposure(clicks, partner=partner)
        else:
            estimate = estimate_exposure(randomised_clicks(data, user, length=2, n_sessions=1000, seed=seed))
        curves.append(estimate.curve[1])
        errors.append(estimate.standard_error[1])
    assert np.mean(errors) == pytest.approx(np.std(curves), rel=5 * 0.041)


def test_users_who_leave_on_any_document_give_the_geometric_curve():
    """Attention falls by the mean chance to stay; among 2,000 documents a shuffle is as good as drawing anew."""
    data = Grades(np.tile([0, 0, 0, 1, 2], 400), np.array([0, 2000]))
    user = dependent_clicks("navigational", n_grades=3, stop_after="any", seed=0)
    estimate = estimate_exposure(randomised_clicks(data, user, length=4, n_sessions=100_000, seed=1))
    stay = 1.0 - (0.6 * 0.2 + 0.2 * 0.5 + 0.2 * 0.9)
    assert (np.abs(estimate.curve - stay ** np.arange(4)) <= 4.5 * estimate.standard_error).all()


@pytest.mark.parametrize(
    ("clicks", "partner", "message"),
    [
        (
            [[0, 1], [0, 0]],
            None,
            "clicks: expected clicks at position 1.* got no click at position 1 in the 2 sessions",
        ),
        ([[1, 1, 0], [1, 0, 0]], [2, 2], "no click at position 1 in the 0 sessions that tell of position 3"),
        ([0, 1], None, r"clicks: expected one row per session.* got shape \(2,\)"),
        (np.zeros((0, 3)), None, "clicks: expected one row per session"),
        ([[1, 2]], None, "clicks: expected booleans"),
        ([["x", "y"]], None, "clicks: expected booleans"),
        ([[1, 0]], [1], "partner: expected positions 2 to 2, got positions 1 to 1"),
        ([[1, 0]], [2, 2], r"partner: expected \(1,\) integers"),
    ],
)
def test_clicks_that_tell_nothing_are_refused(clicks, partner, message):
    with pytest.raises(ArgumentError, match=message):
        estimate_exposure(clicks, partner=partner)


@given(curve=st.lists(st.floats(0.05, 1.0), min_size=1, max_size=8), beta=st.floats(0.2, 5.0))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_the_grid_by_brute_force(curve, beta):
    gap = reachable_gap(curve, [beta, 1.0])
    assert (gap.below, gap.above) == pytest.approx(brute_force(curve, beta), abs=1e-9)
    assert gap.exact


def test_known_grids():
    """Nearly flat exposure: the value nearest to zero is 1.037 at beta 1.22 and .301 at beta .477; zero at beta 1."""
    assert reachable_gap(PERFECT, [1.22, 1.0]).below == pytest.approx(-1.037, abs=5e-4)
    assert reachable_gap(PERFECT, [0.477, 1.0]).below == pytest.approx(-0.301, abs=5e-4)
    assert reachable_gap(PERFECT, [1.0, 1.0]).gap == 0.0
    for name in ("reciprocal", "logarithmic"):
        for beta in (1.0, 1.22, 0.477):
            assert reachable_gap(exposure_curve(name, 10), [beta, 1.0]).gap < 0.04


@pytest.mark.parametrize("beta", [1.22, 0.477, 3.3])
def test_the_least_tolerance_is_where_every_balance_can_be_kept(beta):
    """At least_tolerance each balance within it has a template that stays within; a little below, some has none."""
    curve = exposure_curve("logarithmic", 6)
    values = np.array([sum(p if a else -beta * p for p, a in zip(curve, t, strict=True)) for t in templates(6)])
    least = reachable_gap(curve, [beta, 1.0]).least_tolerance

    def always_kept(tolerance):
        balances = np.linspace(-tolerance, tolerance, 20_001)
        return (np.abs(balances[:, np.newaxis] + values).min(axis=1) <= tolerance + 1e-12).all()

    assert always_kept(least)
    assert not always_kept(0.99 * least)


@pytest.mark.parametrize("k", [17, 40, 101])
@pytest.mark.parametrize("beta", [1.0, 1.22, 99.0])
def test_flat_grids_of_any_length(k, beta):
    """a positions for one group and k - a for the other give a - beta (k - a)."""
    values = np.arange(k + 1) - beta * (k - np.arange(k + 1))
    gap = reachable_gap(np.ones(k), [beta, 1.0])
    if np.abs(values).min() < 1e-9:
        assert gap.gap == 0.0
    else:
        assert (gap.below, gap.above) == pytest.approx((values[values < 0].max(), values[values > 0].min()), abs=1e-9)


def test_long_lists_have_a_fine_grid():
    for name in ("reciprocal", "logarithmic"):
        gap = reachable_gap(exposure_curve(name, 120), [1.22, 1.0])
        assert gap.below < 0 < gap.above
        assert gap.gap < 1e-3
    lopsided = reachable_gap(exposure_curve("reciprocal", 100), [999.0, 1.0])
    total = (1.0 / np.arange(1, 101)).sum()  # one document of group 1 at the very bottom already overshoots
    assert (lopsided.below, lopsided.above) == pytest.approx((total - 0.01 - 9.99, total))


def test_the_grid_is_for_two_groups():
    with pytest.raises(ArgumentError, match="shares: expected two groups, got 3 groups"):
        reachable_gap([1.0, 0.5], [1.0, 1.0, 1.0])
