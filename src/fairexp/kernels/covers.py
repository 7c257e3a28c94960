"""Short lists: templates as covers of the positions by one subset for each group.

What groups gain, and what each pair of them costs, depends on their subsets alone. So where few subsets of positions
add up to what a group may gain, templates are put together from subsets: whose is the topmost position that is still
free, and what else does that group take? Subsets are listed by topmost position and sorted by their sums, so only
those that fit are looked at. This is at its best where a walk over positions is at its worst: many groups, few fair
templates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from fairexp.arrays import Bools, Floats, Ints
from fairexp.kernels.gaps import SLACK, corridor, largest_gap
from fairexp.kernels.search import NO_LIMIT, Found, Round

PRICING = 12
"""Effort of adding up what groups cost each other, in looks at a subset."""


class Subsets(NamedTuple):
    """Subsets of k positions as bit masks; none at all for lists that are too long.

    `masks` and `sums` (2**k - 1,) are sorted by sum within the same topmost position p, whose part begins at `start[p]`
    (k + 1,). By mask (2**k,): the sum of exposure `worth`, the number of positions, the topmost of them `top`, and its
    place in the list `where`.
    """

    masks: Ints
    sums: Floats
    start: Ints
    worth: Floats
    n_positions: Ints
    top: Ints
    where: Ints


@njit(cache=True)
def list_subsets(P: Floats) -> Subsets:
    """All subsets of the positions of the curve P (k,)."""
    k = P.shape[0]
    total = 2**k if k > 0 else 0
    worth, count, top = np.zeros(total), np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
    for mask in range(1, total):
        p = 0
        while not (mask >> p) & 1:
            p += 1
        rest = mask & (mask - 1)
        worth[mask], count[mask], top[mask] = worth[rest] + P[p], count[rest] + 1, p
    masks, sums = np.zeros(max(total - 1, 0), dtype=np.int64), np.zeros(max(total - 1, 0))
    where = np.zeros(total, dtype=np.int64)
    start = np.zeros(k + 1, dtype=np.int64)
    for p in range(k):
        n = 2 ** (k - p - 1)
        mine = 2**p + np.arange(n) * 2 ** (p + 1)
        mine = mine[np.argsort(worth[mine])]
        start[p + 1] = start[p] + n
        for i in range(n):
            masks[start[p] + i], sums[start[p] + i], where[mine[i]] = mine[i], worth[mine[i]], start[p] + i
    return Subsets(masks, sums, start, worth, count, top, where)


@njit(cache=True)
def first_at_least(sums: Floats, begin: int, end: int, value: float) -> int:
    """Where in sums[begin:end], which ascend, the first of at least `value` stands."""
    while begin < end:
        middle = (begin + end) // 2
        if sums[middle] < value:
            begin = middle + 1
        else:
            end = middle
    return begin


@njit(cache=True)
def pair_cost(cost: Ints, g: int, mask: int, h: int, other: int) -> int:
    """What groups g and h cost each other if they take these positions."""
    price, i, j, p = 0, 0, 0, 0
    while (mask | other) >> p:
        if (mask >> p) & 1:
            price += cost[g, i, h, j]
            i += 1
        elif (other >> p) & 1:
            price += cost[h, j, g, i]
            j += 1
        p += 1
    return price


@njit(cache=True)
def cost_at_least(round: Round, mask: int, g: int, h: int, free: int) -> int:
    """What group g with this mask pays at least on account of h, which takes some of the free positions.

    A pop costs the less (or, among shown documents, the more) the more of h are gone: one of the two ends is least.
    """
    price, i, before, p = 0, 0, 0, 0
    while mask >> p:
        if (mask >> p) & 1:
            most = min(before, round.size[h])
            price += min(round.cost[g, i, h, 0], round.cost[g, i, h, most])
            i += 1
        elif (free >> p) & 1:
            before += 1
        p += 1
    return price


@njit(cache=True)
def comes_before(round: Round, one: Ints, other: Ints) -> bool:
    """Whether the first of two templates is closer to the draw, from the top down."""
    gone = np.zeros(round.w.shape[0], dtype=np.int64)
    for p in range(one.shape[0]):
        if one[p] != other[p]:
            return bool(round.place[one[p], gone[one[p]]] < round.place[other[p], gone[other[p]]])
        gone[one[p]] += 1
    return False


@njit(cache=True)
def narrow(
    round: Round, g: int, E: Floats, limit: float, used: Bools, free: int, subsets: Subsets, now: Floats, then: Floats
) -> bool:
    """Put into `then` (2, G) what the unused groups may gain once g has E[g], at least and at most, from `now` (2, G).

    Returns whether they can share the free positions so.
    """
    worth, least, most = subsets.worth[free], 0.0, 0.0
    highest, fits = worth - subsets.worth[free & (free - 1)], False
    for h in range(used.shape[0]):
        if used[h]:
            continue
        ratio = round.w[h] / round.w[g]
        # |E_h - r E_g| <= x where h is the lower number, |E_g - E_h / r| <= x where it is the higher.
        reach = (limit if h < g else limit * ratio) + SLACK
        low = max(now[0, h], ratio * E[g] - reach - round.spent[h])
        high = min(now[1, h], ratio * E[g] + reach - round.spent[h])
        then[0, h], then[1, h] = low, high
        if low > high or high < 0.0:
            return False
        least += max(low, 0.0)
        most += min(high, worth)
        fits = fits or highest <= high
    return fits and least <= worth + SLACK and worth <= most + SLACK


@njit(cache=True)
def next_owner(subsets: Subsets, order: Ints, allowed: Floats, used: Bools, free: int, turn: Ints, last: bool) -> None:
    """Let the next unused group (in that order) try for the topmost free position, or none (-1) if all have.

    `turn` (4,) is the owner, the place of the next one in the order, and which of the listed subsets to try, from and
    up to. The last group takes all that is free.
    """
    if turn[0] >= 0:
        used[turn[0]] = False
    at = turn[1]
    while at < used.shape[0] and used[order[at]]:
        at += 1
    turn[0] = -1
    if at < used.shape[0]:
        g = order[at]
        turn[0], turn[1], used[g] = g, at + 1, True
        top = subsets.top[free]
        begin, end = subsets.start[top], subsets.start[top + 1]
        if last:
            begin, end = subsets.where[free], subsets.where[free] + 1
        turn[2] = first_at_least(subsets.sums, begin, end, allowed[0, g])
        turn[3] = first_at_least(subsets.sums, begin, end, allowed[1, g] + SLACK)


@njit(cache=True)
def price_among(round: Round, g: int, used: Bools, mask: Ints) -> int:
    """What group g and the other used ones cost each other."""
    price = 0
    for h in range(used.shape[0]):
        if used[h] and h != g:
            price += pair_cost(round.cost, g, mask[g], h, mask[h])
    return price


@njit(cache=True)
def price_of_unused(round: Round, used: Bools, mask: Ints, free: int) -> int:
    """What the used groups pay at least for the unused, which share the free positions."""
    price = 0
    for h in range(used.shape[0]):
        for g in range(0 if used[h] else used.shape[0]):
            if used[g]:
                price += cost_at_least(round, mask[g], g, h, free)
    return price


@njit(cache=True)
def price_of_all(round: Round, used: Bools, mask: Ints) -> int:
    """What a whole template costs."""
    twice = 0
    for g in range(used.shape[0]):
        if used[g]:
            twice += price_among(round, g, used, mask)
    return twice // 2 + price_of_unused(round, used, mask, 0)


@njit(cache=True)
def restrict(ranges: Floats, n_levels: int, limit: float, round: Round) -> None:
    """Let `ranges` (levels, 2, G) of what groups may gain, at least and at most, lie in the corridor of `limit`."""
    lower, upper = corridor(limit, round.spent, round.w, round.P)
    for level in range(n_levels):
        for g in range(lower.shape[0]):
            ranges[level, 0, g] = max(ranges[level, 0, g], lower[g] - round.spent[g])
            ranges[level, 1, g] = min(ranges[level, 1, g], upper[g] - round.spent[g])


@njit(cache=True)
def write_template(mask: Ints, used: Bools, template: Ints) -> None:
    """Put the groups' positions into the template (k,)."""
    for p in range(template.shape[0]):
        for g in range(mask.shape[0]):
            if used[g] and (mask[g] >> p) & 1:
                template[p] = g


