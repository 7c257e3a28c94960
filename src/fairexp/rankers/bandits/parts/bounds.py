"""Confidence bounds of a rate from a count of successes, for rankers that are optimistic."""

from __future__ import annotations

from math import log

import numpy as np

from fairexp.arrays import Floats

TINY, SMALL = 1e-300, 1e-9
STEPS, PRECISE = 20, 1e-12
"""At most so many Newton steps for a Kullback-Leibler bound, until they are this small. They start beyond the bound
and, kl being convex, come down on it without passing it."""


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


def kl_bounds(rates: Floats, counts: Floats, budget: float) -> tuple[Floats, Floats]:
    """The smallest and the largest q (n,) with counts * kl(rates, q) <= budget; 0 and 1 where nothing was counted.

    >>> lower, upper = kl_bounds(np.array([0.5]), np.array([10.0]), kl_budget(100))
    >>> float(np.round(lower[0], 4)), float(np.round(upper[0], 4))
    (0.0415, 0.9585)
    """
    n, known = len(rates), counts > 0
    # kl(p, q) = kl(1 - p, 1 - q): what is left to 1 above the rate of no click is the lower bound of the rate.
    level = budget / np.maximum(counts, SMALL)
    left = _left_above(np.concatenate([rates, 1.0 - rates]), np.concatenate([level, level]))
    return np.where(known, left[n:], 0.0), np.where(known, 1.0 - left[:n], 1.0)


def _left_above(p: Floats, level: Floats) -> Floats:
    """1 - q (n,) for the largest q with kl(p, q) <= level."""
    rest = 1.0 - p
    constant = p * np.log(np.maximum(p, TINY)) + rest * np.log(np.maximum(rest, TINY)) - level
    # Two points that no such q lies above: by the term that grows at 1, and by Pinsker. x is 1 - q.
    x = np.exp(-np.minimum(-constant / np.maximum(rest, SMALL), 690.0))
    x = np.maximum(x, rest - np.sqrt(0.5 * level))
    for _ in range(STEPS):
        q = np.maximum(1.0 - x, TINY)
        excess = constant - p * np.log(q) - rest * np.log(x)
        step = np.maximum(excess, 0.0) / np.maximum((rest - x) / (x * q), SMALL)
        x = np.maximum(np.minimum(x + step, rest), TINY)
        if step.max(initial=0.0) < PRECISE:
            break
    return np.where(rest > 0.0, x, 0.0)
