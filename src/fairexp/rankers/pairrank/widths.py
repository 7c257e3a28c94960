"""How much has been seen of each direction in feature space: the matrix M of the paper and its inverse."""

from __future__ import annotations

from math import inf

import numpy as np

from fairexp.arrays import Floats, State
from fairexp.kernels.algebra.regression import absorb
from fairexp.prior import Prior
from fairexp.remap import Remap

REFRESH_EVERY = 64
"""Additions between fresh inversions; rounding in the inverse cannot build up beyond that many."""

MAX_LEVERAGE = 1e8
"""A row this far outside what was seen would cost the inverse its digits; it is taken anew then."""


class Confidence:
    """M = `start` + sum of x x^T over preference rows, with its inverse and log-determinant at hand.

    `start` (d,) is the diagonal that M begins with: the regularization, and what a prior counts as seen.

    M itself is a plain sum, so it stays exact to rounding; rows wait to be added to it until it is needed. The inverse
    follows by Woodbury's identity and is taken anew from M after every `REFRESH_EVERY` additions.

    >>> confidence = Confidence(2, regularization=0.5)
    >>> confidence.add(np.array([[1.0, -1.0]]))
    >>> float(np.round(np.array([1, -1]) @ confidence.inverse @ np.array([1, -1]), 6))
    0.8
    """

    def __init__(self, n_features: int, *, regularization: float, prior: Prior | None = None) -> None:
        self._believed: Floats = np.zeros(n_features) if prior is None else prior.seen
        self.start_from(np.full(n_features, regularization, dtype=np.float64))
        self._matrix: Floats = np.diag(self.start)
        self._waiting: list[Floats] = []
        self.inverse: Floats = np.diag(1.0 / self.start)
        self.log_det_ratio = 0.0
        """log(det M / det(start))"""

    @property
    def matrix(self) -> Floats:
        """M (d, d)."""
        waiting = self._stacked()
        return np.asarray(self._matrix + waiting.T @ waiting)

    def add(self, rows: Floats) -> None:
        """Count the preference rows (m, d)."""
        if len(rows) == 0:
            return
        self._waiting.append(rows)
        if len(self._waiting) >= REFRESH_EVERY or len(rows) >= len(self._matrix):
            self._refresh()
            return
        spread = rows @ self.inverse
        gained = absorb(self.inverse, spread, spread @ rows.T, MAX_LEVERAGE)
        if gained == -inf:
            self._refresh()
        else:
            self.log_det_ratio += gained

    def regularize(self, ridge: Floats) -> None:
        """Let M start from this diagonal (d,), beside what a prior counts as seen."""
        self._matrix.flat[:: len(self._matrix) + 1] += ridge - self.ridge
        self.start_from(ridge)
        self._invert(self.matrix)

    def start_from(self, ridge: Floats) -> None:
        """Take M to have started from this diagonal (d,)."""
        self.ridge: Floats = ridge
        self.start: Floats = ridge + self._believed

    def take_over(self, before: Confidence | DiagonalConfidence, remap: Remap) -> None:
        """Go on from what was seen before; nothing has been seen of a feature that is new."""
        self._matrix = remap.square(before.seen)
        self._matrix.flat[:: len(self._matrix) + 1] += self.start
        self._waiting = []
        self._refresh()

    @property
    def seen(self) -> Floats:
        """M (d, d) without what it began with."""
        return self.matrix - np.diag(self.start)

    def weigh(self, features: Floats) -> Floats:
        """`features` (n, d) times the inverse."""
        return np.asarray(features @ self.inverse)

    def _refresh(self) -> None:
        self._matrix = self.matrix
        self._waiting = []
        self._invert(self._matrix)

    def _invert(self, matrix: Floats) -> None:
        # Scaling to a unit diagonal first keeps badly scaled features from costing digits.
        scale = 1.0 / np.sqrt(np.diag(matrix))
        scaled = matrix * scale * scale[:, None]
        try:
            log_det = 2.0 * float(np.log(np.diag(np.linalg.cholesky(scaled))).sum())
            inverse = np.linalg.inv(scaled)
            inverse = 0.5 * (inverse + inverse.T)
        except np.linalg.LinAlgError:
            values, vectors = np.linalg.eigh(scaled)
            values = np.maximum(values, np.finfo(float).eps * values[-1])
            inverse = (vectors / values) @ vectors.T
            log_det = float(np.log(values).sum())
        self.inverse = np.ascontiguousarray(inverse * scale * scale[:, None])
        self.log_det_ratio = log_det - 2.0 * float(np.log(scale).sum()) - float(np.log(self.start).sum())

    def _stacked(self) -> Floats:
        return np.vstack(self._waiting) if self._waiting else np.zeros((0, len(self._matrix)))

    def state(self) -> State:
        return {
            "matrix": self._matrix.copy(),
            "waiting": self._stacked(),
            "counts": np.array([len(rows) for rows in self._waiting], dtype=np.int64),
            "inverse": self.inverse.copy(),
            "log_det_ratio": np.array(self.log_det_ratio),
            "ridge": self.ridge.copy(),
        }

    def restore(self, arrays: State) -> None:
        self._matrix = np.array(arrays["matrix"], dtype=np.float64)
        waiting, counts = np.array(arrays["waiting"], dtype=np.float64), np.asarray(arrays["counts"], dtype=np.int64)
        self._waiting = np.split(waiting, np.cumsum(counts)[:-1]) if len(counts) else []
        self.inverse = np.array(arrays["inverse"], dtype=np.float64)
        self.log_det_ratio = float(arrays["log_det_ratio"])
        self.start_from(np.array(arrays["ridge"], dtype=np.float64))


class DiagonalConfidence:
    """The same with only the diagonal of M: d numbers instead of d^2, for very many features.

    Features then count as if they were seen independently of each other, so widths are too small in directions that
    features share.
    """

    def __init__(self, n_features: int, *, regularization: float, prior: Prior | None = None) -> None:
        self._believed: Floats = np.zeros(n_features) if prior is None else prior.seen
        self.start_from(np.full(n_features, regularization, dtype=np.float64))
        self.diagonal: Floats = self.start.copy()

    @property
    def log_det_ratio(self) -> float:
        return float(np.log(self.diagonal / self.start).sum())

    def add(self, rows: Floats) -> None:
        """Count the preference rows (m, d)."""
        self.diagonal = self.diagonal + np.einsum("ij,ij->j", rows, rows)

    def regularize(self, ridge: Floats) -> None:
        """Let M start from this diagonal (d,), beside what a prior counts as seen."""
        self.diagonal = self.diagonal + (ridge - self.ridge)
        self.start_from(ridge)

    def start_from(self, ridge: Floats) -> None:
        """Take M to have started from this diagonal (d,)."""
        self.ridge: Floats = ridge
        self.start: Floats = ridge + self._believed

    def take_over(self, before: Confidence | DiagonalConfidence, remap: Remap) -> None:
        """Go on from what was seen before; nothing has been seen of a feature that is new."""
        self.diagonal = self.start + np.diag(remap.square(before.seen))

    @property
    def seen(self) -> Floats:
        """M (d, d) without what it began with."""
        return np.diag(self.diagonal - self.start)

    def weigh(self, features: Floats) -> Floats:
        """`features` (n, d) over the diagonal."""
        return np.asarray(features / self.diagonal)

    def state(self) -> State:
        return {"diagonal": self.diagonal.copy(), "ridge": self.ridge.copy()}

    def restore(self, arrays: State) -> None:
        self.start_from(np.array(arrays["ridge"], dtype=np.float64))
        self.diagonal = np.array(arrays["diagonal"], dtype=np.float64)
