"""What lists that were shown say of rankers that did not make them.

Of each of h lists: `lengths` (h,) documents were shown, in this order, and of `sizes` (h,) candidates they are the
first. Chances (h, k, r) are those with which each of r rankers would have placed the document at each position, as in
`interleaving.draw`.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.gradient.interleaving import rank_of, sign_of_sum
from cython.cimports.fairexp.kernels.numbers import ConstBool, ConstFloat, ConstInt
from cython.cimports.libc.math import exp, log, pow


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _replay(
    scores: cython.p_const_double,
    keys: ConstFloat[::1],
    n: cython.Py_ssize_t,
    m: cython.Py_ssize_t,
    share: cython.double[::1],
    ranker: cython.Py_ssize_t,
    chances: cython.double[:, ::1],
) -> cython.void:
    """Fill in the chances of one ranker, whose `scores` (n,) of a list's candidates these are."""
    rest: cython.double = 0.0
    for rank in range(n):
        rest += share[rank]
    for at in range(m):
        part = share[rank_of(scores, keys, n, at)]
        chances[at, ranker] = 1.0 if at == n - 1 else min(part / rest, 1.0)
        rest = max(rest - part, 0.0)


def replay_lists(
    scores: ConstFloat[:, ::1],
    keys: ConstFloat[::1],
    sizes: ConstInt[::1],
    lengths: ConstInt[::1],
    power: cython.double,
    k: cython.Py_ssize_t,
):
    """The chances (h, k, r) of rankers with `scores` (r, h * c), c by list; `keys` (c,) settle ties in all lists."""
    r, h, c = scores.shape[0], sizes.shape[0], keys.shape[0]
    result = np.zeros((h, k, r))
    chances: cython.double[:, :, ::1] = result
    share: cython.double[::1] = np.empty(c)
    with cython.nogil:
        for rank in range(c):
            share[rank] = pow(rank + 1.0, -power)
        for place in range(h):
            for ranker in range(r):
                own = cython.address(scores[ranker, place * c])
                _replay(own, keys, sizes[place], lengths[place], share, ranker, chances[place])
    return result


def said(
    chances: ConstFloat[:, :, ::1],
    clicks: ConstBool[:, ::1],
    lengths: ConstInt[::1],
    log_chances: ConstFloat[::1],
    one: cython.Py_ssize_t,
    other: cython.Py_ssize_t,
):
    """What each list (h,) says of two rankers: above 0 the `other` is better.

    It is P(more of the `clicks` (h, k) are the other's) - P(fewer are), over who placed what, had the two made the
    list, times how much more likely they were to make it than those who did, with probability e^log_chances (h,).
    """
    h, k = clicks.shape[0], clicks.shape[1]
    result = np.empty(h)
    signs: cython.double[::1] = result
    steps: cython.double[:, ::1] = np.empty((2, k))
    odds: cython.double[:, ::1] = np.empty((2, 2 * k + 3))
    total: cython.double
    gain: cython.double
    c: cython.Py_ssize_t
    with cython.nogil:
        for place in range(h):
            c = 0
            gain = -log_chances[place]
            for i in range(lengths[place]):
                total = chances[place, i, one] + chances[place, i, other]
                gain += log(0.5 * total)
                if clicks[place, i]:
                    steps[0, c], steps[1, c] = chances[place, i, other] / total, chances[place, i, one] / total
                    c += 1
            signs[place] = exp(gain) * sign_of_sum(steps, c, odds)
    return result
