"""Pairwise logistic regression that learns online at a flat cost per round.

The objective is the paper's: the sum over all preference rows x so far of log(1 + exp(-x . theta)), plus
(regularization / 2) ||theta||^2. The latest `window` rows enter exactly. Older ones enter through the quadratic that
touches their loss (same gradient, same curvature) at the estimate when they left the window, so memory and cost do
not grow with history. With `window=None` every row stays, and theta is the exact minimiser.

Each update takes a few Newton-like steps: the gradient is exact, the curvature is that of when each row came in (a
fresh one is taken when progress is slow), and a step that does not lower the objective is halved.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from fairexp.arrays import Floats, State
from fairexp.kernels.logistic import loss_and_pull

MAX_STEPS = 50
STEPS_BEFORE_FRESH_CURVATURE = 4


class PairwiseLogistic:
    """theta (d,) of the pairwise model, fitted to preference rows as they come.

    >>> model = PairwiseLogistic(1, regularization=1.0)
    >>> model.add(np.array([[1.0]]))
    >>> float(model.theta[0].round(3))  # the root of theta = 1 / (1 + exp(theta))
    0.401
    """

    def __init__(
        self, n_features: int, *, regularization: float, window: int | None = 1024, precision: float = 1e-9
    ) -> None:
        self.regularization = regularization
        self.window = window
        self.precision = precision
        self.theta: Floats = np.zeros(n_features)
        # Folded rows: gradient `curvature theta - offset`, with the regularizer included.
        self._curvature: Floats = regularization * np.eye(n_features)
        self._offset: Floats = np.zeros(n_features)
        # Rows in the window, a ring: features, margins x . theta, and the weights they have in `_hessian`.
        self._rows: Floats = np.zeros((window or 256, n_features))
        self._margins: Floats = np.zeros(len(self._rows))
        self._weights: Floats = np.zeros(len(self._rows))
        self._hessian: Floats = self._curvature.copy()
        self._n_rows = 0
        self._next = 0

    def add(self, rows: Floats) -> None:
        """Learn from preference rows (m, d), winner minus loser."""
        if len(rows) == 0:
            return
        for part in np.array_split(rows, -(-len(rows) // self.window)) if self.window else [rows]:
            self._insert(part)
        self._fit()

    def objective(self, theta: Floats) -> float:
        """The value (up to a constant once rows have been folded) at `theta`."""
        return self._value(theta, loss_and_pull(self._rows[: self._n_rows] @ theta)[0])

    def _insert(self, rows: Floats) -> None:
        if self.window is None:
            self._make_room(len(rows))
        at = (self._next + np.arange(len(rows))) % len(self._rows)
        leaving = at[at < self._n_rows]
        if len(leaving):
            self._fold(leaving)
        margins = rows @ self.theta
        weights = _curvature_weights(margins)
        self._rows[at], self._margins[at], self._weights[at] = rows, margins, weights
        self._hessian += (rows.T * weights) @ rows
        self._next = int((at[-1] + 1) % len(self._rows))
        self._n_rows = min(self._n_rows + len(rows) - len(leaving), len(self._rows))

    def _make_room(self, n_more: int) -> None:
        needed = self._n_rows + n_more
        if needed >= len(self._rows):
            extra = max(needed + 1, 2 * len(self._rows)) - len(self._rows)
            self._rows = np.vstack([self._rows, np.zeros((extra, self._rows.shape[1]))])
            self._margins = np.concatenate([self._margins, np.zeros(extra)])
            self._weights = np.concatenate([self._weights, np.zeros(extra)])
            self._next = self._n_rows

    def _fold(self, at: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        """Replace the rows at these places of the ring by the quadratic that touches their loss here."""
        rows, margins = self._rows[at], self._margins[at]
        weights = _curvature_weights(margins)
        pull = loss_and_pull(margins)[1]
        self._curvature += (rows.T * weights) @ rows
        self._offset += rows.T @ (pull + weights * margins)
        self._hessian += (rows.T * (weights - self._weights[at])) @ rows

    def _fit(self) -> None:
        rows, margins = self._rows[: self._n_rows], self._margins[: self._n_rows]
        theta = self.theta
        loss, pull = loss_and_pull(margins)
        value = self._value(theta, loss)
        factor = self._factor()
        for step_number in range(MAX_STEPS):
            gradient = self._curvature @ theta - self._offset - rows.T @ pull
            step = -lapack.dpotrs(factor, gradient, lower=1)[0]
            decrease = -float(gradient @ step)
            if not decrease > self.precision:
                break
            moved = rows @ step
            length = 1.0
            while True:
                loss, pull = loss_and_pull(margins + length * moved)
                candidate = self._value(theta + length * step, loss)
                if candidate <= value - 1e-4 * length * decrease or length < 1e-6:
                    break
                length /= 2.0
            if not candidate <= value:
                break
            theta, margins, value = theta + length * step, margins + length * moved, candidate
            if step_number % STEPS_BEFORE_FRESH_CURVATURE == STEPS_BEFORE_FRESH_CURVATURE - 1:
                self._refresh_curvature(margins)
                factor = self._factor()
        self.theta = theta
        self._margins[: self._n_rows] = margins

    def _value(self, theta: Floats, loss: float) -> float:
        return loss + float(theta @ (0.5 * (self._curvature @ theta) - self._offset))

    def _refresh_curvature(self, margins: Floats) -> None:
        rows = self._rows[: self._n_rows]
        self._weights[: self._n_rows] = _curvature_weights(margins)
        self._hessian = self._curvature + (rows.T * self._weights[: self._n_rows]) @ rows

    def _factor(self) -> Floats:
        """The Cholesky factor of the curvature; rounding may cost it definiteness, then a little ridge is added."""
        ridge = 0.0
        while True:
            matrix = self._hessian
            if ridge:
                matrix = matrix + ridge * np.diag(np.diag(matrix))
            factor, info = lapack.dpotrf(matrix, lower=1)
            if info == 0:
                return np.asarray(factor)
            ridge = max(10.0 * ridge, 1e-14)

    def state(self) -> State:
        return {
            "theta": self.theta.copy(),
            "curvature": self._curvature.copy(),
            "offset": self._offset.copy(),
            "hessian": self._hessian.copy(),
            "rows": self._rows[: self._n_rows].copy(),
            "margins": self._margins[: self._n_rows].copy(),
            "weights": self._weights[: self._n_rows].copy(),
            "next": np.array(self._next, dtype=np.int64),
        }

    def restore(self, arrays: State) -> None:
        self.theta = np.array(arrays["theta"], dtype=np.float64)
        self._curvature = np.array(arrays["curvature"], dtype=np.float64)
        self._offset = np.array(arrays["offset"], dtype=np.float64)
        self._hessian = np.array(arrays["hessian"], dtype=np.float64)
        self._n_rows = len(arrays["rows"])
        size = self.window or max(256, self._n_rows + 1)
        self._rows = np.zeros((size, len(self.theta)))
        self._margins, self._weights = np.zeros(size), np.zeros(size)
        self._rows[: self._n_rows] = arrays["rows"]
        self._margins[: self._n_rows] = arrays["margins"]
        self._weights[: self._n_rows] = arrays["weights"]
        self._next = int(arrays["next"])


def _curvature_weights(margins: Floats) -> Floats:
    """sigma'(z) (m,) at margins z."""
    tail = np.exp(-np.abs(margins))
    return np.asarray(tail / (1.0 + tail) ** 2)
