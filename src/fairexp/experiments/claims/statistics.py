"""Intervals and paired tests over folds and seeds, by Student's t, and Holm's correction for many tests at once.

Runs of one fold share their queries, so that they are not independent draws: with several folds the unit is the fold,
and its value the mean over its seeds. With one fold the unit is the seed, and what is said holds for that data alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairexp.experiments.claims.student import lower_tail, quantile

LEVEL = 0.95
Pair = tuple[int, int]
"""Seed and fold: what rankers are compared within."""


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


def effect(values: Iterable[float], *, level: float = LEVEL) -> Effect:
    """The mean of independent `values`, its interval at `level`, and the p-value of 0 (values all equal: sign test).

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
    half = quantile(n - 1, (1 + level) / 2) * error
    bare = Effect(mean, mean - half, mean + half, None, n, n, error)
    return Effect(mean, bare.low, bare.high, bare.p_at(0.0), n, n, error)


def effect_over(values: Mapping[Pair, float]) -> Effect:
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
    over = effect(math.fsum(found) / len(found) for found in folds.values())
    return Effect(over.mean, over.low, over.high, over.p, len(values), over.units, over.error)


def paired_difference(first: Mapping[Pair, float], second: Mapping[Pair, float]) -> Effect | None:
    """How much `first` exceeds `second`, pair by pair; None without a pair that both have.

    >>> paired_difference({(0, 1): 5.0, (1, 1): 7.0, (2, 1): 1.0}, {(0, 1): 4.0, (1, 1): 5.0}).mean
    1.5
    """
    return _over_pairs({pair: first[pair] - second[pair] for pair in first if pair in second})


def paired_log_ratio(
    first: Mapping[Pair, float], second: Mapping[Pair, float], *, floor: float = 1e-9
) -> Effect | None:
    """The logarithm of first / second, pair by pair; values below `floor` count as that much."""
    both = [pair for pair in first if pair in second]
    return _over_pairs({pair: math.log(max(first[pair], floor) / max(second[pair], floor)) for pair in both})


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


def _over_pairs(values: Mapping[Pair, float]) -> Effect | None:
    return effect_over(values) if values else None


def _exp(value: float | None) -> float | None:
    return None if value is None else math.exp(min(value, 700.0))
