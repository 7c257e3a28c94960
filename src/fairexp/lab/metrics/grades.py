"""Checks on relevance grades that the metrics share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Ints
from fairexp.errors import ArgumentError

MAX_GRADE = 52
"""Gains are 2^grade - 1; up to here they are exact in double precision."""


def as_grades(values: ArrayLike, *, name: str = "relevance") -> Ints:
    """`values` as a C-ordered (n,) int64 array of grades 0..52, or an `ArgumentError` that names `name`."""
    given = np.asarray(values)
    if given.ndim != 1:
        raise ArgumentError(name, f"shape {given.shape}", "one grade per document (n,)")
    if given.size == 0:
        return np.empty(0, dtype=np.int64)
    if given.dtype.kind not in "iub":
        raise ArgumentError(name, f"dtype {given.dtype}", "whole-number grades", "Convert real-valued labels first.")
    lowest, highest = given.min(), given.max()
    if lowest < 0 or highest > MAX_GRADE:
        bad = lowest if lowest < 0 else highest
        raise ArgumentError(name, f"grade {bad}", f"grades 0 to {MAX_GRADE}")
    return np.ascontiguousarray(given, dtype=np.int64)
