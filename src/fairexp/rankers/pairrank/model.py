"""Pairwise logistic regression that learns online at a flat cost per round.

The objective is the paper's: the sum over all preference rows x so far of log(1 + exp(-x . theta)), each times what the
row weighs, plus (regularization / 2) ||theta||^2, or the same around a prior's weights, on the scale of the clicks, and
as steep as the observations that they are worth. The latest rows, up to `window` of them, enter exactly.
Older ones enter through the quadratic that touches their loss (same gradient, same curvature) at the estimate when they
left the window, half of it at a time, so memory and cost do not grow with history. With `window=None` every row stays,
and theta is the exact minimiser.

Each update takes a few Newton-like steps, until the next one promises to lower the objective by less than `precision`.
The gradient is exact. The curvature is that of when each row was taken into it, and its Cholesky factor is taken anew
only when enough rows have been added; both are made fresh when progress is slow. A step that does not lower the
objective is halved.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from fairexp.arrays import Floats, State
from fairexp.kernels.pairrank.cholesky import solve_factored
from fairexp.kernels.pairrank.logistic import follow, slopes
from fairexp.prior import Prior
from fairexp.rankers.pairrank.evidence import Evidence
from fairexp.remap import NEW, Remap

MAX_STEPS = 50
STEPS_BEFORE_FRESH_CURVATURE = 4
DOUBT = 5.0
"""How many times the regularization that evidence chooses is that for documents which were never learned from."""
FACTOR_SHARE = 2
"""The factor is taken anew when the rows added since are as many as this part of the features."""


class PairwiseLogistic:
    """theta (d,) of the pairwise model, fitted to preference rows as they come.

    >>> model = PairwiseLogistic(1, regularization=1.0)
    >>> model.add(np.array([[1.0]]))
    >>> float(model.theta[0].round(3))  # the root of theta = 1 / (1 + exp(theta))
    0.401
    """

    def __init__(
        self,
        n_features: int,
        *,
        regularization: float | Floats,
        window: int | None = 1024,
        precision: float = 1e-9,
        prior: Prior | None = None,
    ) -> None:
        self.window = window
        self.precision = precision
        # The regularizer: how steep (d,), and around where (d,): the prior's weights, on the scale of the clicks.
        self._believed: Floats = np.zeros(n_features) if prior is None else prior.curvature
        self.start_from(np.full(n_features, regularization, dtype=np.float64))
        self._prior: Floats = np.zeros(n_features) if prior is None else prior.weights
        self.scale = 1.0
        self.theta: Floats = self._centre.copy()
        # Folded rows: gradient `curvature theta - offset`, with the regularizer included.
        self._curvature: Floats = np.diag(self._steepness)
        self._offset: Floats = self._steepness * self._centre
        # Rows in the window, oldest first, with what each weighs, their margins x . theta and the sum of their losses.
        self._rows: Floats = np.zeros((window or 256, n_features))
        self._weights: Floats = np.zeros(len(self._rows))
        self._margins: Floats = np.zeros(len(self._rows))
        self._n_rows = 0
        self._loss = 0.0
        # Of the whole objective; the newest `_n_pending` rows are not in the curvature yet.
        self._gradient: Floats = np.zeros(n_features)
        self._hessian: Floats = self._curvature.copy()
        self._n_pending = 0
        self._set_factor(np.diag(np.sqrt(self._steepness)))
        # From theta to the estimate for documents never learned from, as it was when evidence was last followed.
        self._doubt: Floats = np.zeros(n_features)

    def add(self, rows: Floats, weight: float = 1.0) -> None:
        """Learn from preference rows (m, d), winner minus loser, that weigh so much each."""
        if len(rows) == 0:
            return
        most = self.window or len(rows)
        for first in range(0, len(rows), most):
            self._insert(rows[first : first + most], weight)
        self._fit()

    def objective(self, theta: Floats) -> float:
        """The value (up to a constant once rows have been folded) at `theta`."""
        loss, _, _ = _fresh(self._rows[: self._n_rows], self._weights[: self._n_rows], theta)
        return loss + self._quadratic(theta, self._curvature @ theta)

    def _quadratic(self, theta: Floats, bent: Floats) -> float:
        """The folded rows' part of the objective, where `bent` (d,) is the folded curvature times theta."""
        return float(theta @ (0.5 * bent - self._offset))

    @property
    def theta_of_new(self) -> Floats:
        """The estimate (d,) for documents that were never learned from: see `follow_evidence`."""
        return self.theta + self._doubt

    @property
    def _centre(self) -> Floats:
        return self.scale * self._prior

    @property
    def regularization(self) -> float:
        """Of a feature on average."""
        return float(self.ridge.mean())

    def follow_evidence(self) -> Floats:
        """Let the regularization (d,) be what makes the clicks so far most likely, and return it; theta follows.

        So does the scale of a prior's weights.

        It is evidence of the documents that were shown, which come again, and says too much of those that never were:
        `theta_of_new` is theta with `DOUBT` times the regularization, a Newton step away, and made as long as theta, so
        that no more is explored of them.
        """
        self._refresh_curvature(self._margins[: self._n_rows])
        before, held = self._steepness, self._steepness * self._centre
        seen, pulled = self._hessian - np.diag(before), self._hessian @ self.theta - self._gradient - held
        evidence = Evidence(seen, pulled, self._centre, self._believed)
        if self._prior.any():
            self.scale = evidence.scale(self._prior, self.ridge)
            evidence = evidence._replace(centre=self._centre)
        shape = evidence.best_shape(self.regularization)
        self.start_from(evidence.step(self.theta, self.regularization, shape) * shape)
        steeper, moved = self._steepness - before, self._steepness * self._centre - held
        for matrix in (self._curvature, self._hessian):
            matrix.flat[:: len(self.theta) + 1] += steeper
        self._offset = self._offset + moved
        self._gradient = self._gradient + steeper * self.theta - moved
        self._factorise()
        self._fit()
        self._doubt = self._doubted() - self.theta
        return self.ridge

    def _doubted(self) -> Floats:
        """theta (d,) with `DOUBT` times the regularization, as long as theta is."""
        extra = (DOUBT - 1.0) * self.ridge
        pulled = self.theta - np.linalg.solve(self._hessian + np.diag(extra), extra * (self.theta - self._centre))
        length = sqrt(pulled @ pulled)
        return pulled * (sqrt(self.theta @ self.theta) / length) if length > 0.0 else self.theta

    def start_from(self, ridge: Floats) -> None:
        """Take the regularizer to be this steep (d,), beside what a prior makes it."""
        self.ridge: Floats = ridge
        self._steepness: Floats = ridge + self._believed

    def ridge_of(self, remap: Remap) -> Floats:
        """The regularization (d,) of the features there are after a change; of those that are new, the average."""
        new = remap.features == NEW
        return np.where(new, self.regularization, self.ridge[np.where(new, 0, remap.features)])

    def take_over(self, before: PairwiseLogistic, remap: Remap) -> None:
        """Go on from a model of other features, another window or another regularization, at the same scores.

        Rows lose the features that are gone and are 0 in those that are new, and so does the quadratic of older ones.
        theta stays as it is, and is the prior's where a feature is new; the next update brings it to the least of the
        objective that is left. Another prior takes effect at once.
        """
        n_features, new = len(self.theta), remap.features == NEW
        same_prior = np.allclose(remap.weights(before._prior)[~new], self._prior[~new], rtol=1e-9, atol=0.0)
        self.scale = before.scale if same_prior else 1.0
        seen = before._curvature - np.diag(before._steepness)
        self._curvature = np.diag(self._steepness) + remap.square(seen)
        pulled = before._offset - before._steepness * before._centre
        self._offset = remap.moment(pulled) + self._steepness * self._centre
        self.theta = np.where(new, self._centre, remap.weights(before.theta))
        self._n_rows = before._n_rows
        size = max(self.window or 256, self._n_rows)
        self._rows, self._weights, self._margins = np.zeros((size, n_features)), np.zeros(size), np.zeros(size)
        self._rows[: self._n_rows] = remap.rows(before._rows[: self._n_rows])
        self._weights[: self._n_rows] = before._weights[: self._n_rows]
        self._fold(max(self._n_rows - self.window, 0) if self.window else 0)
        if self.window:
            held = (self._rows, self._weights, self._margins)
            self._rows, self._weights, self._margins = (array[: self.window].copy() for array in held)
        self._doubt = remap.weights(before._doubt)
        if not same_prior:
            self._fit()

    def _insert(self, rows: Floats, weight: float) -> None:
        needed = self._n_rows + len(rows)
        if needed > len(self._rows):
            self._fold(max(needed - len(self._rows), len(self._rows) // 2)) if self.window else self._grow(needed)
        new = slice(self._n_rows, self._n_rows + len(rows))
        self._rows[new], self._weights[new] = rows, weight
        loss, self._margins[new], pulled = _fresh(self._rows[new], self._weights[new], self.theta)
        self._loss += loss
        self._gradient -= pulled
        self._n_rows = new.stop
        self._n_pending += len(rows)

    def _grow(self, needed: int) -> None:
        extra = max(needed, 2 * len(self._rows)) - len(self._rows)
        self._rows = np.vstack([self._rows, np.zeros((extra, self._rows.shape[1]))])
        self._weights, self._margins = (
            np.concatenate([array, np.zeros(extra)]) for array in (self._weights, self._margins)
        )

    def _fold(self, n_oldest: int) -> None:
        """Replace the oldest rows by the quadratic that touches their loss here, and count the rest afresh."""
        n_folded = min(n_oldest, self._n_rows)
        n_left = self._n_rows - n_folded
        rows, weights = self._rows[:n_folded], self._weights[:n_folded]
        _, margins, pulled = _fresh(rows, weights, self.theta)
        self._curvature += _weighted_square(rows, margins, weights)
        self._offset += pulled + (slopes(margins, weights) * margins) @ rows
        for array in (self._rows, self._weights):
            array[:n_left] = array[n_folded : self._n_rows].copy()
        self._n_rows = n_left
        self._loss, margins, pulled = _fresh(self._rows[:n_left], self._weights[:n_left], self.theta)
        self._margins[:n_left] = margins
        self._gradient = self._curvature @ self.theta - self._offset - pulled
        self._refresh_curvature(margins)

    def _fit(self) -> None:
        n = self._n_rows
        rows, weights, margins = self._rows[:n], self._weights[:n], self._margins[:n]
        theta, gradient, loss = self.theta, self._gradient, self._loss
        bent, step = self._curvature @ theta, np.empty_like(theta)
        value = loss + self._quadratic(theta, bent)
        if self._n_pending >= max(1, len(theta) // FACTOR_SHARE):
            self._take_pending(margins)
        for step_number in range(1, MAX_STEPS + 1):
            solve_factored(self._factor, self._upper, -gradient, step)
            decrease = -float(gradient @ step)
            if not decrease > self.precision:
                break
            bending, length = self._curvature @ step, 1.0
            while True:
                to, to_bent = theta + length * step, bent + length * bending
                to_loss, to_margins, pulled = follow(rows, weights, margins, length * step)
                to_value = to_loss + self._quadratic(to, to_bent)
                if to_value <= value - 1e-4 * length * decrease or length < 1e-6:
                    break
                length /= 2.0
            if not to_value <= value:
                break
            theta, bent, margins, loss, value = to, to_bent, to_margins, to_loss, to_value
            gradient = bent - self._offset - pulled
            if step_number % STEPS_BEFORE_FRESH_CURVATURE == 0:
                self._refresh_curvature(margins)
        self.theta, self._gradient, self._loss = theta, gradient, float(loss)
        self._margins[:n] = margins

    def _take_pending(self, margins: Floats) -> None:
        """Take the newest rows into the curvature; what the others add to it stays as it was."""
        first = self._n_rows - self._n_pending
        newest = slice(first, self._n_rows)
        self._hessian += _weighted_square(self._rows[newest], margins[first:], self._weights[newest])
        self._factorise()

    def _refresh_curvature(self, margins: Floats) -> None:
        rows, weights = self._rows[: self._n_rows], self._weights[: self._n_rows]
        self._hessian = self._curvature + _weighted_square(rows, margins, weights)
        self._factorise()

    def _factorise(self) -> None:
        """The Cholesky factor of the curvature; rounding may cost it definiteness, then a little ridge is added."""
        ridge, self._n_pending = 0.0, 0
        while True:
            matrix = self._hessian + ridge * np.diag(np.diag(self._hessian)) if ridge else self._hessian
            try:
                self._set_factor(np.asarray(np.linalg.cholesky(matrix), dtype=np.float64))
            except np.linalg.LinAlgError:
                ridge = max(10.0 * ridge, 1e-14)
            else:
                return

    def _set_factor(self, factor: Floats) -> None:
        self._factor, self._upper = factor, np.ascontiguousarray(factor.T)

    def state(self) -> State:
        return {
            "theta": self.theta.copy(),
            "curvature": self._curvature.copy(),
            "offset": self._offset.copy(),
            "hessian": self._hessian.copy(),
            "factor": self._factor.copy(),
            "gradient": self._gradient.copy(),
            "loss": np.array(self._loss),
            "rows": self._rows[: self._n_rows].copy(),
            "weights": self._weights[: self._n_rows].copy(),
            "margins": self._margins[: self._n_rows].copy(),
            "n_pending": np.array(self._n_pending, dtype=np.int64),
            "ridge": self.ridge.copy(),
            "scale": np.array(self.scale),
            "doubt": self._doubt.copy(),
        }

    def restore(self, arrays: State) -> None:
        self.theta = np.array(arrays["theta"], dtype=np.float64)
        self._curvature = np.array(arrays["curvature"], dtype=np.float64)
        self._offset = np.array(arrays["offset"], dtype=np.float64)
        self._hessian = np.array(arrays["hessian"], dtype=np.float64)
        self._set_factor(np.array(arrays["factor"], dtype=np.float64))
        self._gradient = np.array(arrays["gradient"], dtype=np.float64)
        self._loss = float(arrays["loss"])
        self._n_pending = int(arrays["n_pending"])
        self.start_from(np.array(arrays["ridge"], dtype=np.float64))
        self.scale = float(arrays["scale"])
        self._doubt = np.array(arrays["doubt"], dtype=np.float64)
        self._n_rows = len(arrays["rows"])
        size = self.window or max(256, self._n_rows)
        self._rows, self._weights, self._margins = np.zeros((size, len(self.theta))), np.zeros(size), np.zeros(size)
        self._rows[: self._n_rows] = arrays["rows"]
        self._weights[: self._n_rows] = arrays["weights"]
        self._margins[: self._n_rows] = arrays["margins"]


def _fresh(rows: Floats, weights: Floats, theta: Floats) -> tuple[float, Floats, Floats]:
    """The loss of these rows at `theta`, their margins and the negative gradient."""
    return follow(rows, weights, np.zeros(len(rows)), theta)


def _weighted_square(rows: Floats, margins: Floats, weights: Floats) -> Floats:
    """The curvature (d, d) of the loss of these rows: the sum of w sigma'(z) x x^T."""
    scaled = rows * np.sqrt(slopes(margins, weights))[:, None]
    return np.asarray(scaled.T @ scaled)
