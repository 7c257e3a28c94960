"""Short lists: templates as covers of the positions by one subset for each group.

What groups gain, and what each pair of them costs, depends on their subsets alone. So templates are put together from
subsets, group by group. The subsets of any set of positions are listed by their sums, so that all that fit what a group
may gain stand side by side. Next comes the group with the fewest of them, or else the topmost free position, where its
owners have fewer. This is at its best where a walk over positions is at its worst: many groups, few fair templates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints
from fairexp.kernels.compiling import kernel

Masks = NDArray[np.uint16]

CHEAPEST, FAIREST_OF_THOSE, LEAST_GAP = np.int64(0), np.int64(1), np.int64(2)
"""What is searched for: the least cost, of equals the one closest to the draw; of equals the least gap, then the draw;
or the least gap alone."""

FEW = 4
"""Up to so many ways to share the last positions are priced one by one, more of them by a table."""

TABLE, BRANCH = 4, 2
"""Effort of making that table, and of trying a subset before the last two groups, in looks at one of theirs."""

LOOKS = 2.25
"""Looks that count as one step of a walk, which takes the time of two to three."""


class Subsets(NamedTuple):
    """Subsets of k positions as bit masks, or nothing at all.

    By mask (2**k,): the sum of exposure `worth` and the number of positions. Its own subsets, the empty one and itself
    included, are `masks[start[mask] : start[mask + 1]]` of 3**k in all, in the order of their `sums`.
    """

    masks: Masks
    sums: Floats
    start: Ints
    worth: Floats
    n_positions: Ints


@kernel
def list_subsets(P: Floats) -> Subsets:
    """All subsets of all subsets of the positions of the curve P (k,)."""
    k = P.shape[0]
    total = 2**k if k > 0 else 0
    worth, count, start = np.zeros(total), np.zeros(total, dtype=np.int64), np.zeros(total + 1, dtype=np.int64)
    for mask in range(total):
        rest = mask & (mask - 1)
        if mask > 0:
            p = 0
            while not (mask >> p) & 1:
                p += 1
            worth[mask], count[mask] = worth[rest] + P[p], count[rest] + 1
        start[mask + 1] = start[mask] + 2 ** count[mask]
    masks, sums = np.zeros(start[total], dtype=np.uint16), np.zeros(start[total])
    for mask in range(1, total):
        # With and without the topmost position: two lists in order become one.
        rest = mask & (mask - 1)
        first, more = mask ^ rest, worth[mask ^ rest]
        without, with_it, end = start[rest], start[rest], start[rest + 1]
        for at in range(start[mask], start[mask + 1]):
            if without < end and (with_it >= end or sums[without] <= sums[with_it] + more):
                masks[at], sums[at] = masks[without], sums[without]
                without += 1
            else:
                masks[at], sums[at] = masks[with_it] | first, sums[with_it] + more
                with_it += 1
    return Subsets(masks, sums, start, worth, count)


@kernel
def first_at_least(sums: Floats, begin: int, end: int, value: float) -> int:
    """Where in sums[begin:end], which ascend, the first of at least `value` stands."""
    while begin < end:
        middle = (begin + end) // 2
        if sums[middle] < value:
            begin = middle + 1
        else:
            end = middle
    return begin


@kernel
def that_fit(sums: Floats, start: Ints, ranges: Floats, level: int, g: int, free: int, more: float) -> tuple[int, int]:
    """Where the subsets of the free positions stand that, with `more` exposure, fit what g may gain."""
    begin, end = start[free], start[free + 1]
    first = first_at_least(sums, begin, end, ranges[level, 0, g] - more)
    return first, first_at_least(sums, first, end, ranges[level, 1, g] - more)


class Board(NamedTuple):
    """A cover in the making: whose turn it is at each level, and the best cover so far.

    By level (G,): the group `owner` whose turn it is, which of the listed subsets to try from `at` up to `end`, which
    position goes to the owner besides (as a mask, or 0 where it is one group's turn alone), the positions that are
    `free`, what the groups above cost each other in `total`, and what groups may gain, at least and at most, `ranges`
    (G, 2, G). By group (G,): its `mask`, whether it is `used`, and its exposure E. Then the present `template` (k,) and
    the `best` one (k,), and what `last_two` needs.
    """

    owner: Ints
    at: Ints
    end: Ints
    besides: Ints
    free: Ints
    total: Ints
    ranges: Floats
    mask: Ints
    used: Bools
    E: Floats
    template: Ints
    best: Ints
    steps: Ints
    gone: Ints
    ahead: Ints


@kernel
def pair_cost(cost: Ints, n_positions: Ints, g: int, mask: int, h: int, other: int) -> int:
    """What groups g and h cost each other if they take these positions."""
    price, i, rest = 0, 0, mask
    while rest:
        first = rest & -rest
        price += cost[g, i, h, n_positions[other & (first - 1)]]
        i += 1
        rest ^= first
    i, rest = 0, other
    while rest:
        first = rest & -rest
        price += cost[h, i, g, n_positions[mask & (first - 1)]]
        i += 1
        rest ^= first
    return price


@kernel
def cost_at_least(cost: Ints, size: Ints, n_positions: Ints, mask: int, g: int, h: int, free: int) -> int:
    """What group g with this mask pays at least on account of h, which takes some of the free positions.

    A pop costs the less (or, among shown documents, the more) the more of h are gone: one of the two ends is least.
    """
    price, i, rest = 0, 0, mask
    while rest:
        first = rest & -rest
        most = min(n_positions[free & (first - 1)], size[h])
        price += min(cost[g, i, h, 0], cost[g, i, h, most])
        i += 1
        rest ^= first
    return price


@kernel
def price_among(cost: Ints, n_positions: Ints, g: int, used: Bools, mask: Ints) -> int:
    """What group g and the other used ones cost each other."""
    price = 0
    for h in range(used.shape[0]):
        if used[h] and h != g:
            price += pair_cost(cost, n_positions, g, mask[g], h, mask[h])
    return price


@kernel
def price_of_unused(cost: Ints, size: Ints, n_positions: Ints, used: Bools, mask: Ints, free: int) -> int:
    """What the used groups pay at least for the unused, which share the free positions."""
    price = 0
    for h in range(used.shape[0]):
        for g in range(0 if used[h] else used.shape[0]):
            if used[g]:
                price += cost_at_least(cost, size, n_positions, mask[g], g, h, free)
    return price


@kernel
def price_of(cost: Ints, template: Ints) -> int:
    """What a whole template costs."""
    price, gone = 0, np.zeros(cost.shape[0], dtype=np.int64)
    for g in template:
        for h in range(gone.shape[0]):
            price += cost[g, gone[g], h, gone[h]]
        gone[g] += 1
    return price
