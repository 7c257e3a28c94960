"""Pairwise logistic loss. Symbols: z = x . theta for a preference row x (winner minus loser)."""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.numbers import ConstBool, ConstFloat
from cython.cimports.libc.math import exp, fabs, log

LARGE = cython.declare(cython.double, 1e200)


def loss_and_pull(z: ConstFloat[::1], weight: ConstFloat[::1]) -> tuple:
    """The sum of w log(1 + exp(-z)), and w sigma(-z) (m,), the negative derivative by z; `weight` (m,) holds w."""
    loss: cython.double = 0.0
    product: cython.double = 1.0
    tail: cython.double
    result = np.empty(z.shape[0])
    pull: cython.double[::1] = result
    with cython.nogil:
        for i in range(z.shape[0]):
            tail = exp(-fabs(z[i]))
            pull[i] = weight[i] * (tail if z[i] >= 0.0 else 1.0) / (1.0 + tail)
            loss -= weight[i] * min(z[i], 0.0)
            # One logarithm for many factors between 1 and 2; neighbours mostly weigh the same.
            product *= 1.0 + tail
            if product > LARGE or i + 1 == z.shape[0] or weight[i + 1] != weight[i]:
                loss += weight[i] * log(product)
                product = 1.0
    return loss, result


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


def slope_sums(scores: ConstFloat[::1], clicks: ConstBool[::1], among: ConstBool[::1], slope: cython.double) -> tuple:
    """Over pairs of a clicked and an unclicked document `among` those that count, with z the difference of their
    `scores` (m,): the sums of z sigma(-slope z) and of z^2 sigma'(slope z), the negative gradient by the slope of the
    logistic loss and its curvature.
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
    return pull, curvature
