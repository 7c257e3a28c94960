"""Intervals and paired tests over (seed, fold) pairs, by Student's t, and Holm's correction for many tests at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LEVEL = 0.95


@dataclass(frozen=True)
class Effect:
    """A mean with its confidence interval and the two-sided p-value of its being 0; no interval from one value."""

    mean: float
    low: float | None
    high: float | None
    p: float | None
    n: int

    def exp(self) -> Effect:
        """The same for ratios, where this is of their logarithms."""
        return Effect(math.exp(self.mean), _exp(self.low), _exp(self.high), self.p, self.n)


def effect(values: Iterable[float], *, level: float = LEVEL) -> Effect:
    """The mean of `values`, its interval at `level`, and the p-value of a true mean of 0 (values all equal: sign test).

    >>> one = effect([1.0, 2.0, 3.0])
    >>> one.mean, round(one.low, 3), round(one.high, 3), round(one.p, 4)
    (2.0, -0.484, 4.484, 0.0742)
    """
    from scipy.special import stdtr, stdtrit

    found = list(values)
    n = len(found)
    if n == 0:
        raise ValueError("values: expected at least one, got none")
    mean = math.fsum(found) / n
    if n == 1:
        return Effect(mean, None, None, None, 1)
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in found) / (n - 1) / n)
    if error == 0.0:
        # Equal values say nothing of a spread; as many heads in a row are what chance must be asked about.
        return Effect(mean, mean, mean, 1.0 if mean == 0.0 else 2.0 ** (1 - n), n)
    half = float(stdtrit(n - 1, (1 + level) / 2)) * error
    return Effect(mean, mean - half, mean + half, 2.0 * float(stdtr(n - 1, -abs(mean) / error)), n)


def paired_difference(first: Mapping[Any, float], second: Mapping[Any, float]) -> Effect | None:
    """How much `first` exceeds `second`, pair by pair; None without a pair that both have.

    >>> paired_difference({1: 5.0, 2: 7.0, 3: 1.0}, {1: 4.0, 2: 5.0}).mean
    1.5
    """
    return _over_pairs([first[pair] - second[pair] for pair in first if pair in second])


def paired_log_ratio(first: Mapping[Any, float], second: Mapping[Any, float], *, floor: float = 1e-9) -> Effect | None:
    """The logarithm of first / second, pair by pair; values below `floor` count as that much."""
    logs = [math.log(max(first[pair], floor) / max(second[pair], floor)) for pair in first if pair in second]
    return _over_pairs(logs)


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


def kendall(first: Sequence[float], second: Sequence[float]) -> float:
    """Kendall's tau-a: concordant less discordant pairs, over all pairs.

    >>> kendall([1, 2, 3], [10, 30, 20])
    0.3333333333333333
    """
    n = len(first)
    signs = [_sign(first[i] - first[j]) * _sign(second[i] - second[j]) for i in range(n) for j in range(i)]
    return sum(signs) / len(signs)


def _over_pairs(values: Sequence[float]) -> Effect | None:
    return effect(values) if values else None


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _exp(value: float | None) -> float | None:
    return None if value is None else math.exp(min(value, 700.0))
