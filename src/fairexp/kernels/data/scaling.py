"""Scaling the features of each query to [0, 1]."""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.numbers import ConstInt
from cython.cimports.libc.math import INFINITY


def scale_queries(features: cython.float[:, ::1], offsets: ConstInt[::1]) -> None:
    """Min-max scale `features` (n, d) float32 in place, column by column within rows offsets[q]:offsets[q + 1].

    A column that is constant within a query becomes 0. The arithmetic is float64, so no span overflows.
    """
    d = features.shape[1]
    bounds: cython.double[:, ::1] = np.empty((2, d))
    low, high = bounds[0], bounds[1]
    value: cython.double
    with cython.nogil:
        for q in range(offsets.shape[0] - 1):
            for j in range(d):
                low[j], high[j] = INFINITY, -INFINITY
            for i in range(offsets[q], offsets[q + 1]):
                for j in range(d):
                    value = features[i, j]
                    low[j] = min(low[j], value)
                    high[j] = max(high[j], value)
            for j in range(d):
                value = high[j] - low[j]
                high[j] = value if value > 0 else 1.0  # constant: every difference from `low` is 0 already
            for i in range(offsets[q], offsets[q + 1]):
                for j in range(d):
                    features[i, j] = cython.cast(cython.float, (features[i, j] - low[j]) / high[j])
