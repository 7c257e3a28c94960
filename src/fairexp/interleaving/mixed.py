"""A list mixed from those of several rankers, with what is needed to share out its clicks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairexp.arrays import Bools, Floats
from fairexp.errors import ArgumentError
from fairexp.validation import as_clicks, check_count


@dataclass(frozen=True, eq=False)
class Interleaved(ABC):
    """Documents `shown` (m,) from the top down; the rankers are known by the order of their lists.

    Clicks count at the first `n_credited` positions: as many as the shortest list is long. Below them a ranker may have
    come to its end, and clicks by position alone would favor the longer lists.
    """

    shown: NDArray[Any]
    n_credited: int

    def credit(self, clicks: ArrayLike) -> Floats:
        """What each ranker (r,) is credited with for `clicks`, one bool per shown position."""
        return self._credit(self._counted(clicks))

    def preferences(self, clicks: ArrayLike) -> Floats:
        """(r, r) from -1 to 1: how surely the ranker of the row is better than that of the column, by these clicks."""
        return self._preferences(self._counted(clicks))

    def _counted(self, clicks: ArrayLike) -> Bools:
        return as_clicks(clicks, len(self.shown)) & (np.arange(len(self.shown)) < self.n_credited)

    @abstractmethod
    def _credit(self, clicks: Bools) -> Floats:
        """`credit` for checked clicks (m,)."""

    def _preferences(self, clicks: Bools) -> Floats:
        credit = self._credit(clicks)
        difference: Floats = np.subtract.outer(credit, credit)
        return np.where(np.abs(difference) > ROUNDING, np.sign(difference), 0.0)


ROUNDING = 1e-12
"""Preferences closer to 0 than this are ties that floating point did not hit exactly."""


def check_scores(scores: Floats, length: int) -> tuple[int, int]:
    """How many positions to show from `scores` (r, n), and at how many clicks count; or an `ArgumentError`."""
    check_count("length", length)
    if scores.ndim != 2 or len(scores) < 2:
        raise ArgumentError("scores", f"shape {scores.shape}", "a row for each of two rankers or more")
    listed = scores > -np.inf
    m = min(length, int(listed.any(axis=0).sum()))
    return m, min(m, int(listed.sum(axis=1).min()))
