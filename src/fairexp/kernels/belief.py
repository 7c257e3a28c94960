"""Certain orders, blocks and the exploration draw of a ranker with pairwise confidence.

Everything here is in the order of scores: document 0 has the highest. Symbols: s scores; W = X M^-1; G = W X^T, so that
G_ii + G_jj - 2 G_ij is the squared width ||x_i - x_j||^2 in the norm of M^-1; a the width's factor (alpha). i stands
surely above j if and only if sigma(s_i - s_j) - a ||x_ij|| > 1/2, which needs s_i > s_j.
"""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.kernels.compiling import kernel

WITHIN_BLOCK = {"certain": 0, "random": 1, "score": 2}


@kernel
def surely_far(s: Floats, squares: Floats, a: float, first: int, last: int) -> int:
    """The first position that certainly stands below all of `first`..`last` - 1 whatever the angles between them.

    ||x_i - x_j|| is at most ||x_i|| + ||x_j||; `squares` (n,) holds G_ii. From there down every order is certain.
    """
    n = s.shape[0]
    longest = 0.0
    for i in range(first, last):
        longest = max(longest, squares[i])
    longest_below = 0.0
    end: int = n
    for j in range(n - 1, last - 1, -1):
        longest_below = max(longest_below, squares[j])
        width = a * (np.sqrt(longest) + np.sqrt(longest_below))
        z = s[last - 1] - s[j]
        if not (z > 4.0 * width and 1.0 / (1.0 + np.exp(-z)) - width > 0.5 + 1e-9):
            break
        end = j
    return end


@kernel
def mark_certain(
    s: Floats, squares: Floats, G: Floats, a: float, first: int, certain: Bools, above: Ints, below: Ints, last: Ints
) -> None:
    """Enter what rows `first`.. of the relation hold: `G` (m, c) are their products with positions `first`...

    Positions beyond the columns of `G` stand surely below. `last` (n,) is the last position uncertain with each.
    """
    n = s.shape[0]
    rows, columns = G.shape
    for r in range(rows):
        i = first + r
        for c in range(r + 1, columns):
            j = first + c
            z = s[i] - s[j]
            square = max(squares[i] + squares[j] - 2.0 * G[r, c], 0.0)
            # sigma(z) - 1/2 <= z / 4: most uncertain pairs need neither root nor exponential.
            sure = z * z > 16.0 * a * a * square and z > 0.0
            if sure:
                width = a * np.sqrt(square)
                # sigma(z) - 1/2 >= width follows from z (1 - y^2) >= 2 y with y = 2 width: most certain ones neither.
                y = 2.0 * width
                if y >= 1.0 or z * (1.0 - y * y) < 2.0 * y * (1.0 + 1e-12) + 1e-15:
                    sure = 1.0 / (1.0 + np.exp(-z)) - width > 0.5
            if sure:
                certain[i, j] = True
                above[j] += 1
                below[i] += 1
            else:
                last[i] = j
        for j in range(first + columns, n):
            certain[i, j] = True
            above[j] += 1
        below[i] += n - first - columns


@kernel
def block_numbers(last: Ints) -> Ints:
    """Blocks (n,), best first: a block ends at a position that no uncertain pair crosses.

    Certain orders point from the higher score to the lower, so a running maximum of "the last position that is still
    uncertain with this one" finds every end, and no graph is needed.
    """
    n = last.shape[0]
    block = np.zeros(n, dtype=np.int64)
    current, reach = 0, 0
    for p in range(n):
        if p > reach:
            current += 1
            reach = p
        block[p] = current
        reach = max(reach, last[p])
    return block


@kernel
def explore(
    certain: Bools, last: Ints, above: Ints, below: Ints, keys: Floats, shuffled: Ints, within_block: int
) -> tuple[Ints, Ints]:
    """Blocks (n,) and one order (n,) that respects them; inside a block as `within_block` says (see `WITHIN_BLOCK`).

    `keys` (n,) are uniform random numbers. "certain" places, one after the other, a document chosen uniformly among
    those with no unplaced document surely above them; "random" takes them as they come in `shuffled` (n,), a random
    order of all, which nothing else needs; "score" keeps the order of scores.
    """
    block = block_numbers(last)
    n = block.shape[0]
    draw = np.zeros(n, dtype=np.int64)
    start = 0
    while start < n and within_block == 0:
        end = start + 1
        while end < n and block[end] == block[start]:
            end += 1
        _draw_respecting(certain, above, below, start, end, keys, draw)
        start = end
    if within_block == 1:
        _draw_shuffled(block, shuffled, draw)
    elif within_block == 2:
        for m in range(n):
            draw[m] = m
    return block, draw


@kernel
def _draw_shuffled(block: Ints, shuffled: Ints, draw: Ints) -> None:
    """Fill `draw` with the blocks' positions, those of each block in the order in which `shuffled` has them."""
    n = block.shape[0]
    free = np.zeros(n, dtype=np.int64)
    for p in range(n - 1, -1, -1):
        free[block[p]] = p
    for m in range(n):
        b = block[shuffled[m]]
        draw[free[b]] = shuffled[m]
        free[b] += 1


@kernel
def _draw_respecting(certain: Bools, above: Ints, below: Ints, start: int, end: int, keys: Floats, draw: Ints) -> None:
    """Fill `draw` from `start` to `end` with those positions in a random order that reverses no certain one."""
    n = draw.shape[0]
    waiting_for = np.zeros(end - start, dtype=np.int64)
    ready = np.zeros(end - start, dtype=np.int64)
    n_ready = 0
    for i in range(start, end):
        # All documents of earlier blocks stand above and are placed already.
        waiting_for[i - start] = above[i] - start
        if waiting_for[i - start] == 0:
            ready[n_ready] = i
            n_ready += 1
    for at in range(start, end):
        pick = min(int(keys[at] * n_ready), n_ready - 1)
        i = ready[pick]
        n_ready -= 1
        ready[pick] = ready[n_ready]
        draw[at] = i
        if below[i] > n - end:
            for other in range(i + 1, end):
                if certain[i, other]:
                    waiting_for[other - start] -= 1
                    if waiting_for[other - start] == 0:
                        ready[n_ready] = other
                        n_ready += 1
