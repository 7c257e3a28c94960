"""Pairwise logistic loss. Symbols: z = x . theta for a preference row x (winner minus loser)."""

from __future__ import annotations

import numpy as np
from numba import njit

from fairexp.arrays import Floats


@njit(cache=True)
def loss_and_pull(z: Floats) -> tuple[float, Floats]:
    """The sum of log(1 + exp(-z)), and sigma(-z) (m,), the negative derivative by z."""
    loss = 0.0
    pull = np.empty(z.shape[0])
    for i in range(z.shape[0]):
        if z[i] >= 0.0:
            tail = np.exp(-z[i])
            loss += np.log1p(tail)
            pull[i] = tail / (1.0 + tail)
        else:
            tail = np.exp(z[i])
            loss += np.log1p(tail) - z[i]
            pull[i] = 1.0 / (1.0 + tail)
    return loss, pull
