"""Certain orders, blocks and the exploration draw of a ranker with pairwise confidence.

Symbols: s scores; G = X M^-1 X^T, so that G_ii + G_jj - 2 G_ij is the squared width ||x_i - x_j||^2 in the norm of
M^-1; a the width's factor (alpha). i stands surely above j if and only if sigma(s_i - s_j) - a ||x_ij|| > 1/2.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from fairexp.arrays import Bools, Floats, Ints

WITHIN_BLOCK = {"certain": 0, "random": 1, "score": 2}


@njit(cache=True)
def certain_orders(s: Floats, G: Floats, a: float) -> tuple[Bools, Ints, Ints, Ints, Ints]:
    """The relation (n, n), its blocks (n,), and per document how many stand surely above and below it.

    A certain order always points from the higher score to the lower. So, with documents sorted by score, a block ends
    at position p if and only if no uncertain pair crosses p: a running maximum of "the last position that is still
    uncertain with this one" finds every end, and no graph is needed.
    """
    n = s.shape[0]
    by_score = np.argsort(-s, kind="mergesort")
    certain = np.zeros((n, n), dtype=np.bool_)
    above = np.zeros(n, dtype=np.int64)
    below = np.zeros(n, dtype=np.int64)
    block = np.empty(n, dtype=np.int64)
    current, reach = 0, 0
    for p in range(n):
        i = by_score[p]
        if p > reach:
            current += 1
            reach = p
        block[i] = current
        for q in range(p + 1, n):
            j = by_score[q]
            z = s[i] - s[j]
            width = a * np.sqrt(max(G[i, i] + G[j, j] - 2.0 * G[i, j], 0.0))
            # sigma(z) - 1/2 <= z / 4, so most uncertain pairs need no exponential.
            if z > 4.0 * width and 1.0 / (1.0 + np.exp(-z)) - width > 0.5:
                certain[i, j] = True
                above[j] += 1
                below[i] += 1
            elif q > reach:
                reach = q
    return certain, block, above, below, by_score


@njit(cache=True)
def exploration_draw(
    certain: Bools, block: Ints, above: Ints, below: Ints, by_score: Ints, keys: Floats, within_block: int
) -> Ints:
    """One order (n,) that respects the blocks; inside a block as `within_block` says (see `WITHIN_BLOCK`).

    `keys` (n,) are uniform random numbers. "certain" places, one after the other, a document chosen uniformly among
    those with no unplaced document surely above them; "random" shuffles; "score" sorts, equal scores as in `by_score`.
    """
    n = by_score.shape[0]
    if within_block == 2:
        return by_score.copy()
    draw = np.empty(n, dtype=np.int64)
    start = 0
    while start < n:
        end = start + 1
        while end < n and block[by_score[end]] == block[by_score[start]]:
            end += 1
        members = by_score[start:end]
        if within_block == 1:
            draw[start:end] = members[np.argsort(keys[start:end])]
        else:
            _draw_respecting(certain, above, below, members, start, n - end, keys, draw)
        start = end
    return draw


@njit(cache=True)
def _draw_respecting(
    certain: Bools, above: Ints, below: Ints, members: Ints, n_before: int, n_after: int, keys: Floats, draw: Ints
) -> None:
    """Fill `draw` from position `n_before` on with `members` in a random order that reverses no certain one."""
    size = members.shape[0]
    waiting_for = np.empty(size, dtype=np.int64)
    ready = np.empty(size, dtype=np.int64)
    n_ready = 0
    for m in range(size):
        # All documents of earlier blocks stand above and are placed already.
        waiting_for[m] = above[members[m]] - n_before
        if waiting_for[m] == 0:
            ready[n_ready] = m
            n_ready += 1
    for placed in range(size):
        pick = min(int(keys[n_before + placed] * n_ready), n_ready - 1)
        m = ready[pick]
        n_ready -= 1
        ready[pick] = ready[n_ready]
        i = members[m]
        draw[n_before + placed] = i
        if below[i] > n_after:
            for other in range(size):
                if certain[i, members[other]]:
                    waiting_for[other] -= 1
                    if waiting_for[other] == 0:
                        ready[n_ready] = other
                        n_ready += 1
