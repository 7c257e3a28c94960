"""Scores of a linear model, and the best few documents by score.

Both are written so that identical documents get identical scores: a matrix product from a linear algebra library
may round equal rows differently, and a tie that should be broken at random would then always fall the same way.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True)
def linear_scores(features: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """`features @ weights` (n,), every row summed in the same order."""
    n, d = features.shape
    scores = np.empty(n)
    whole = d - d % 4
    for i in range(n):
        # Four running sums: the processor need not wait for one addition before it starts the next.
        a, b, c, e = 0.0, 0.0, 0.0, 0.0
        for j in range(0, whole, 4):
            a += features[i, j] * weights[j]
            b += features[i, j + 1] * weights[j + 1]
            c += features[i, j + 2] * weights[j + 2]
            e += features[i, j + 3] * weights[j + 3]
        for j in range(whole, d):
            a += features[i, j] * weights[j]
        scores[i] = (a + b) + (c + e)
    return scores


@njit(cache=True)
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
