"""Means with confidence intervals and p-values, by Student's t."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from fairexp.statistics.student import lower_tail, quantile

LEVEL = 0.95
"""The confidence of every interval."""


@dataclass(frozen=True)
class Effect:
    """A mean with its confidence interval and the two-sided p-value of its being 0; no interval from one unit.

    `n` values were averaged within `units` independent ones; `error` is the standard error of the mean.
    """

    mean: float
    low: float | None
    high: float | None
    p: float | None
    n: int
    units: int = 1
    error: float | None = None

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval; None from one unit."""
        return None if self.error is None else _half_width(self.units, self.error)

    def exp(self) -> Effect:
        """The same for ratios, where this is of their logarithms."""
        return Effect(_exp(self.mean) or 0.0, _exp(self.low), _exp(self.high), self.p, self.n, self.units)

    def reversed(self) -> Effect:
        """The same for the difference taken the other way round."""
        low, high = (None if end is None else -end for end in (self.high, self.low))
        return Effect(-self.mean, low, high, self.p, self.n, self.units, self.error)

    def p_at(self, value: float) -> float | None:
        """The two-sided p-value of a true mean of `value`."""
        if self.error is None:
            return None
        if self.error == 0.0:
            # Equal values say nothing of a spread; as many heads in a row are what chance must be asked about.
            return 1.0 if self.mean == value else 2.0 ** (1 - self.units)
        return 2.0 * lower_tail(self.units - 1, -abs(self.mean - value) / self.error)


def effect(values: Iterable[float]) -> Effect:
    """The mean of independent `values`, its 95% interval, and the p-value of 0 (values all equal: sign test).

    >>> one = effect([1.0, 2.0, 3.0])
    >>> one.mean, round(one.low, 3), round(one.high, 3), round(one.p, 4)
    (2.0, -0.484, 4.484, 0.0742)
    """
    found = list(values)
    n = len(found)
    if n == 0:
        raise ValueError("values: expected at least one, got none")
    mean = math.fsum(found) / n
    if n == 1:
        return Effect(mean, None, None, None, 1)
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in found) / (n - 1) / n)
    if error <= 1e-13 * abs(mean):  # equal but for rounding
        error = 0.0
    half = _half_width(n, error)
    bare = Effect(mean, mean - half, mean + half, None, n, n, error)
    return Effect(mean, bare.low, bare.high, bare.p_at(0.0), n, n, error)


def _half_width(units: int, error: float) -> float:
    return quantile(units - 1, (1 + LEVEL) / 2) * error


def _exp(value: float | None) -> float | None:
    return None if value is None else math.exp(min(value, 700.0))
