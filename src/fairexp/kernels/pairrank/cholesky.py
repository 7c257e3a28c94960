"""Solving with a Cholesky factor. Symbols: L the lower factor (n, n), U its transpose, A = L U.

Both triangles are walked row by row, adding multiples of rows, which vectorises; sums along rows would not.
"""

import cython
from cython.cimports.fairexp.kernels.numbers import ConstFloat


def solve_factored(L: ConstFloat[:, ::1], U: ConstFloat[:, ::1], b: ConstFloat[::1], x: cython.double[::1]) -> None:
    """Put into `x` (n,) the solution of A x = b."""
    n = b.shape[0]
    known: cython.double
    with cython.nogil:
        for i in range(n):
            x[i] = b[i]
        for i in range(n):
            known = x[i] / U[i, i]
            x[i] = known
            for j in range(i + 1, n):
                x[j] -= U[i, j] * known
        for i in range(n - 1, -1, -1):
            known = x[i] / L[i, i]
            x[i] = known
            for j in range(i):
                x[j] -= L[i, j] * known


def solve_lower(L: ConstFloat[:, ::1], B: cython.double[:, ::1]) -> None:
    """Replace `B` (n, m) by L^-1 B."""
    n, m = B.shape[0], B.shape[1]
    factor: cython.double
    with cython.nogil:
        for i in range(n):
            for j in range(i):
                factor = L[i, j]
                for c in range(m):
                    B[i, c] -= factor * B[j, c]
            factor = L[i, i]
            for c in range(m):
                B[i, c] /= factor