@njit(cache=True)
def cover(
    round: Round, subsets: Subsets, limit: float, budget: int | np.int64, resolution: float, max_nodes: int
) -> Found:
    """The same answer as `walk`'s to the same question, found by subsets."""
    n_groups, k = round.w.shape[0], round.P.shape[0]
    for_gap, goal, priced = resolution > 0.0, limit, budget < NO_LIMIT
    ranges = np.empty((n_groups, 2, n_groups))
    for g in range(n_groups):
        ranges[0, 0, g], ranges[0, 1, g] = 0.0, np.inf
    restrict(ranges, 1, goal, round)
    E, used, mask = round.spent.copy(), np.zeros(n_groups, dtype=np.bool_), np.zeros(n_groups, dtype=np.int64)
    turn, free = np.zeros((n_groups, 4), dtype=np.int64), np.zeros(n_groups, dtype=np.int64)
    total = np.zeros(n_groups, dtype=np.int64)
    turn[0, 0], free[0] = -1, 2**k - 1
    order = np.argsort(round.place[:, 0])
    best, template = np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.int64)
    best_cost, best_gap, found, nodes, level = budget, limit, False, 0, 0
    while level >= 0:
        if turn[level, 2] >= turn[level, 3]:
            next_owner(subsets, order, ranges[level], used, free[level], turn[level], level == n_groups - 1)
            if turn[level, 0] < 0:
                level -= 1
            continue
        g, m = turn[level, 0], subsets.masks[turn[level, 2]]
        turn[level, 2] += 1
        nodes += 1
        if nodes > max_nodes:
            break
        if m & ~free[level] or subsets.n_positions[m] > round.size[g] or subsets.worth[m] > ranges[level, 1, g]:
            continue
        left = free[level] & ~m
        mask[g], E[g] = m, round.spent[g] + subsets.worth[m]
        below = ranges[min(level + 1, n_groups - 1)]
        if left and not narrow(round, g, E, goal, used, left, subsets, ranges[level], below):
            continue
        price = total[level]
        if priced:
            nodes += PRICING
            price += price_among(round, g, used, mask)
            if price + price_of_unused(round, used, mask, left) > (budget if for_gap else best_cost):
                continue
        if left:
            level += 1
            free[level], total[level] = left, price
            turn[level, 0], turn[level, 1], turn[level, 2], turn[level, 3] = -1, 0, 0, 0
            continue
        price = price_of_all(round, used, mask)
        for h in range(n_groups):
            if not used[h]:
                E[h] = round.spent[h]
        gap = largest_gap(E, round.w)
        if gap > best_gap + SLACK or (for_gap and found and gap >= best_gap):
            continue
        write_template(mask, used, template)
        if not for_gap and found and price == best_cost and not comes_before(round, template, best):
            continue
        found, best_cost = True, np.int64(price)
        best[:] = template
        if for_gap:
            best_gap, goal = gap, gap - resolution
            if goal < 0.0:
                break
            restrict(ranges, level + 1, goal, round)
    return Found(found, best, int(best_cost), best_gap, nodes)
