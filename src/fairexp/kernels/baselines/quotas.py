"""FARA's quotas of exposure, and the lists that spend them.

Symbols: E exposure so far, R merit, x exposure to come, all by unit (m,); a = |R|^2. The program is

    minimise 1/2 x'Ax + B'x,  A = a I - R R' + RIDGE I,  B = a E - R (R'E),
    subject to sum x = total,  least <= x <= most,  R'x >= floor.

A is a multiple of I but for one rank, so x_i = clip((nu + rho R_i - B_i) / (a + RIDGE), least_i, most) at its optimum.
For each rho one nu meets the sum. R'x then rises with rho, more slowly than rho itself: rho = R'x without the floor,
and where that is too little, the floor says rho. Both are found by halving. Where no x reaches the floor, rho goes up
until merit outweighs all else by FAR: beyond that rounding would lose the sum.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.numbers import ConstFloat
from cython.cimports.libc.math import fabs
from cython.cimports.libc.stdint import int64_t

RIDGE = 0.01
FAR = cython.declare(cython.double, 1e4)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill(
    R: ConstFloat[::1],
    B: cython.double[::1],
    least: ConstFloat[::1],
    most: cython.double,
    curvature: cython.double,
    nu: cython.double,
    rho: cython.double,
    x: cython.double[::1],
) -> cython.double:
    """Put the quotas that `nu` and `rho` stand for into `x` (m,); their sum."""
    total: cython.double = 0.0
    value: cython.double
    for i in range(R.shape[0]):
        value = (nu + rho * R[i] - B[i]) / curvature
        value = min(max(value, least[i]), most)
        x[i] = value
        total += value
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _merit_at(
    R: ConstFloat[::1],
    B: cython.double[::1],
    least: ConstFloat[::1],
    most: cython.double,
    total: cython.double,
    curvature: cython.double,
    rho: cython.double,
    x: cython.double[::1],
) -> cython.double:
    """Put the quotas of `rho` that add up to `total` into `x` (m,); R'x."""
    low: cython.double = B[0] - rho * R[0]
    high: cython.double = low
    for i in range(R.shape[0]):
        low = min(low, B[i] - rho * R[i])
        high = max(high, B[i] - rho * R[i])
    high += curvature * most
    for _ in range(64):
        middle = 0.5 * (low + high)
        if _fill(R, B, least, most, curvature, middle, rho, x) < total:
            low = middle
        else:
            high = middle
    _fill(R, B, least, most, curvature, 0.5 * (low + high), rho, x)
    merit: cython.double = 0.0
    for i in range(R.shape[0]):
        merit += R[i] * x[i]
    return merit


def quotas(
    E: ConstFloat[::1],
    R: ConstFloat[::1],
    least: ConstFloat[::1],
    most: cython.double,
    total: cython.double,
    floor: cython.double,
):
    """The x (m,) that brings E + x nearest to being in proportion to R; `floor` is met as far as it can be."""
    result = np.zeros(R.shape[0])
    x: cython.double[::1] = result
    B: cython.double[::1] = np.empty(R.shape[0])
    a: cython.double = 0.0
    overlap: cython.double = 0.0
    largest: cython.double = 0.0
    curvature: cython.double = RIDGE
    spread: cython.double = 0.0
    with cython.nogil:
        for i in range(R.shape[0]):
            a += R[i] * R[i]
            overlap += R[i] * E[i]
            largest = max(largest, R[i])
        for i in range(R.shape[0]):
            B[i] = a * E[i] - R[i] * overlap
            spread = max(spread, fabs(B[i]))
        curvature += a
        spread += curvature * most
        low: cython.double = 0.0
        high: cython.double = largest * total
        for _ in range(64):
            middle = 0.5 * (low + high)
            if _merit_at(R, B, least, most, total, curvature, middle, x) > middle:
                low = middle
            else:
                high = middle
        if _merit_at(R, B, least, most, total, curvature, 0.5 * (low + high), x) < floor:
            low = 0.5 * (low + high)
            high = 2.0 * low + 1.0
            while high * largest < FAR * spread and _merit_at(R, B, least, most, total, curvature, high, x) < floor:
                low, high = high, 2.0 * high
            for _ in range(64):
                middle = 0.5 * (low + high)
                if _merit_at(R, B, least, most, total, curvature, middle, x) < floor:
                    low = middle
                else:
                    high = middle
            _merit_at(R, B, least, most, total, curvature, high, x)
    return result


def vertical_lists(
    quota: ConstFloat[::1],
    order: cython.const[int64_t][::1],
    P: ConstFloat[::1],
    n_lists: cython.Py_ssize_t,
    once: cython.bint,
):
    """Lists (n_lists, k) that spend `quota` (m,) by unit: all first positions, then all second ones, and so on.

    Each takes the first in `order` (m,), the best first, that has more than half of the position's exposure P (k,)
    left, and with `once` is not yet in its list; where none has, the one with most left.
    """
    m, k = quota.shape[0], P.shape[0]
    result = np.empty((n_lists, k), dtype=np.int64)
    lists: int64_t[:, ::1] = result
    left: cython.double[::1] = np.array(quota)
    used: cython.uchar[:, ::1] = np.zeros((n_lists, m), dtype=np.uint8)
    with cython.nogil:
        for j in range(k):
            for s in range(n_lists):
                chosen: int64_t = -1
                for place in range(m):
                    unit = order[place]
                    if once and used[s, unit]:
                        continue
                    if left[unit] > 0.5 * P[j]:
                        chosen = unit
                        break
                    if chosen < 0 or left[unit] > left[chosen]:
                        chosen = unit
                lists[s, j] = chosen
                used[s, chosen] = 1
                left[chosen] = max(left[chosen] - P[j], 0.0)
    return result
