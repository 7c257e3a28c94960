"""The learner: exact where it says so, close to exact with bounded memory, and never NaN."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.rankers.pairrank.model import PairwiseLogistic
from tests.reference.pairrank import exact_theta


def noisy_preferences(rng, truth, n_rounds, scale=1.0):
    """Batches of preference rows that a logistic model with weights `truth` explains."""
    for _ in range(n_rounds):
        rows = scale * (rng.random((rng.integers(1, 12), len(truth))) - rng.random((1, len(truth))))
        preferred = rng.random(len(rows)) < 1 / (1 + np.exp(-rows @ truth))
        yield np.where(preferred[:, None], rows, -rows)


@pytest.mark.parametrize("regularization", [0.001, 0.1, 1.0])
def test_full_history_is_the_exact_minimiser(regularization):
    rng = np.random.default_rng(0)
    model = PairwiseLogistic(6, regularization=regularization, window=None)
    batches = []
    for rows in noisy_preferences(rng, rng.normal(size=6) * 3, 120):
        model.add(rows)
        batches.append(rows)
    assert model.theta == pytest.approx(exact_theta(np.vstack(batches), regularization), abs=1e-4)


def test_bounded_memory_agrees_with_the_exact_minimiser():
    """The relative gap in the exact objective stays below 1e-3 throughout and below 1e-4 in the end."""
    rng = np.random.default_rng(1)
    bounded = PairwiseLogistic(20, regularization=0.1, window=1024)
    exact = PairwiseLogistic(20, regularization=0.1, window=None)
    for number, rows in enumerate(noisy_preferences(rng, rng.normal(size=20) * 2, 2000), start=1):
        bounded.add(rows)
        exact.add(rows)
        if number in (50, 200, 500, 1000, 2000):
            gap = exact.objective(bounded.theta) / exact.objective(exact.theta) - 1
            assert gap <= (1e-4 if number == 2000 else 1e-3)
            if number == 50:
                assert bounded.theta == pytest.approx(exact.theta, abs=1e-6)  # all still in the window
    assert len(bounded.state()["rows"]) <= 1024


@pytest.mark.parametrize("precision", [1e-2, 1e-3, 1e-5])
def test_stops_within_the_precision_of_the_least_objective(precision):
    """Half of what the next step promises is left, give or take the age of the curvature."""
    rng = np.random.default_rng(4)
    coarse = PairwiseLogistic(20, regularization=1.0, window=None, precision=precision)
    exact = PairwiseLogistic(20, regularization=1.0, window=None)
    left = []
    for rows in noisy_preferences(rng, rng.normal(size=20) * 2, 150):
        coarse.add(rows)
        exact.add(rows)
        left.append(exact.objective(coarse.theta) - exact.objective(exact.theta))
    assert min(left) > -1e-8 and precision / 100 < max(left) < precision


def test_gradient_vanishes_at_the_estimate():
    rng = np.random.default_rng(2)
    model = PairwiseLogistic(5, regularization=0.1, window=16)
    for rows in noisy_preferences(rng, rng.normal(size=5), 60):
        model.add(rows)
    step = 1e-5 * np.eye(5)
    numeric = [(model.objective(model.theta + e) - model.objective(model.theta - e)) / 2e-5 for e in step]
    assert np.abs(numeric).max() < 1e-3


@pytest.mark.parametrize("window", [8, None])
@pytest.mark.parametrize(
    "rows",
    [
        np.ones((5, 3)),  # separable: always the same winner
        np.zeros((5, 3)),  # duplicate documents
        np.array([[1e8, 0.0, 1e-8]] * 4),
        np.array([[1e100, -1e100, 0.0]] * 3),
        np.eye(3) * 1e-200,
    ],
    ids=["separable", "duplicates", "badly scaled", "huge", "tiny"],
)
def test_theta_stays_finite(rows, window):
    model = PairwiseLogistic(3, regularization=0.01, window=window)
    for _ in range(40):
        model.add(rows)
        model.add(-rows[:1])
    assert np.isfinite(model.theta).all()


@given(seed=st.integers(0, 2**32 - 1), window=st.integers(1, 40), size=st.integers(1, 100))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_any_batch_size_fits_any_window(seed, window, size):
    rng = np.random.default_rng(seed)
    model = PairwiseLogistic(3, regularization=0.5, window=window)
    for _ in range(4):
        model.add(rng.normal(size=(size, 3)))
    assert np.isfinite(model.theta).all()
    assert 0 < len(model.state()["rows"]) <= min(window, 4 * size)


def test_state_continues_bit_for_bit():
    rng = np.random.default_rng(3)
    batches = list(noisy_preferences(rng, rng.normal(size=4), 80))
    for window in (32, None):
        model = PairwiseLogistic(4, regularization=0.1, window=window)
        for rows in batches[:40]:
            model.add(rows)
        copy = PairwiseLogistic(4, regularization=0.1, window=window)
        copy.restore(model.state())
        for rows in batches[40:]:
            model.add(rows)
            copy.add(rows)
        assert np.array_equal(model.theta, copy.theta)
