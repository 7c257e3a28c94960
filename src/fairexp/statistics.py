"""What few runs can say of many: Student's t, intervals, paired tests, and runs that share data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

_TINY = 1e-300


def lower_tail(freedom: float, t: float) -> float:
    """P(T <= t) with `freedom` degrees of freedom.

    >>> lower_tail(1, 0.0), round(lower_tail(1, -1.0), 12)
    (0.5, 0.25)
    """
    square = t * t
    outside = _beta_share(freedom / 2.0, 0.5, freedom / (freedom + square), square / (freedom + square)) / 2.0
    return outside if t < 0.0 else 1.0 - outside


@lru_cache(maxsize=256)
def quantile(freedom: float, p: float) -> float:
    """The t with P(T <= t) = `p`, between 0 and 1.

    >>> round(quantile(2, 0.975), 10)
    4.3026527297
    """
    if p < 0.5:
        return -quantile(freedom, 1.0 - p)
    low, high = 0.0, 1.0
    while lower_tail(freedom, -high) > 1.0 - p:
        low, high = high, 2.0 * high
    while (middle := (low + high) / 2.0) not in (low, high):
        if lower_tail(freedom, -middle) > 1.0 - p:
            low = middle
        else:
            high = middle
    return high


def fair_coin_tail(heads: int, tails: int) -> float:
    """The probability of at least so many heads, of as many throws of a fair coin.

    >>> round(fair_coin_tail(6, 1), 12) == 8 / 128
    True
    """
    return 1.0 if heads == 0 else _beta_share(heads, tails + 1.0, 0.5, 0.5)


def _beta_share(a: float, b: float, x: float, rest: float) -> float:
    """The regularised incomplete beta function I_x(a, b), with `rest` = 1 - x, by its continued fraction."""
    if x <= 0.0 or rest <= 0.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):  # the fraction converges fast on the other side
        return 1.0 - _beta_share(b, a, rest, x)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)
    above, below = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    value = below
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        change = 1.0
        for term in (even, odd):
            below = 1.0 / (1.0 + term * below or _TINY)
            above = 1.0 + term / above or _TINY
            change = above * below
            value *= change
        if abs(change - 1.0) < 1e-16:
            break
    return math.exp(scale) * value / a


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


Pair = tuple[int, int]
"""Seed and fold: what rankers are compared within."""
Shared = Callable[[Sequence[int]], Correlation | None]
"""How the values of folds go together because of the queries that they share; None where they are independent."""


def independent(folds: Sequence[int]) -> None:
    """Of folds that share nothing, as worlds of their own."""


def effect_over(values: Mapping[Pair, float], shared: Shared = independent) -> Effect:
    """The mean of values by (seed, fold), with folds as the units where there are several, else seeds.

    >>> two_folds = effect_over({(0, 1): 1.0, (1, 1): 3.0, (0, 2): 5.0, (1, 2): 7.0})
    >>> two_folds.mean, two_folds.n, two_folds.units, two_folds == effect([2.0, 6.0])
    (4.0, 4, 2, False)
    """
    folds: dict[int, list[float]] = {}
    for (_, fold), value in values.items():
        folds.setdefault(fold, []).append(value)
    if len(folds) < 2:
        return effect(values.values())
    over = effect([math.fsum(found) / len(found) for found in folds.values()], shared(list(folds)))
    return replace(over, n=len(values))


def paired_difference(
    first: Mapping[Pair, float], second: Mapping[Pair, float], shared: Shared = independent
) -> Effect | None:
    """How much `first` exceeds `second`, pair by pair; None without a pair that both have.

    >>> paired_difference({(0, 1): 5.0, (1, 1): 7.0, (2, 1): 1.0}, {(0, 1): 4.0, (1, 1): 5.0}).mean
    1.5
    """
    return _over_pairs({pair: first[pair] - second[pair] for pair in first if pair in second}, shared)


def paired_log_ratio(
    first: Mapping[Pair, float], second: Mapping[Pair, float], shared: Shared = independent, *, floor: float = 1e-9
) -> Effect | None:
    """The logarithm of first / second, pair by pair; values below `floor` count as that much.

    It is for amounts that are above 0 by their nature, as a mean or a largest gap is: one that may come to nothing, as
    the gap after the last round, has no logarithm worth the name.
    """
    both = [pair for pair in first if pair in second]
    logs = {pair: math.log(max(first[pair], floor) / max(second[pair], floor)) for pair in both}
    return _over_pairs(logs, shared)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """P-values corrected for their number after S. Holm (1979), in their order; None stays None and is not counted.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    known = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, index) in enumerate(known):
        largest = max(largest, min((len(known) - rank) * p, 1.0))
        corrected[index] = largest
    return corrected


def _over_pairs(values: Mapping[Pair, float], shared: Shared) -> Effect | None:
    return effect_over(values, shared) if values else None


TRAINED = 0.5
"""The part of the variance of held-out values between folds that is put down to training queries, which folds share;
the rest is of the test queries, which they do not. With LETOR's folds any two are then correlated by a quarter on
average, which is the part of the queries that is tested on, as Nadeau and Bengio (2003) have it."""


@dataclass(frozen=True)
class Sharing:
    """For every two folds, the part of the queries served that they have in common: 1 for a fold and itself.

    >>> letor = Sharing.of([{1, 2, 3}, {2, 3, 4}, {3, 4, 5}])
    >>> [round(common, 2) for common in letor.common[0]]
    [1.0, 0.67, 0.33]
    """

    folds: tuple[int, ...]
    common: tuple[tuple[float, ...], ...]

    @staticmethod
    def of(served: Sequence[Set[Any]], folds: Iterable[int] | None = None) -> Sharing:
        """From the queries that each fold serves; folds are numbered from 0 by default."""
        common = tuple(
            tuple(len(one & other) / math.sqrt(max(len(one) * len(other), 1)) for other in served) for one in served
        )
        return Sharing(tuple(range(len(served)) if folds is None else folds), common)

    def correlation(self, folds: Sequence[int], *, held_out: bool = False) -> list[list[float]]:
        """How the values of `folds` go together (F, F), as far as that follows from the queries that they share.

        `held_out` is for values on test queries of each fold's own, with what was learned from shared ones.
        """
        at = [self.folds.index(fold) for fold in folds]
        part = TRAINED if held_out else 1.0
        return [[1.0 if i == j else part * self.common[i][j] for j in at] for i in at]
