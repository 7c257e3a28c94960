"""Pairwise differentiable gradient descent: how much each shown document counts in the gradient.

A ranking r is drawn from a Plackett-Luce model. A clicked document i and an examined, unclicked one j form a pair;
r* is r with the two exchanged. The pair counts with rho = P(r*) / (P(r) + P(r*)), which undoes the advantage that
the better position gave. Everything happens in logarithms: scores may be hundreds apart.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.numbers import ConstBool, ConstFloat, ConstInt
from cython.cimports.libc.math import INFINITY, exp, fabs, log, log1p
from cython.cimports.libc.stdlib import calloc, free


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _log_add(a: cython.double, b: cython.double) -> cython.double:
    """log(e^a + e^b); either may be minus infinity."""
    high, low = max(a, b), min(a, b)
    if low == -INFINITY:
        return high
    return high + log1p(exp(low - high))


def log_rest(scores: ConstFloat[::1], shown: ConstInt[::1]) -> float:
    """log of the sum of e^score over the candidates that are not shown; minus infinity if all are."""
    is_shown = cython.cast(cython.p_char, calloc(scores.shape[0] + 1, 1))
    if is_shown == cython.NULL:
        raise MemoryError
    highest: cython.double = -INFINITY
    total: cython.double = 0.0
    with cython.nogil:
        for p in range(shown.shape[0]):
            is_shown[shown[p]] = True
        for i in range(scores.shape[0]):
            if not is_shown[i] and scores[i] > highest:
                highest = scores[i]
        if highest > -INFINITY:
            for i in range(scores.shape[0]):
                if not is_shown[i]:
                    total += exp(scores[i] - highest)
            highest += log(total)
        free(is_shown)
    return highest


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _swap_share(
    scores: ConstFloat[::1], log_tail: cython.double[::1], upper: cython.Py_ssize_t, lower: cython.Py_ssize_t
) -> cython.double:
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
        return 1.0 / (1.0 + exp(-log_ratio))
    odds = exp(log_ratio)
    return odds / (1.0 + odds)


def document_weights(
    display_scores: ConstFloat[::1], log_unshown: cython.double, scores: ConstFloat[::1], clicks: ConstBool[::1]
):
    """The factor (m,) of each shown document's features in the gradient.

    `display_scores` (m,) and `log_unshown` are those at display, `scores` (m,) those of the current model.
    Documents down to one below the last click count as examined.
    """
    m = display_scores.shape[0]
    result = np.zeros(m)
    weights: cython.double[::1] = result
    log_tail: cython.double[::1] = np.empty(m + 1)
    examined: cython.Py_ssize_t = 0
    with cython.nogil:
        for t in range(m):
            if clicks[t]:
                examined = min(t + 2, m)
        log_tail[m] = log_unshown
        for t in range(m - 1, -1, -1):
            log_tail[t] = _log_add(log_tail[t + 1], display_scores[t])
        for lower in range(1, examined):
            for upper in range(lower):
                if clicks[upper] == clicks[lower]:
                    continue
                ratio = exp(-fabs(scores[upper] - scores[lower]))
                slope = ratio / ((1.0 + ratio) * (1.0 + ratio))
                step = _swap_share(display_scores, log_tail, upper, lower) * slope
                if clicks[lower]:
                    step = -step
                weights[upper] += step
                weights[lower] -= step
    return result
