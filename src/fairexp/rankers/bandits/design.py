"""How to divide trials among documents so that a linear model is learned evenly well for all of them."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Floats, Ints

STEPS = 30
NEGLIGIBLE = 0.02
"""Documents whose share of trials is below this part of an even one among as many as there are dimensions get none."""


def coordinates(features: Floats) -> Floats:
    """`features` (n, d) in an orthonormal basis of what they span: (n, r), the same for any units of the features."""
    largest = np.abs(features).max(initial=0.0)
    if largest == 0.0:
        return np.zeros((len(features), 0))
    vectors, sizes, _ = np.linalg.svd(features / largest, full_matrices=False)
    rank = int((sizes > max(features.shape) * np.finfo(np.float64).eps * sizes[0]).sum())
    return np.ascontiguousarray(vectors[:, :rank])


def optimal_design(points: Floats) -> Floats:
    """Shares (n,) of trials, summing to 1, for which the largest variance of a prediction at `points` (n, r) is least.

    The shares of the D-optimal design, which has the same optimum: each is multiplied by its variance over the number
    of dimensions until they settle.

    >>> np.round(optimal_design(np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]])), 2)
    array([0.5, 0.5, 0. ])
    """
    n, rank = points.shape
    shares = np.full(n, 1.0 / n)
    if rank == 0:
        return shares
    for _ in range(STEPS):
        shares = shares * _variances(points, shares) / rank
    shares[shares < NEGLIGIBLE / rank] = 0.0
    return np.asarray(shares / shares.sum())


def trials(features: Floats, budget: float) -> Ints:
    """Whole numbers (n,) of trials by the optimal design, `budget` for each dimension that the features span."""
    points = coordinates(features)
    return np.asarray(np.ceil(optimal_design(points) * budget * max(points.shape[1], 1)), dtype=np.int64)


def fitted(features: Floats, counts: Floats, sums: Floats) -> Floats:
    """The predictions (n,) of least squares from `counts` (n,) trials at each document and their `sums` (n,)."""
    points = coordinates(features)
    moments = (points * counts[:, None]).T @ points
    return np.asarray(points @ (np.linalg.pinv(moments, hermitian=True) @ (points.T @ sums)))


def _variances(points: Floats, shares: Floats) -> Floats:
    moments = (points * shares[:, None]).T @ points
    return np.asarray(((points @ np.linalg.inv(moments)) * points).sum(axis=1))
