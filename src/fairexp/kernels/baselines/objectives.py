"""How far units, groups or documents, lag behind what they merit: what rivals lift their documents by.

Of each unit (m,): E what it has received, R its merit. Its due is its share of all merit, v its share of what all have
received over its due; where nobody has received anything, v is 0.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.numbers import ConstFloat
from cython.cimports.libc.math import exp, fabs, sqrt

ROUNDING = cython.declare(cython.double, 1e-10)


def lag(E: ConstFloat[::1], R: ConstFloat[::1]):
    """How far each unit (m,) is behind the best treated one in E / R."""
    m = E.shape[0]
    result = np.empty(m)
    behind: cython.double[::1] = result
    most: cython.double = 0.0
    with cython.nogil:
        for i in range(m):
            behind[i] = E[i] / R[i]
            if i == 0 or behind[i] > most:
                most = behind[i]
        for i in range(m):
            behind[i] = most - behind[i]
    return result


def descent(E: ConstFloat[::1], R: ConstFloat[::1]):
    """The negative gradient (m,) by E of the sum of (E_i R_j - E_j R_i)^2, scaled to a largest magnitude of 1."""
    m = E.shape[0]
    result = np.empty(m)
    down: cython.double[::1] = result
    together: cython.double = 0.0
    square: cython.double = 0.0
    largest: cython.double = 0.0
    with cython.nogil:
        for i in range(m):
            together += E[i] * R[i]
            square += R[i] * R[i]
        for i in range(m):
            down[i] = R[i] * together - E[i] * square
            largest = max(largest, fabs(down[i]))
        for i in range(m):
            down[i] /= largest + ROUNDING
    return result


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _per_due(E: ConstFloat[::1], R: ConstFloat[::1], due: cython.double[::1], v: cython.double[::1]) -> cython.void:
    """Fill in what is due to each unit and what it has of that (m,)."""
    merit: cython.double = 0.0
    total: cython.double = 0.0
    for i in range(E.shape[0]):
        merit += R[i]
        total += E[i]
    for i in range(E.shape[0]):
        due[i] = R[i] / merit
        v[i] = E[i] / (due[i] * total) if total > 0.0 else 0.0


def deviation(E: ConstFloat[::1], R: ConstFloat[::1], smoothing: cython.double):
    """The gradient (m,) of minus the root of `smoothing` plus the mean squared deviation of v, by shares received."""
    m = E.shape[0]
    result = np.empty(m)
    v: cython.double[::1] = result
    due: cython.double[::1] = np.empty(m)
    mean: cython.double = 0.0
    square: cython.double = 0.0
    with cython.nogil:
        _per_due(E, R, due, v)
        for i in range(m):
            mean += v[i]
        mean /= m
        for i in range(m):
            v[i] -= mean
            square += v[i] * v[i]
        square = -m * sqrt(smoothing + square / m)
        for i in range(m):
            v[i] /= due[i] * square
    return result


def softmin(E: ConstFloat[::1], R: ConstFloat[::1], smoothing: cython.double):
    """The gradient (m,) of a smooth minimum of v, at the scale `smoothing`, by shares received."""
    m = E.shape[0]
    result = np.empty(m)
    v: cython.double[::1] = result
    due: cython.double[::1] = np.empty(m)
    total: cython.double = 0.0
    with cython.nogil:
        _per_due(E, R, due, v)
        least: cython.double = v[0]
        for i in range(m):
            least = min(least, v[i])
        for i in range(m):
            v[i] = exp((least - v[i]) / smoothing)
            total += v[i]
        for i in range(m):
            v[i] /= total * due[i]
    return result


def welfare(E: ConstFloat[::1], R: ConstFloat[::1], smoothing: cython.double):
    """The gradient (m,) of the sum of due * log(`smoothing` + v), by shares received."""
    m = E.shape[0]
    result = np.empty(m)
    v: cython.double[::1] = result
    due: cython.double[::1] = np.empty(m)
    with cython.nogil:
        _per_due(E, R, due, v)
        for i in range(m):
            v[i] = 1.0 / (smoothing + v[i])
    return result
