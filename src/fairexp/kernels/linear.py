"""Scores of a linear model, and the best few documents by score.

Both are written so that identical documents get identical scores: a matrix product from a linear algebra library
may round equal rows differently, and a tie that should be broken at random would then always fall the same way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairexp.kernels.compiling import kernel

# Sums may be regrouped so that they run in parallel lanes, in the same way for every row; nothing else is relaxed.
REGROUP = {"reassoc", "contract"}


@kernel(fastmath=REGROUP)
def linear_scores(features: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """`features @ weights` (n,), equal for equal rows."""
    n, d = features.shape
    scores = np.empty(n)
    for i in range(n):
        total = 0.0
        for j in range(d):
            total += features[i, j] * weights[j]
        scores[i] = total
    return scores


@kernel(fastmath=REGROUP)
def duel_scores(
    features: NDArray[np.float64], weights: NDArray[np.float64], direction: NDArray[np.float64], step: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores (n,) by `weights`, and by `weights + step * direction`, in one pass over the features."""
    n, d = features.shape
    scores, rival_scores = np.empty(n), np.empty(n)
    for i in range(n):
        total, change = 0.0, 0.0
        for j in range(d):
            total += features[i, j] * weights[j]
            change += features[i, j] * direction[j]
        scores[i] = total
        rival_scores[i] = total + step * change
    return scores, rival_scores


@kernel
def scale_to_unit(vector: NDArray[np.float64]) -> bool:
    """Divide `vector` (d,) by its length; False, and nothing done, where that is 0."""
    square = 0.0
    for value in vector:
        square += value * value
    if square == 0.0:
        return False
    length = np.sqrt(square)
    for j in range(vector.shape[0]):
        vector[j] /= length
    return True


@kernel(fastmath=REGROUP)
def bounded_scores(features: NDArray[np.float64], weights: NDArray[np.float64], max_norm: float) -> NDArray[np.float64]:
    """`features @ weights` (n,) with every row of `features` shortened to a length of at most `max_norm`."""
    n, d = features.shape
    scores = np.empty(n)
    for i in range(n):
        total, squares = 0.0, 0.0
        for j in range(d):
            total += features[i, j] * weights[j]
            squares += features[i, j] * features[i, j]
        if squares > max_norm * max_norm:
            total *= max_norm / np.sqrt(squares)
        scores[i] = total
    return scores


@kernel
def top_documents(scores: NDArray[np.float64], keys: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """The min(k, n) documents of highest `scores` (n,), best first; equal scores go by the smaller of `keys` (n,)."""
    n = scores.shape[0]
    best = np.empty(min(k, n), dtype=np.int64)
    filled = 0
    for i in range(n):
        at = filled
        if filled == best.shape[0]:
            last = best[at - 1]
            if scores[i] < scores[last] or (scores[i] == scores[last] and keys[i] >= keys[last]):
                continue
            at -= 1
        else:
            filled += 1
        while at > 0:
            above = best[at - 1]
            if scores[above] > scores[i] or (scores[above] == scores[i] and keys[above] <= keys[i]):
                break
            best[at] = above
            at -= 1
        best[at] = i
    return best
