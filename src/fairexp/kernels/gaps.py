"""How far apart groups end, and how far apart they may.

Symbols: E exposure by group, w shares, P exposure by position, T = sum E after the round (the same for every
template), W = sum w. Unfairness of a pair g < h is E_g - (w_g / w_h) E_h; a template's gap is the largest magnitude
over pairs.
"""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Floats
from fairexp.kernels.compiling import kernel

SLACK = 1e-9
"""Unfairness is compared with the tolerance up to this: rounding must not decide who is shown."""


@kernel
def largest_gap(E: Floats, w: Floats) -> float:
    """The largest |E_g - (w_g / w_h) E_h| over pairs of groups g < h."""
    largest = 0.0
    for g in range(E.shape[0]):
        for h in range(g + 1, E.shape[0]):
            gap = abs(E[g] - w[g] / w[h] * E[h])
            if gap > largest:
                largest = gap
    return largest


@kernel
def corridor(limit: float, spent: Floats, w: Floats, P: Floats) -> tuple[Floats, Floats]:
    """The least and most exposure (G,), (G,) that each group may end with if no pair exceeds `limit`.

    If every pair is within x, then |W E_g / w_g - T| <= x c_g with c_g = sum over h != g of w_h / w_min(g, h).
    """
    n_groups = w.shape[0]
    lower = np.empty(n_groups)
    upper = np.empty(n_groups)
    T, W = 0.0, 0.0
    for g in range(n_groups):
        T += spent[g]
        W += w[g]
    for p in range(P.shape[0]):
        T += P[p]
    for g in range(n_groups):
        c = 0.0
        for h in range(n_groups):
            if h != g:
                c += w[h] / w[min(g, h)]
        spread = limit * c if c > 0.0 else 0.0
        lower[g] = w[g] * (T - spread) / W - SLACK
        upper[g] = w[g] * (T + spread) / W + SLACK
    return lower, upper
