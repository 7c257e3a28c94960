"""Pairwise logistic loss. Symbols: z = x . theta for a preference row x (winner minus loser)."""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.numbers import ConstFloat
from cython.cimports.libc.math import exp, fabs, log

LARGE = cython.declare(cython.double, 1e200)


def loss_and_pull(z: ConstFloat[::1]) -> tuple:
    """The sum of log(1 + exp(-z)), and sigma(-z) (m,), the negative derivative by z."""
    loss: cython.double = 0.0
    product: cython.double = 1.0
    tail: cython.double
    result = np.empty(z.shape[0])
    pull: cython.double[::1] = result
    with cython.nogil:
        for i in range(z.shape[0]):
            tail = exp(-fabs(z[i]))
            pull[i] = (tail if z[i] >= 0.0 else 1.0) / (1.0 + tail)
            loss -= min(z[i], 0.0)
            # One logarithm for many factors between 1 and 2.
            product *= 1.0 + tail
            if product > LARGE:
                loss += log(product)
                product = 1.0
        loss += log(product)
    return loss, result


def slopes(z: ConstFloat[::1]):
    """sigma'(z) (m,), the loss's curvature by margin."""
    result = np.empty(z.shape[0])
    slope: cython.double[::1] = result
    tail: cython.double
    with cython.nogil:
        for i in range(z.shape[0]):
            tail = exp(-fabs(z[i]))
            slope[i] = tail / ((1.0 + tail) * (1.0 + tail))
    return result
