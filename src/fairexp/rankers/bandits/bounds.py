"""Confidence bounds of a rate from a count of successes, for rankers that are optimistic."""

from __future__ import annotations

from math import log

import numpy as np

from fairexp.arrays import Floats

TINY = 1e-300


def hoeffding_budget(rounds: float) -> float:
    """1.5 ln t, the exploration of UCB1 at round t: its bounds are sqrt(budget / count) away from the rate.

    >>> round(0.5 + (hoeffding_budget(100) / 10) ** 0.5, 3)
    1.331
    """
    return 1.5 * log(max(rounds, 1.0))


def hoeffding_width(counts: Floats, rounds: float) -> Floats:
    """sqrt(1.5 ln rounds / counts), the width of UCB1's bound; infinite where nothing was counted."""
    return np.where(counts > 0, np.sqrt(hoeffding_budget(rounds) / np.maximum(counts, 1.0)), np.inf)


def kl_budget(rounds: float) -> float:
    """ln t + 3 ln ln t, the exploration of KL-UCB at round t; 0 while the logarithm's logarithm is negative."""
    return log(rounds) + 3.0 * log(max(log(rounds), 1.0)) if rounds > 1.0 else 0.0


def bernoulli_kl(p: Floats, q: Floats) -> Floats:
    """kl(p, q) of two coins."""
    return np.asarray(
        p * (np.log(np.maximum(p, TINY)) - np.log(np.maximum(q, TINY)))
        + (1.0 - p) * (np.log(np.maximum(1.0 - p, TINY)) - np.log(np.maximum(1.0 - q, TINY)))
    )
