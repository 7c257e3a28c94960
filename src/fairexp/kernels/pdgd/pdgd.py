"""Pairwise differentiable gradient descent: how much each shown document counts in the gradient.

A ranking r is drawn from a Plackett-Luce model, or the documents of each group are, for the positions of that group.
A clicked document i and an examined, unclicked one j of the same group form a pair; r* is r with the two exchanged. The
pair counts with rho = P(r*) / (P(r) + P(r*)), which undoes the advantage that the better position gave. What was drawn
for other groups has the same probability in both. Everything happens in logarithms: scores may be hundreds apart.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.numbers import ConstBool, ConstFloat, ConstInt
from cython.cimports.libc.math import INFINITY, exp, fabs, log, log1p
from cython.cimports.libc.stdint import int64_t
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


def log_rest(scores: ConstFloat[::1], groups: ConstInt[::1], shown: ConstInt[::1]):
    """For each shown position (m,) the log of the sum of e^score over the candidates of its group that are not shown.

    It is minus infinity if all are.
    """
    n, m = scores.shape[0], shown.shape[0]
    result = np.empty(m)
    rest: cython.double[::1] = result
    is_shown = cython.cast(cython.p_char, calloc(n + 1, 1))
    if is_shown == cython.NULL:
        raise MemoryError
    with cython.nogil:
        for p in range(m):
            is_shown[shown[p]] = True
        for p in range(m):
            first = _first_of_group(groups, shown, p)
            if first < p:
                rest[p] = rest[first]
                continue
            rest[p] = _log_sum(scores, groups, is_shown, groups[shown[p]])
        free(is_shown)
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _log_sum(scores: ConstFloat[::1], groups: ConstInt[::1], is_shown: cython.p_char, group: int64_t) -> cython.double:
    """The log of the sum of e^score over the candidates of a group that are not shown."""
    highest: cython.double = -INFINITY
    total: cython.double = 0.0
    for i in range(scores.shape[0]):
        if not is_shown[i] and groups[i] == group and scores[i] > highest:
            highest = scores[i]
    if highest == -INFINITY:
        return highest
    for i in range(scores.shape[0]):
        if not is_shown[i] and groups[i] == group:
            total += exp(scores[i] - highest)
    return highest + log(total)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _first_of_group(groups: ConstInt[::1], shown: ConstInt[::1], p: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The first shown position that has the same group as position p."""
    for first in range(p):
        if groups[shown[first]] == groups[shown[p]]:
            return first
    return p


def expected_regret(scores: ConstFloat[::1], sure: cython.double):
    """What showing row i below row j is expected to cost (n, n), rounded to whole numbers; a sure order costs `sure`.

    That is P(i above j) - P(j above i) under Plackett-Luce, where positive.
    """
    n = scores.shape[0]
    result = np.zeros((n, n), dtype=np.uint8)
    regret: cython.uchar[:, ::1] = result
    with cython.nogil:
        for i in range(n):
            for j in range(n):
                if scores[i] > scores[j]:
                    odds = exp(scores[j] - scores[i])
                    regret[i, j] = cython.cast(cython.uchar, sure * (1.0 - odds) / (1.0 + odds) + 0.5)
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _swap_share(
    scores: ConstFloat[::1],
    groups: ConstInt[::1],
    log_tail: cython.p_double,
    log_after: cython.double,
    upper: cython.Py_ssize_t,
    lower: cython.Py_ssize_t,
) -> cython.double:
    """rho of the shown positions `upper` < `lower` of one group, given display `scores` (m,) and `log_tail` (m,).

    `log_tail[t]` is the log of the sum of e^score over all of the group that was still to be placed at position t, and
    `log_after` over all that is below `lower`. Above `upper` and below `lower` the probabilities of r and r* agree.
    Between them, r* still has the upper document to place and no longer the lower one: its sums are built up from
    below, because taking the lower one out of r's sums would cancel all digits where it dominates them.
    """
    total = _log_add(log_after, scores[upper])
    log_ratio = log_tail[lower] - total
    for t in range(lower - 1, upper, -1):
        if groups[t] == groups[upper]:
            total = _log_add(total, scores[t])
            log_ratio += log_tail[t] - total
    if log_ratio >= 0.0:
        return 1.0 / (1.0 + exp(-log_ratio))
    odds = exp(log_ratio)
    return odds / (1.0 + odds)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _log_below(
    log_unshown: ConstFloat[::1], groups: ConstInt[::1], log_tail: cython.p_double, t: cython.Py_ssize_t
) -> cython.double:
    """The log of the sum of e^score over what is left of position t's group below it."""
    for below in range(t + 1, groups.shape[0]):
        if groups[below] == groups[t]:
            return log_tail[below]
    return log_unshown[t]


def document_weights(
    display_scores: ConstFloat[::1],
    log_unshown: ConstFloat[::1],
    groups: ConstInt[::1],
    scores: ConstFloat[::1],
    clicks: ConstBool[::1],
):
    """The factor (m,) of each shown document's features in the gradient.

    `display_scores` (m,) are those at display, and `log_unshown` (m,) is the `log_rest` of the group of each position;
    `scores` (m,) are those of the current model. Only documents of one of `groups` (m,) form pairs. Documents down to
    one below the last click count as examined.
    """
    m = display_scores.shape[0]
    result = np.zeros(m)
    weights: cython.double[::1] = result
    log_tail = cython.cast(cython.p_double, calloc(m + 1, cython.sizeof(cython.double)))
    if log_tail == cython.NULL:
        raise MemoryError
    examined: cython.Py_ssize_t = 0
    with cython.nogil:
        for t in range(m):
            if clicks[t]:
                examined = min(t + 2, m)
        for t in range(m - 1, -1, -1):
            log_tail[t] = _log_add(_log_below(log_unshown, groups, log_tail, t), display_scores[t])
        for lower in range(1, examined):
            log_after = _log_below(log_unshown, groups, log_tail, lower)
            for upper in range(lower):
                if clicks[upper] == clicks[lower] or groups[upper] != groups[lower]:
                    continue
                ratio = exp(-fabs(scores[upper] - scores[lower]))
                slope = ratio / ((1.0 + ratio) * (1.0 + ratio))
                step = _swap_share(display_scores, groups, log_tail, log_after, upper, lower) * slope
                if clicks[lower]:
                    step = -step
                weights[upper] += step
                weights[lower] -= step
        free(log_tail)
    return result
