"""Paired tests over folds and seeds, and Holm's correction for many tests at once.

Runs of one fold share their queries, so that they are not independent draws: with several folds the unit is the fold,
and its value the mean over its seeds. Folds may share queries too: `Shared` says how far. What is said then extends to
other collections of this size from where these queries came from, split the same way, and to other users' clicks. With
one fold the unit is the seed, and what is said holds for that data alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from fairexp.statistics.intervals import Correlation, Effect, effect

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
