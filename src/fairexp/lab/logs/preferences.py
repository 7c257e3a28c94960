"""Weights from preferences between documents of past rankings: the model of PairRank, fitted to all at once.

A click on a document says that it is preferred to every other one of its ranking. It counts as one preference, spread
evenly over the others, divided by the exposure of its position: a click at a position that is seen by a tenth of the
users stands for ten. The expected sum is then that over what is relevant, wherever it stood, and theta is fitted to the
odds r_i / r_j of the relevance of two documents. Documents without a click need no correction, because they lose to
what was clicked whether or not they were seen. Where documents were graded, each is preferred to all of lower grade.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Floats, Ints
from fairexp.lab.logs.record import Log

MAX_STEPS = 50
PRECISION = 1e-6
"""How much lower the next step may promise to bring the objective, per preference, when theta is taken as it is."""

LEAST_EXPOSURE = 0.01
"""Positions count as at least so exposed: one click cannot stand for more than a hundred."""

Progress = Callable[[int], object]


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """theta (d,), the covariance (d, d) of its errors, and the mean product (d, d) of a preference's differences.

    Errors are judged by ranking, so that preferences of one ranking need not be independent of each other. What the
    regularization takes off counts as error too, on the average of the thetas that it stands for.
    """

    theta: Floats
    covariance: Floats
    products: Floats

    @property
    def worth(self) -> float:
        """How many pairs, observed one by one, would leave errors of this size in the score of a typical pair.

        n pairs leave a variance of d / (n s) in the difference of a pair's scores, where s is the mean of sigma' over
        pairs, for which see `Prior.curvature`.
        """
        slope = 1.0 / (4.0 * np.sqrt(1.0 + np.pi * float(self.theta @ self.products @ self.theta) / 8.0))
        variance = float(np.einsum("ij,ji->", self.covariance, self.products))
        return float(np.count_nonzero(np.diag(self.products)) / (slope * variance)) if variance > 0.0 else 0.0


@dataclass(slots=True, eq=False)
class _Sums:
    loss: float
    gradient: Floats
    hessian: Floats
    noise: Floats


def winners(log: Log, exposure: Floats | None) -> Floats:
    """How much each row (N,) counts as the winner of preferences; `exposure` (k,) is that of each position."""
    if log.grades is not None:
        lowest = np.minimum.reduceat(log.grades, log.offsets[:-1])
        return (log.grades > np.repeat(lowest, np.diff(log.offsets))).astype(np.float64)
    assert log.clicks is not None and exposure is not None
    return np.asarray(log.clicks / np.maximum(exposure, LEAST_EXPOSURE)[log.positions - 1])


def preference_weights(log: Log, counts: Floats, rows: Ints) -> NDArray[np.float64]:
    """How much it counts that one document is preferred to another, (b, n, n) for rankings with `rows` (b, n)."""
    loses = np.broadcast_to(1.0 - np.eye(rows.shape[1]), (*rows.shape, rows.shape[1]))
    if log.grades is not None:
        grades = log.grades[rows]
        loses = (grades[:, :, None] > grades[:, None, :]).astype(np.float64)
    return np.asarray(counts[rows][:, :, None] * loses / np.maximum(loses.sum(axis=2, keepdims=True), 1.0))


def fit_preferences(log: Log, counts: Floats, *, regularization: float, on_progress: Progress | None = None) -> Fit:
    """Minimise the weighted logistic loss of all preferences plus (regularization / 2) ||theta||^2, by Newton's method.

    `counts` (N,) are those of `winners`. `on_progress` is called with the number of steps done.
    """
    d = log.features.shape[1]
    theta, total = np.zeros(d), max(float(counts.sum()), 1.0)
    sums = _sums(log, counts, theta, regularization)
    for number in range(1, MAX_STEPS + 1):
        step = -np.linalg.solve(sums.hessian, sums.gradient)
        promised = -float(sums.gradient @ step)
        if on_progress is not None:
            on_progress(number)
        if not promised > PRECISION * total:
            break
        length, after = 1.0, _sums(log, counts, theta + step, regularization)
        while after.loss > sums.loss - 1e-4 * length * promised and length > 1e-6:
            length /= 2.0
            after = _sums(log, counts, theta + length * step, regularization)
        theta, sums = theta + length * step, after
    inverse = np.linalg.inv(sums.hessian)
    scatter = sums.noise + regularization * np.eye(d)
    return Fit(theta, inverse @ scatter @ inverse, _products(log, counts))


def ordered_rightly(log: Log, counts: Floats, theta: Floats) -> tuple[float, float]:
    """The share of preferences that theta orders rightly (ties count half), and its standard error by ranking."""
    right, all_of = [], []
    for rows in log.batches():
        weights = preference_weights(log, counts, rows)
        scores = log.features[rows] @ theta
        gaps = scores[:, :, None] - scores[:, None, :]
        right.append((weights * (0.5 + 0.5 * np.sign(gaps))).sum(axis=(1, 2)))
        all_of.append(weights.sum(axis=(1, 2)))
    rights, alls = np.concatenate([*right, np.zeros(0)]), np.concatenate([*all_of, np.zeros(0)])
    if not alls.sum() > 0.0:
        return float("nan"), float("nan")
    share = float(rights.sum() / alls.sum())
    return share, float(np.sqrt(np.square(rights - share * alls).sum()) / alls.sum())


def _sums(log: Log, counts: Floats, theta: Floats, regularization: float) -> _Sums:
    """The objective at theta, its gradient (d,) and Hessian (d, d), and the sum of squares of rankings' gradients."""
    d = len(theta)
    sums = _Sums(
        0.5 * regularization * float(theta @ theta),
        regularization * theta,
        regularization * np.eye(d),
        np.zeros((d, d)),
    )
    for rows in log.batches():
        features, weights = log.features[rows], preference_weights(log, counts, rows)
        scores = features @ theta
        gaps = scores[:, :, None] - scores[:, None, :]
        tails = np.exp(-np.abs(gaps))
        sums.loss += float((weights * (np.log1p(tails) - np.minimum(gaps, 0.0))).sum())
        pull = weights * np.where(gaps >= 0.0, tails, 1.0) / (1.0 + tails)
        by_ranking = np.einsum("bn,bnd->bd", pull.sum(axis=1) - pull.sum(axis=2), features)
        sums.gradient += by_ranking.sum(axis=0)
        sums.noise += by_ranking.T @ by_ranking
        sums.hessian += _laplacian_square(features, weights * tails / np.square(1.0 + tails))
    return sums


def _laplacian_square(features: Floats, weights: Floats) -> Floats:
    """The sum (d, d) over pairs of `weights` (b, n, n) times the product of the difference of their features."""
    d = features.shape[2]
    both = weights + weights.transpose(0, 2, 1)
    pulled = features * both.sum(axis=2)[:, :, None] - both @ features
    return np.asarray(features.reshape(-1, d).T @ pulled.reshape(-1, d))


def _products(log: Log, counts: Floats) -> Floats:
    """The mean product (d, d) of the difference of features between the two documents of a preference."""
    total, products = 0.0, np.zeros((log.features.shape[1],) * 2)
    for rows in log.batches():
        weights = preference_weights(log, counts, rows)
        products += _laplacian_square(log.features[rows], weights)
        total += float(weights.sum())
    return products / max(total, np.finfo(float).tiny)
