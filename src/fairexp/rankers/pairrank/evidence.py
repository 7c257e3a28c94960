"""Which regularizer makes clicks most likely, by Laplace's approximation: what they say of theta is taken as normal."""

from __future__ import annotations

from math import exp, inf, isfinite
from typing import NamedTuple

import numpy as np

from fairexp.arrays import Floats
from fairexp.kernels.pairrank.cholesky import solve_lower

LEAST, MOST = 1.0, 1e4
"""Between which evidence may choose the regularization."""

SURE_OF_SCALE = 30.0
"""How sure a prior is of its weights' scale before any click, as 1 / variance: it may well be off by a fifth."""

FLOOR = 0.01
"""The least curvature that a feature counts with, of the average one's: of what was hardly seen little is believed."""


class Evidence(NamedTuple):
    """What clicks say of theta: a loss of curvature `seen` (d, d) whose gradient is `seen theta - pulled` (d,).

    The regularizer is around `centre` (d,), and `believed` (d,) is how steep a prior makes it besides.
    """

    seen: Floats
    pulled: Floats
    centre: Floats
    believed: Floats

    def best_shape(self, regularization: float) -> Floats:
        """What part (d,) of the regularization each feature is to have; 1 on average.

        As much for each of them believes in weights of one size; by how much the clicks show of each, in effects
        of one size, whatever its unit. What clicks make likely is taken, or something between in the measure of that.

        >>> seen, even = np.diag([8.0, 2.0]), np.zeros(2)
        >>> weights, effects = (Evidence(seen, seen @ theta, even, even) for theta in ([1, 1], [1, 2]))
        >>> weights.best_shape(9.0).round(2), effects.best_shape(9.0).round(2)
        (array([1.29, 0.71]), array([1.37, 0.63]))
        """
        shown = self.seen.diagonal()
        if not shown.mean() > 0.0:
            return np.ones_like(shown)
        by_spread = _of_mean_one(np.maximum(shown / shown.mean(), FLOOR))
        lead = self.log_evidence(regularization * by_spread) - self.log_evidence(np.full(len(shown), regularization))
        if not isfinite(lead):  # rounding has cost the curvature its definiteness: neither is spoken for
            lead = 0.0
        return _of_mean_one(by_spread ** (1.0 / (1.0 + exp(-min(max(lead, -50.0), 50.0)))))

    def log_evidence(self, ridge: Floats) -> float:
        """The logarithm of how likely clicks are, up to a constant, if the regularizer is this steep (d,)."""
        steepness = ridge + self.believed
        try:
            factor = np.asarray(np.linalg.cholesky(self.seen + np.diag(steepness)), dtype=np.float64)
        except np.linalg.LinAlgError:
            return -inf
        fitted = self.pulled + steepness * self.centre
        solve_lower(factor, fitted[:, None])
        log_det = 2.0 * float(np.log(factor.diagonal()).sum())
        apart = float(fitted @ fitted) - float(steepness @ np.square(self.centre))
        return 0.5 * (float(np.log(steepness).sum()) - log_det + apart)

    def scale(self, weights: Floats, ridge: Floats) -> float:
        """What to multiply a prior's `weights` (d,) by, with this regularization (d,): 1, unless clicks say less.

        A prior from grades, or from other users' clicks, may know which document is better and still say too much of
        how much more often it is clicked: noise makes differences small. Unscaled it would outweigh clicks for long.

        >>> weights, even = np.array([2.0, 1.0]), np.full(2, 100.0)
        >>> clicks = (Evidence(np.diag(even), even * theta, weights, even) for theta in (weights, 0.1 * weights))
        >>> [round(evidence.scale(weights, ridge=np.ones(2)), 2) for evidence in clicks]
        [1.0, 0.2]
        """
        held = (ridge + self.believed) * weights
        curvature = self.seen + np.diag(ridge + self.believed)
        by_prior, by_clicks = np.linalg.solve(curvature, np.stack([held, self.pulled], axis=1)).T
        told = max(float(weights @ held - held @ by_prior), 0.0)
        found = (float(held @ by_clicks) + SURE_OF_SCALE) / (told + SURE_OF_SCALE)
        return min(max(found, 0.0), 1.0) if isfinite(found) else 1.0

    def step(self, theta: Floats, regularization: float, shape: Floats) -> float:
        """The regularization after a step of D. MacKay's fixed point (Bayesian interpolation, 1992).

        As many parameters as the clicks have settled, over ||theta||^2, or over the squared distance from `centre`;
        what a prior settled does not count. Noisy clicks settle few and leave theta near there, so it grows with noise.
        """
        ridge, away = regularization * shape, theta - self.centre
        inverse = np.linalg.inv(self.seen + np.diag(ridge + self.believed))
        settled = float((ridge / (ridge + self.believed)).sum()) - float(ridge @ inverse.diagonal())
        return min(max((settled + 1.0) / (float(shape @ np.square(away)) + 0.1), LEAST), MOST)


def _of_mean_one(shape: Floats) -> Floats:
    return np.asarray(shape / shape.mean())
