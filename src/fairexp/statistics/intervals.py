"""Means with confidence intervals and p-values, by Student's t."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from fairexp.statistics.student import fair_coin_tail, lower_tail, quantile

LEVEL = 0.95
"""The confidence of every interval."""
NORMAL = 1.959963984540054
"""The quantile of the normal distribution that goes with it."""
Correlation = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Effect:
    """A mean with its confidence interval and the two-sided p-value of its being 0; no interval from one unit.

    `n` values were averaged within `units`; `error` is the standard error of the mean, known with `freedom` degrees of
    freedom: one less than there are units (None), fewer where units share queries.
    """

    mean: float
    low: float | None
    high: float | None
    p: float | None
    n: int
    units: int = 1
    error: float | None = None
    freedom: float | None = None

    @property
    def degrees(self) -> float:
        """The degrees of freedom."""
        return self.units - 1.0 if self.freedom is None else self.freedom

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval; None from one unit."""
        return None if self.error is None else _half_width(self.degrees, self.error)

    def exp(self) -> Effect:
        """The same for ratios, where this is of their logarithms."""
        return Effect(
            _exp(self.mean) or 0.0, _exp(self.low), _exp(self.high), self.p, self.n, self.units, freedom=self.freedom
        )

    def reversed(self) -> Effect:
        """The same for the difference taken the other way round."""
        low, high = (None if end is None else -end for end in (self.high, self.low))
        return replace(self, mean=-self.mean, low=low, high=high)

    def p_at(self, value: float) -> float | None:
        """The two-sided p-value of a true mean of `value`."""
        if self.error is None:
            return None
        if self.error == 0.0:
            # Equal values say nothing of a spread; as many heads in a row are what chance must be asked about.
            return 1.0 if self.mean == value else 2.0**-self.degrees
        return 2.0 * lower_tail(self.degrees, -abs(self.mean - value) / self.error)


def effect(values: Iterable[float], correlation: Correlation | None = None) -> Effect:
    """The mean of `values`, its 95% interval, and the p-value of 0 (values all equal: sign test).

    They are independent, unless `correlation` (n, n) says how they go together because of what they share. Values that
    are alike for such a reason spread less than the mean may be off: the spread is set right by what `correlation`
    leaves of it, and counted for as many degrees of freedom as it then has (Satterthwaite, 1946). For equal
    correlations this is the corrected t of Nadeau and Bengio (2003).

    >>> one = effect([1.0, 2.0, 3.0])
    >>> one.mean, round(one.low, 3), round(one.high, 3), round(one.p, 4)
    (2.0, -0.484, 4.484, 0.0742)
    >>> alike = effect([1.0, 2.0, 3.0], [[1.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, 0.5, 1.0]])
    >>> round((alike.error / one.error) ** 2, 6), round(alike.degrees, 6)
    (4.0, 2.0)
    """
    found = list(values)
    n = len(found)
    if n == 0:
        raise ValueError("values: expected at least one, got none")
    mean = math.fsum(found) / n
    left, freedom = (1.0, n - 1.0) if correlation is None else _left(correlation)
    if n == 1 or left <= 0.0:  # values that share everything are one
        return Effect(mean, None, None, None, n, n)
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in found) / (n - 1) / n / left)
    if error <= 1e-13 * abs(mean):  # equal but for rounding
        error = 0.0
    half = _half_width(freedom, error)
    bare = Effect(mean, mean - half, mean + half, None, n, n, error, freedom)
    return replace(bare, p=bare.p_at(0.0))


def signed_effect(values: Iterable[float]) -> Effect:
    """The `effect` of preferences between -1 and 1, significant only where a sign test agrees.

    Few values, most of them -1 or 1, are far from normal: of seven, Student's t alone finds one in eight coins unfair.
    Where the sign test does not reject 0 the interval is widened to include it; p is the larger of both.

    >>> six_of_seven = [1.0] * 6 + [-1.0]
    >>> effect(six_of_seven).p < 0.05 < signed_effect(six_of_seven).p
    True
    """
    values = list(values)
    found = effect(values)
    if found.p is None or found.low is None or found.high is None:
        return found
    agree, oppose = (sum(sign * found.mean * value > 0.0 for value in values) for sign in (1, -1))
    p = max(found.p, min(2.0 * fair_coin_tail(agree, oppose), 1.0))
    if p < 1.0 - LEVEL:
        return replace(found, p=p)
    return replace(found, p=p, low=min(found.low, 0.0), high=max(found.high, 0.0))


def share_interval(share: float, n: float) -> tuple[float, float]:
    """The 95% interval of a share that was counted in `n` trials (Wilson, 1927); `n` may be a sum of weights.

    >>> [round(end, 4) for end in share_interval(0.8, 100)]
    [0.7112, 0.8666]
    >>> share_interval(1.0, 0.0)
    (0.0, 1.0)
    """
    if n <= 0.0:
        return 0.0, 1.0
    z2 = NORMAL * NORMAL
    middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n)
    half = NORMAL * math.sqrt(share * (1.0 - share) / n + z2 / (4.0 * n * n)) / (1.0 + z2 / n)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _left(correlation: Correlation) -> tuple[float, float]:
    """The variance of n values around their mean, over n times that of the mean; its degrees of freedom."""
    n = len(correlation)
    means = [math.fsum(row) / n for row in correlation]
    of_mean = math.fsum(means) / n
    around = [[correlation[i][j] - means[i] - means[j] + of_mean for j in range(n)] for i in range(n)]
    spread = math.fsum(around[i][i] for i in range(n))
    squares = math.fsum(each * each for row in around for each in row)
    if n == 1 or spread <= 1e-12 * n:
        return 0.0, 0.0
    return spread / (n - 1) / (n * of_mean), spread * spread / squares


def _half_width(freedom: float, error: float) -> float:
    return quantile(freedom, (1 + LEVEL) / 2) * error


def _exp(value: float | None) -> float | None:
    return None if value is None else math.exp(min(value, 700.0))
