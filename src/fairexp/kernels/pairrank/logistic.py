"""Pairwise logistic loss. Symbols: z = x . theta for a preference row x (winner minus loser)."""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.algebra.linear import score_rows
from cython.cimports.fairexp.kernels.numbers import ConstBool, ConstFloat, ConstInt
from cython.cimports.libc.math import exp, fabs, log

LARGE = cython.declare(cython.double, 1e200)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _add_four(
    rows: ConstFloat[:, ::1],
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    factor: cython.p_const_double,
    total: cython.double[::1],
) -> cython.void:
    """Add to `total` (d,) four of `rows`, each times its `factor`, which is 0 for those from `end` on."""
    a = cython.address(rows[first, 0])
    b = cython.address(rows[min(first + 1, end - 1), 0])
    c = cython.address(rows[min(first + 2, end - 1), 0])
    d = cython.address(rows[min(first + 3, end - 1), 0])
    for j in range(total.shape[0]):
        total[j] += (factor[0] * a[j] + factor[1] * b[j]) + (factor[2] * c[j] + factor[3] * d[j])


def follow(rows: ConstFloat[:, ::1], weight: ConstFloat[::1], before: ConstFloat[::1], step: ConstFloat[::1]) -> tuple:
    """The sum of w log(1 + exp(-z)) over `rows` x (m, d) that weigh w, their margins z (m,), and the negative gradient
    (d,), the sum of w sigma(-z) x. The margins are `before` (m,) and what a `step` (d,) adds.

    Everything is found of a few rows while these are in the nearest memory.
    """
    m, d = rows.shape[0], rows.shape[1]
    loss: cython.double = 0.0
    product: cython.double = 1.0
    tail: cython.double
    margins, gradient = np.empty(m), np.zeros(d)
    z: cython.double[::1] = margins
    pulled: cython.double[::1] = gradient
    pull = cython.declare(cython.double[16])
    with cython.nogil:
        for first in range(0, m, 16):
            end = min(first + 16, m)
            score_rows(rows, first, end, cython.address(step[0]), d, cython.address(z[first]))
            for i in range(first, end):
                z[i] += before[i]
                tail = exp(-fabs(z[i]))
                pull[i - first] = weight[i] * (tail if z[i] >= 0.0 else 1.0) / (1.0 + tail)
                loss -= weight[i] * min(z[i], 0.0)
                # One logarithm for many factors between 1 and 2; neighbours mostly weigh the same.
                product *= 1.0 + tail
                if product > LARGE or i + 1 == m or weight[i + 1] != weight[i]:
                    loss += weight[i] * log(product)
                    product = 1.0
            for k in range(end - first, 16):
                pull[k] = 0.0
            for i in range(first, end, 4):
                _add_four(rows, i, end, pull + (i - first), pulled)
    return loss, margins, gradient


def slopes(z: ConstFloat[::1], weight: ConstFloat[::1]):
    """w sigma'(z) (m,), the curvature by margin of the loss that weighs w; `weight` (m,)."""
    result = np.empty(z.shape[0])
    slope: cython.double[::1] = result
    tail: cython.double
    with cython.nogil:
        for i in range(z.shape[0]):
            tail = exp(-fabs(z[i]))
            slope[i] = weight[i] * tail / ((1.0 + tail) * (1.0 + tail))
    return result


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _note(p: cython.double, held: cython.bint, weight: cython.double, sums: cython.double[:, ::1]) -> cython.void:
    """Count an order that was given the probability `p` of 1/2 or more in its bin of `sums` (3, B)."""
    bin: cython.Py_ssize_t
    if p >= 0.5:  # not so if it is not a number
        bin = min(cython.cast(cython.Py_ssize_t, (p - 0.5) * 2.0 * sums.shape[1]), sums.shape[1] - 1)
        sums[0, bin] += weight
        sums[1, bin] += weight * p
        if held:
            sums[2, bin] += weight


def slope_sums(
    scores: ConstFloat[::1],
    clicks: ConstBool[::1],
    among: ConstBool[::1],
    slope: cython.double,
    weight: cython.double,
    sums: cython.double[:, ::1],
) -> tuple:
    """Over pairs of a clicked and an unclicked document `among` those that count, with z the difference of their
    `scores` (m,): the sums of z sigma(-slope z) and of z^2 sigma'(slope z), the negative gradient by the slope of the
    logistic loss and its curvature.

    To `sums` (3, B) each pair is added with its `weight`, in the bin of the probability p of the order by scores, from
    1/2 to 1: the pair, p, and the pair once more if the order held. Ties have no order.
    """
    pull: cython.double = 0.0
    curvature: cython.double = 0.0
    z: cython.double
    tail: cython.double
    missed: cython.double
    with cython.nogil:
        for i in range(scores.shape[0]):
            if clicks[i] and among[i]:
                for j in range(scores.shape[0]):
                    if among[j] and not clicks[j]:
                        z = scores[i] - scores[j]
                        tail = exp(-fabs(slope * z))
                        missed = (tail if z >= 0.0 else 1.0) / (1.0 + tail)
                        pull += z * missed
                        curvature += (z * (tail / ((1.0 + tail) * (1.0 + tail)))) * z
                        if z != 0.0:
                            _note(1.0 / (1.0 + tail), z > 0.0, weight, sums)
    return pull, curvature


def graded_sums(scores: ConstFloat[::1], grades: ConstInt[::1], slope: cython.double, sums: cython.double[:, ::1]):
    """Add to `sums` (3, B), as `slope_sums` does, all pairs of documents of different `grades` (n,): an order holds if
    the better document has the higher of the `scores` (n,).
    """
    z: cython.double
    with cython.nogil:
        for i in range(scores.shape[0]):
            for j in range(i):
                z = scores[i] - scores[j]
                if grades[i] != grades[j] and z != 0.0:
                    _note(1.0 / (1.0 + exp(-fabs(slope * z))), (z > 0.0) == (grades[i] > grades[j]), 1.0, sums)
