"""Least squares that take few rows at a time: the sum of products of rows, and its inverse.

Symbols: X new rows (m, d), M the sum of x x^T with its penalty, V its inverse, S = X V. By Woodbury's identity the new
inverse is V - S' (I + X S')^-1 S = V - H'H, where L H = S and L is the lower Cholesky factor of I + X S'.
"""

import cython
from cython.cimports.fairexp.kernels.numbers import ConstFloat
from cython.cimports.libc.math import INFINITY, log, sqrt


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_upper(M: cython.double[:, ::1], X: ConstFloat[:, ::1], sign: cython.double) -> cython.void:
    """Add `sign` times X'X to the upper half of `M` (d, d)."""
    m, d = X.shape[0], X.shape[1]
    a: cython.double
    b: cython.double
    c: cython.double
    e: cython.double
    f: cython.double
    for i in range(d):
        r: cython.Py_ssize_t = 0
        while r + 5 <= m:
            a, b, c = sign * X[r, i], sign * X[r + 1, i], sign * X[r + 2, i]
            e, f = sign * X[r + 3, i], sign * X[r + 4, i]
            for j in range(i, d):
                M[i, j] += ((a * X[r, j] + b * X[r + 1, j]) + (c * X[r + 2, j] + e * X[r + 3, j])) + f * X[r + 4, j]
            r += 5
        while r < m:
            a = sign * X[r, i]
            for j in range(i, d):
                M[i, j] += a * X[r, j]
            r += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mirror(M: cython.double[:, ::1]) -> cython.void:
    """Put the upper half of `M` (d, d) into the lower one."""
    d = M.shape[0]
    for top in range(0, d, 16):
        for left in range(0, top + 1, 16):
            for i in range(top, min(top + 16, d)):
                for j in range(left, min(left + 16, i)):
                    M[i, j] = M[j, i]


def add_rows(M: cython.double[:, ::1], X: ConstFloat[:, ::1]) -> None:
    """Add X'X to the upper half of `M`; the lower half is left as it is."""
    with cython.nogil:
        _add_upper(M, X, 1.0)


def mirror(M: cython.double[:, ::1]) -> None:
    """Make `M` symmetric by its upper half."""
    with cython.nogil:
        _mirror(M)


def absorb(
    V: cython.double[:, ::1],
    S: cython.double[:, ::1],
    L: cython.double[:, ::1],
    max_leverage: cython.double,
) -> float:
    """Bring the inverse `V` up to date with rows X, and return the logarithm of det(I + X V X').

    If an x'Vx is beyond `max_leverage`, V stays as it was, and minus infinity is returned.

    `S` (m, d) is X V and is lost; `L` (m, m) is X V X' and becomes the Cholesky factor of I + X V X'.
    """
    m, d = S.shape[0], S.shape[1]
    total: cython.double
    largest: cython.double = 0.0
    log_det: cython.double = 0.0
    for i in range(m):
        largest = max(largest, L[i, i])
        L[i, i] += 1.0
    if not largest <= max_leverage:
        return -INFINITY
    with cython.nogil:
        for i in range(m):
            for j in range(i + 1):
                total = L[i, j]
                for c in range(j):
                    total -= L[i, c] * L[j, c]
                L[i, j] = total / L[j, j] if j < i else sqrt(total)
        for i in range(m):
            log_det += 2.0 * log(L[i, i])
            for j in range(i):
                total = L[i, j]
                for c in range(d):
                    S[i, c] -= total * S[j, c]
            total = 1.0 / L[i, i]
            for c in range(d):
                S[i, c] *= total
        _add_upper(V, S, -1.0)
        _mirror(V)
    return log_det
