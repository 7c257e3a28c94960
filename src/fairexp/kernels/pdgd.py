"""Pairwise differentiable gradient descent: how much each shown document counts in the gradient.

A ranking r is drawn from a Plackett-Luce model. A clicked document i and an examined, unclicked one j form a pair;
r* is r with the two exchanged. The pair counts with rho = P(r*) / (P(r) + P(r*)), which undoes the advantage that
the better position gave. Everything happens in logarithms: scores may be hundreds apart.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fairexp.kernels.compiling import kernel


@kernel
def _log_add(a: float, b: float) -> float:
    """log(e^a + e^b); either may be minus infinity."""
    high, low = max(a, b), min(a, b)
    if low == -math.inf:
        return high
    return high + math.log1p(math.exp(low - high))


@kernel
def log_rest(scores: NDArray[np.float64], shown: NDArray[np.int64]) -> float:
    """log of the sum of e^score over the candidates that are not shown; minus infinity if all are."""
    waiting = np.ones(scores.shape[0], dtype=np.bool_)
    for document in shown:
        waiting[document] = False
    highest = -math.inf
    for i in range(scores.shape[0]):
        if waiting[i] and scores[i] > highest:
            highest = scores[i]
    if highest == -math.inf:
        return highest
    total = 0.0
    for i in range(scores.shape[0]):
        if waiting[i]:
            total += math.exp(scores[i] - highest)
    return highest + math.log(total)


@kernel
def swap_share(scores: NDArray[np.float64], log_tail: NDArray[np.float64], upper: int, lower: int) -> float:
    """rho of the shown positions `upper` < `lower`, given display `scores` (m,) and `log_tail` (m + 1,).

    `log_tail[t]` is the log of the sum of e^score over all that was still to be placed at position t. Above `upper`
    and below `lower` the probabilities of r and r* agree. Between them, r* still has the upper document to place
    and no longer the lower one: its sums are built up from below, because taking the lower one out of r's sums
    would cancel all digits where it dominates them.
    """
    total = _log_add(log_tail[lower + 1], scores[upper])
    log_ratio = log_tail[lower] - total
    for t in range(lower - 1, upper, -1):
        total = _log_add(total, scores[t])
        log_ratio += log_tail[t] - total
    if log_ratio >= 0.0:
        return 1.0 / (1.0 + math.exp(-log_ratio))
    odds = math.exp(log_ratio)
    return odds / (1.0 + odds)


@kernel
def document_weights(
    display_scores: NDArray[np.float64], log_unshown: float, scores: NDArray[np.float64], clicks: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The factor (m,) of each shown document's features in the gradient.

    `display_scores` (m,) and `log_unshown` are those at display, `scores` (m,) those of the current model.
    Documents down to one below the last click count as examined.
    """
    m = display_scores.shape[0]
    weights = np.zeros(m)
    examined = 0
    for t in range(m):
        if clicks[t]:
            examined = min(t + 2, m)
    log_tail = np.empty(m + 1)
    log_tail[m] = log_unshown
    for t in range(m - 1, -1, -1):
        log_tail[t] = _log_add(log_tail[t + 1], display_scores[t])
    for lower in range(1, examined):
        for upper in range(lower):
            if clicks[upper] == clicks[lower]:
                continue
            ratio = math.exp(-abs(scores[upper] - scores[lower]))
            slope = ratio / (1.0 + ratio) ** 2
            step = swap_share(display_scores, log_tail, upper, lower) * slope
            if clicks[lower]:
                step = -step
            weights[upper] += step
            weights[lower] -= step
    return weights
