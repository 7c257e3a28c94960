"""Paired tests over folds and seeds, and Holm's correction for many tests at once.

Runs of one fold share their queries, so that they are not independent draws: with several folds the unit is the fold,
and its value the mean over its seeds. With one fold the unit is the seed, and what is said holds for that data alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from fairexp.statistics.intervals import Effect, effect

Pair = tuple[int, int]
"""Seed and fold: what rankers are compared within."""


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
