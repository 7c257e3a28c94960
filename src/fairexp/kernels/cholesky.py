"""Solving with a Cholesky factor. Symbols: L the lower factor (n, n), U its transpose, A = L U.

Both triangles are walked row by row, adding multiples of rows, which vectorises; sums along rows would not.
"""

from __future__ import annotations

from fairexp.arrays import Floats
from fairexp.kernels.compiling import kernel


@kernel
def solve_factored(L: Floats, U: Floats, b: Floats, x: Floats) -> None:
    """Put into `x` (n,) the solution of A x = b."""
    n = b.shape[0]
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


@kernel
def solve_lower(L: Floats, B: Floats) -> None:
    """Replace `B` (n, m) by L^-1 B."""
    n, m = B.shape
    for i in range(n):
        for j in range(i):
            for c in range(m):
                B[i, c] -= L[i, j] * B[j, c]
        for c in range(m):
            B[i, c] /= L[i, i]
