"""A bound on how far one document can pull a model that learns from its features."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Floats
from fairexp.kernels.algebra.linear import shorten

MAX_NORM = 1e3
"""Longer feature vectors are shortened to this length. Features scaled to [0, 1] never are, below a million of them."""


def shortened(features: Floats) -> Floats:
    """`features` (n, d) with every row's length cut to `MAX_NORM`; the array itself where no row is longer.

    >>> shortened(np.array([[3e50, 4e50], [3.0, 4.0]]))
    array([[600., 800.],
           [  3.,   4.]])
    """
    shorter = shorten(np.ascontiguousarray(features), MAX_NORM)
    return features if shorter is None else shorter
