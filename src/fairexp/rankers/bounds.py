"""Confidence bounds of a rate from a count of successes, for rankers that are optimistic."""

from __future__ import annotations

from math import log

import numpy as np

from fairexp.arrays import Floats

TINY = 1e-300
SMALL = 1e-9
STEPS = 12
"""Newton steps of the Kullback-Leibler bound: from where it starts, they come down on the bound and never pass it."""


def hoeffding_width(counts: Floats, rounds: float) -> Floats:
    """sqrt(1.5 ln rounds / counts), the width of UCB1's bound; infinite where nothing was counted.

    >>> float(np.round(0.5 + hoeffding_width(np.array([10.0]), 100)[0], 3))
    1.331
    """
    budget = 1.5 * log(max(rounds, 1.0))
    return np.where(counts > 0, np.sqrt(budget / np.maximum(counts, 1.0)), np.inf)


def kl_budget(rounds: float) -> float:
    """ln t + 3 ln ln t, the exploration of KL-UCB at round t; 0 while the logarithm's logarithm is negative."""
    return log(rounds) + 3.0 * log(max(log(rounds), 1.0)) if rounds > 1.0 else 0.0


def bernoulli_kl(p: Floats, q: Floats) -> Floats:
    """kl(p, q) of two coins."""
    return np.asarray(
        p * (np.log(np.maximum(p, TINY)) - np.log(np.maximum(q, TINY)))
        + (1.0 - p) * (np.log(np.maximum(1.0 - p, TINY)) - np.log(np.maximum(1.0 - q, TINY)))
    )


def kl_upper(rates: Floats, counts: Floats, budget: float) -> Floats:
    """The largest q (n,) with counts * kl(rates, q) <= budget; 1 where nothing was counted.

    >>> [float(np.round(kl_upper(np.array([0.5]), np.array([10.0]), b)[0], 4)) for b in (kl_budget(100), np.log(100))]
    [0.9585, 0.8879]
    """
    level = budget / np.maximum(counts, SMALL)
    rest = 1.0 - rates
    entropy = -(rates * np.log(np.maximum(rates, TINY)) + rest * np.log(np.maximum(rest, TINY)))
    # Two points that no q within the budget lies above: by Pinsker, and by the term that grows at 1. x is 1 - q.
    x = np.exp(-np.minimum((level + entropy) / np.maximum(rest, SMALL), 690.0))
    x = np.maximum(x, rest - np.sqrt(0.5 * level))
    for _ in range(STEPS):
        q = 1.0 - x
        slope = np.maximum((rest - x) / np.maximum(x * q, TINY), SMALL)
        x = np.minimum(np.maximum(x + (bernoulli_kl(rates, q) - level) / slope, x), rest)
    return np.where((counts > 0) & (rates < 1.0), 1.0 - x, 1.0)


def kl_lower(rates: Floats, counts: Floats, budget: float) -> Floats:
    """The smallest q (n,) with counts * kl(rates, q) <= budget; 0 where nothing was counted."""
    return np.asarray(1.0 - kl_upper(1.0 - rates, counts, budget))
