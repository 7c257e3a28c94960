"""Pairwise logistic loss. Symbols: z = x . theta for a preference row x (winner minus loser)."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Floats
from fairexp.kernels.compiling import kernel

LARGE = 1e200


@kernel
def loss_and_pull(z: Floats) -> tuple[float, Floats]:
    """The sum of log(1 + exp(-z)), and sigma(-z) (m,), the negative derivative by z."""
    loss, product = 0.0, 1.0
    pull = np.empty(z.shape[0])
    for i in range(z.shape[0]):
        tail = np.exp(-abs(z[i]))
        pull[i] = (tail if z[i] >= 0.0 else 1.0) / (1.0 + tail)
        loss -= min(z[i], 0.0)
        # One logarithm for many factors between 1 and 2.
        product *= 1.0 + tail
        if product > LARGE:
            loss += np.log(product)
            product = 1.0
    return loss + np.log(product), pull


@kernel
def slopes(z: Floats) -> Floats:
    """sigma'(z) (m,), the loss's curvature by margin."""
    slope = np.empty(z.shape[0])
    for i in range(z.shape[0]):
        tail = np.exp(-abs(z[i]))
        slope[i] = tail / (1.0 + tail) ** 2
    return slope
