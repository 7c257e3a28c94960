"""Click rates with their bounds: what optimists show first, what they are certain of, and what was examined."""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.numbers import Bool, ConstFloat, ConstInt
from cython.cimports.libc.math import INFINITY, exp, log, sqrt
from cython.cimports.libc.stdint import int64_t

STEPS = cython.declare(cython.int, 20)
"""At most so many Newton steps for a Kullback-Leibler bound, until they are PRECISE. They start beyond the bound and,
kl being convex, come down on it without passing it."""
PRECISE = cython.declare(cython.double, 1e-12)
TINY = cython.declare(cython.double, 1e-300)
SMALL = cython.declare(cython.double, 1e-9)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _left_above(p: cython.double, level: cython.double) -> cython.double:
    """1 - q for the largest q with kl(p, q) <= level."""
    rest: cython.double = 1.0 - p
    if rest <= 0.0:
        return 0.0
    constant: cython.double = rest * log(max(rest, TINY)) - level
    if p > 0.0:
        constant += p * log(p)
    # Two points that no such q lies above: by the term that grows at 1, and by Pinsker. x is 1 - q.
    x: cython.double = exp(-min(-constant / max(rest, SMALL), 690.0))
    x = max(x, rest - sqrt(0.5 * level))
    for _ in range(STEPS):
        q = max(1.0 - x, TINY)
        excess = constant - p * log(q) - rest * log(x)
        step = max(excess, 0.0) / max((rest - x) / (x * q), SMALL)
        x = max(min(x + step, rest), TINY)
        if step < PRECISE:
            break
    return x


def kl_bounds(rates: ConstFloat[::1], counts: ConstFloat[::1], budget: cython.double) -> tuple:
    """The smallest and the largest q (n,) with counts * kl(rates, q) <= budget; 0 and 1 where nothing was counted."""
    n = rates.shape[0]
    lowest, highest = np.zeros(n), np.ones(n)
    lower: cython.double[::1] = lowest
    upper: cython.double[::1] = highest
    with cython.nogil:
        for i in range(n):
            if counts[i] > 0.0:
                level = budget / counts[i]
                upper[i] = 1.0 - _left_above(rates[i], level)
                # kl(p, q) = kl(1 - p, 1 - q): what is left to 1 above the rate of no click is the rate's lower bound.
                lower[i] = _left_above(1.0 - rates[i], level)
    return lowest, highest


def hoeffding_bounds(rates: ConstFloat[::1], counts: ConstFloat[::1], budget: cython.double) -> tuple:
    """`rates` (n,) less and plus sqrt(budget / counts); infinite where nothing was counted."""
    n = rates.shape[0]
    lowest, highest = np.empty(n), np.empty(n)
    lower: cython.double[::1] = lowest
    upper: cython.double[::1] = highest
    with cython.nogil:
        for i in range(n):
            width = sqrt(budget / counts[i]) if counts[i] > 0.0 else INFINITY
            lower[i], upper[i] = rates[i] - width, rates[i] + width
    return lowest, highest


def interval_orders(lower: ConstFloat[::1], upper: ConstFloat[::1], order: ConstInt[::1]) -> tuple:
    """The blocks (n,) of documents shown in `order` (n,), by upper bound, and whether each is surely above each (n, n).

    That is where its lower bound exceeds the other's upper bound; blocks end where all above exceed all below.
    """
    n = order.shape[0]
    blocks, certain = np.zeros(n, dtype=np.int64), np.empty((n, n), dtype=np.bool_)
    block: int64_t[::1] = blocks
    above: Bool[:, ::1] = certain
    number: int64_t = 0
    least: cython.double = INFINITY
    with cython.nogil:
        for p in range(n):
            i = order[p]
            if p > 0 and least > upper[i]:
                number += 1
            block[i] = number
            least = min(least, lower[i])
            for j in range(n):
                above[i, j] = lower[i] > upper[j]
    return blocks, certain


def count_examined(
    rows: ConstInt[::1],
    shown: ConstInt[::1],
    rewards: ConstFloat[::1],
    n_examined: cython.Py_ssize_t,
    views: cython.double[::1],
    earned: cython.double[::1],
):
    """Count the first `n_examined` of the documents `shown` (m,) as viewed, and add what each has earned, from 0 to 1.

    They are in `rows` (n,) of the counts, which are negative where a document was forgotten.
    """
    with cython.nogil:
        for p in range(n_examined):
            row = rows[shown[p]]
            if row >= 0:
                views[row] += 1.0
                earned[row] += rewards[p]
