"""The matrix M, its inverse and its determinant."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp.rankers.pairrank.widths import Confidence


def test_width_before_and_after_seeing_a_pair():
    """lambda = .5, alpha = .1, x = (1, -1): width .2, after the pair .08944."""
    x = np.array([1.0, -1.0])
    confidence = Confidence(2, regularization=0.5)
    assert 0.1 * np.sqrt(x @ confidence.inverse @ x) == pytest.approx(0.2)
    confidence.add(x[None, :])
    assert 0.1 * np.sqrt(x @ confidence.inverse @ x) == pytest.approx(0.08944, abs=1e-5)


@pytest.mark.parametrize("spread", [0.0, 4.0], ids=["even", "badly scaled"])
def test_inverse_and_determinant_do_not_drift(spread):
    """Relative error against a fresh factorisation stays below 1e-6 with features over eight orders of magnitude."""
    rng = np.random.default_rng(0)
    scale = 10.0 ** rng.uniform(-spread, spread, size=8)
    confidence = Confidence(8, regularization=0.1)
    for _ in range(100_000):
        confidence.add(rng.normal(size=(rng.integers(0, 3), 8)) * scale)
    fresh = np.linalg.inv(confidence.matrix / np.outer(scale, scale)) / np.outer(scale, scale)
    assert np.abs(confidence.inverse / fresh - 1).max() < 1e-6
    sign, log_det = np.linalg.slogdet(confidence.matrix)
    assert sign == 1
    assert confidence.log_det_ratio == pytest.approx(log_det - 8 * np.log(0.1), rel=1e-6)


def test_more_rows_than_features_at_once():
    rng = np.random.default_rng(1)
    confidence = Confidence(3, regularization=1.0)
    confidence.add(rng.normal(size=(50, 3)))
    assert confidence.inverse @ confidence.matrix == pytest.approx(np.eye(3), abs=1e-9)
