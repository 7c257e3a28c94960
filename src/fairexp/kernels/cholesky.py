"""Solving with a lower Cholesky factor, row by row. Symbols: L the factor (n, n), of A = L L^T."""

from __future__ import annotations

from numba import njit

from fairexp.arrays import Floats


@njit(cache=True)
def solve_factored(L: Floats, b: Floats, x: Floats) -> None:
    """Put into `x` (n,) the solution of A x = b."""
    n = b.shape[0]
    for i in range(n):
        total = b[i]
        for j in range(i):
            total -= L[i, j] * x[j]
        x[i] = total / L[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= L[i, i]
        for j in range(i):
            x[j] -= L[i, j] * x[i]


@njit(cache=True)
def solve_lower(L: Floats, B: Floats) -> None:
    """Replace `B` (n, m) by L^-1 B."""
    n, m = B.shape
    for i in range(n):
        for j in range(i):
            for c in range(m):
                B[i, c] -= L[i, j] * B[j, c]
        for c in range(m):
            B[i, c] /= L[i, i]
