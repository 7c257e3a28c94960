"""How much has been seen of each direction in feature space: the matrix M of the paper and its inverse."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from fairexp.arrays import Floats, State

REFRESH_EVERY = 64
"""Additions between fresh inversions; rounding in the inverse cannot build up beyond that many."""


class Confidence:
    """M = regularization I + sum of x x^T over preference rows, with its inverse and log-determinant at hand.

    M itself is a plain sum, so it stays exact to rounding. The inverse follows by Woodbury's identity and is taken
    anew from M after every `REFRESH_EVERY` additions.

    >>> confidence = Confidence(2, regularization=0.5)
    >>> confidence.add(np.array([[1.0, -1.0]]))
    >>> float(np.round(np.array([1, -1]) @ confidence.inverse @ np.array([1, -1]), 6))
    0.8
    """

    def __init__(self, n_features: int, *, regularization: float) -> None:
        self.regularization = regularization
        self.matrix: Floats = regularization * np.eye(n_features)
        self.inverse: Floats = np.eye(n_features) / regularization
        self.log_det_ratio = 0.0
        """log(det M / det(regularization I))"""
        self._since_refresh = 0

    def add(self, rows: Floats) -> None:
        """Count the preference rows (m, d)."""
        if len(rows) == 0:
            return
        self.matrix += rows.T @ rows
        self._since_refresh += 1
        if self._since_refresh >= REFRESH_EVERY or len(rows) >= self.matrix.shape[0]:
            self._refresh()
            return
        projected = rows @ self.inverse
        middle = projected @ rows.T
        middle.flat[:: len(rows) + 1] += 1.0
        factor, info = lapack.dpotrf(middle, lower=1)
        if info != 0:
            self._refresh()
            return
        half = lapack.dtrtrs(factor, projected, lower=1)[0]
        self.inverse -= half.T @ half
        self.log_det_ratio += 2.0 * float(np.log(np.diag(factor)).sum())

    def _refresh(self) -> None:
        # Scaling to a unit diagonal first keeps badly scaled features from costing digits.
        scale = 1.0 / np.sqrt(np.diag(self.matrix))
        factor, info = lapack.dpotrf(self.matrix * scale * scale[:, None], lower=1)
        if info != 0:
            values, vectors = np.linalg.eigh(self.matrix * scale * scale[:, None])
            values = np.maximum(values, np.finfo(float).eps * values[-1])
            inverse = (vectors / values) @ vectors.T
            log_det = float(np.log(values).sum())
        else:
            inverse = np.tril(lapack.dpotri(factor, lower=1)[0])
            inverse += np.tril(inverse, -1).T
            log_det = 2.0 * float(np.log(np.diag(factor)).sum())
        self.inverse = inverse * scale * scale[:, None]
        self.log_det_ratio = log_det - 2.0 * float(np.log(scale).sum()) - len(scale) * np.log(self.regularization)
        self._since_refresh = 0

    def state(self) -> State:
        return {
            "matrix": self.matrix.copy(),
            "inverse": self.inverse.copy(),
            "scalars": np.array([self.log_det_ratio, self._since_refresh]),
        }

    def restore(self, arrays: State) -> None:
        self.matrix = np.array(arrays["matrix"], dtype=np.float64)
        self.inverse = np.array(arrays["inverse"], dtype=np.float64)
        log_det_ratio, since_refresh = np.asarray(arrays["scalars"], dtype=np.float64)
        self.log_det_ratio, self._since_refresh = float(log_det_ratio), int(since_refresh)
