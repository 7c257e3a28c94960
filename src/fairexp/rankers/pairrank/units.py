"""The unit in which features are kept, where they come in sizes that no default was made for."""

from __future__ import annotations

from math import log2

import numpy as np

from fairexp.arrays import Floats

ORDINARY = (0.02, 50.0)
"""Features that typically differ by as much between two documents are kept as they come."""

TYPICAL = 0.4
"""By how much features from 0 to 1 typically differ; others are brought to about that."""


def unit_of(spread: Floats) -> float | None:
    """The unit for features with this mean squared difference (d,) between two documents; None where none differs.

    It is 1, or where the median feature is out of `ORDINARY` size a power of two, which costs no digit.

    >>> [unit_of(np.array([0.2, 0.1]) * scale**2) for scale in (1.0, 1e-4, 1e6, 0.0)]
    [1.0, 0.0001220703125, 1048576.0, None]
    """
    differing = np.sort(spread[spread > 0.0])
    if len(differing) == 0:
        return None
    size = float(np.sqrt(differing[len(differing) // 2]))
    least, most = ORDINARY
    return 1.0 if least <= size <= most else 2.0 ** round(log2(size / TYPICAL))
