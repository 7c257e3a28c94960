"""Scaling the features of each query to [0, 1]."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairexp.kernels.compiling import kernel


@kernel(nogil=True)
def scale_queries(features: NDArray[np.float32], offsets: NDArray[np.int64]) -> None:
    """Min-max scale `features` (n, d) float32 in place, column by column within rows offsets[q]:offsets[q + 1].

    A column that is constant within a query becomes 0. The arithmetic is float64, so no span overflows.
    """
    d = features.shape[1]
    low = np.empty(d, dtype=np.float64)
    high = np.empty(d, dtype=np.float64)
    for q in range(offsets.shape[0] - 1):
        low[:] = np.inf
        high[:] = -np.inf
        for i in range(offsets[q], offsets[q + 1]):
            for j in range(d):
                value = np.float64(features[i, j])
                low[j] = min(low[j], value)
                high[j] = max(high[j], value)
        for j in range(d):
            span = high[j] - low[j]
            high[j] = span if span > 0 else 1.0  # constant: every difference from `low` is 0 already
        for i in range(offsets[q], offsets[q + 1]):
            for j in range(d):
                features[i, j] = (np.float64(features[i, j]) - low[j]) / high[j]
