"""Ridge regression that takes its rows as they come, at O(m d^2) for m new rows."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Floats, State
from fairexp.kernels.algebra.regression import absorb, add_rows, mirror
from fairexp.remap import Remap

REFRESH_EVERY = 500
"""Updates of the inverse between two inversions of the exact matrix: rounding errors cannot pile up for longer."""

MAX_LEVERAGE = 1e8
"""A row this far outside what was seen would cost the updated inverse its digits; the exact one is inverted then."""


class OnlineRidge:
    """Least squares with the penalty `regularization` * ||w||^2: `weights` (d,) after any number of rows.

    >>> model = OnlineRidge(2, regularization=1.0)
    >>> model.add(np.eye(2), np.array([1.0, 3.0]))
    >>> model.weights.round(12)
    array([0.5, 1.5])
    """

    def __init__(self, n_features: int, *, regularization: float) -> None:
        self._regularization = regularization
        self._sums: Floats = regularization * np.eye(n_features)
        self._inverse: Floats = np.eye(n_features) / regularization
        self._moment: Floats = np.zeros(n_features)
        self._since_refresh = 0
        self.log_det_ratio = 0.0
        """log(det M / det(regularization I)); how much has been seen of all directions together."""
        self.weights: Floats = np.zeros(n_features)

    def add(self, rows: Floats, targets: Floats) -> None:
        """Add `rows` (m, d) with their `targets` (m,)."""
        add_rows(self._sums, rows)
        self._moment += targets @ rows
        self._since_refresh += 1
        spread = rows @ self._inverse
        due = self._since_refresh >= REFRESH_EVERY
        gained = -np.inf if due else absorb(self._inverse, spread, spread @ rows.T, MAX_LEVERAGE)
        if gained == -np.inf:
            self._refresh()
        else:
            self.log_det_ratio += gained
        self.weights = self._inverse @ self._moment

    @property
    def _matrix(self) -> Floats:
        """The sum of x x^T with its penalty (d, d); of it only the upper half is kept up to date with each row."""
        mirror(self._sums)
        return self._sums

    def squared_widths(self, rows: Floats) -> Floats:
        """x^T M^-1 x (m,) for each of `rows` (m, d), where M is the matrix of all rows so far with its penalty."""
        return np.asarray(np.maximum(np.einsum("ij,ij->i", rows @ self._inverse, rows), 0.0))

    def take_over(self, before: OnlineRidge, remap: Remap) -> None:
        """Go on from rows of other features: those that are gone leave, those that are new were 0.

        Weights stay as they are; the next rows bring them to the least squares that are left.
        """
        self._sums = remap.square(before._matrix - before._regularization * np.eye(len(before.weights)))
        self._sums.flat[:: len(self._sums) + 1] += self._regularization
        self._moment = remap.moment(before._moment)
        self._refresh()
        self.weights = remap.weights(before.weights)

    def state(self) -> State:
        """All that `restore` needs, as arrays."""
        return {
            "matrix": self._matrix.copy(),
            "inverse": self._inverse.copy(),
            "moment": self._moment.copy(),
            "since_refresh": np.array(self._since_refresh, dtype=np.int64),
            "log_det_ratio": np.array(self.log_det_ratio),
            "weights": self.weights.copy(),
        }

    def restore(self, arrays: State) -> None:
        """Continue from the arrays of `state`."""
        self._sums = np.array(arrays["matrix"], dtype=np.float64)
        self._inverse = np.array(arrays["inverse"], dtype=np.float64)
        self._moment = np.array(arrays["moment"], dtype=np.float64)
        self._since_refresh = int(arrays["since_refresh"])
        self.log_det_ratio = float(arrays["log_det_ratio"])
        self.weights = np.array(arrays["weights"], dtype=np.float64)

    def _refresh(self) -> None:
        """Invert the exact matrix; no eigenvalue lies below the regularization, whatever rounding says."""
        values, vectors = np.linalg.eigh(self._matrix)
        values = np.maximum(values, self._regularization)
        self._inverse = np.ascontiguousarray((vectors / values) @ vectors.T)
        self.log_det_ratio = float(np.log(values / self._regularization).sum())
        self._since_refresh = 0
