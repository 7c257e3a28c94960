"""Tails of Student's t distribution and of throws of a fair coin, which intervals and tests need."""

from __future__ import annotations

import math
from functools import lru_cache

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
