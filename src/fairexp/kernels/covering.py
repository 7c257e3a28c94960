"""The search for the best cover: group by group, down to the last two, which share what is left."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.kernels.compiling import kernel
from fairexp.kernels.covers import (
    BRANCH,
    FAIREST_OF_THOSE,
    FEW,
    LEAST_GAP,
    TABLE,
    Board,
    Subsets,
    first_at_least,
    pair_cost,
    price_among,
    price_of,
    price_of_unused,
    that_fit,
)
from fairexp.kernels.gaps import SLACK, corridor, largest_gap
from fairexp.kernels.last_two import least_steps, price_steps, table_steps
from fairexp.kernels.search import Found, Round


@kernel
def new_board(n_groups: int, k: int, spent: Floats) -> Board:
    """All positions free and nobody's turn."""
    levels, lists = np.zeros((7, n_groups), dtype=np.int64), np.zeros((2, k), dtype=np.int64)
    owner, at, end, besides, free, total, mask = levels
    free[0] = 2**k - 1
    ranges = np.empty((n_groups, 2, n_groups))
    for g in range(n_groups):
        ranges[0, 0, g], ranges[0, 1, g] = -SLACK, np.inf
    used, E = np.zeros(n_groups, dtype=np.bool_), spent.copy()
    steps, scratch = np.zeros((k + 1, 2, k + 1), dtype=np.int64), np.zeros((2, k + n_groups + 1), dtype=np.int64)
    return Board(
        owner, at, end, besides, free, total, ranges, mask, used, E, lists[0], lists[1], steps, scratch[0], scratch[1]
    )


@kernel
def restrict(ranges: Floats, n_levels: int, limit: float, round: Round) -> None:
    """Let `ranges` (levels, 2, G) of what groups may gain, at least and at most, lie in the corridor of `limit`."""
    lower, upper = corridor(limit, round.spent, round.w, round.P)
    for level in range(n_levels):
        for g in range(lower.shape[0]):
            ranges[level, 0, g] = max(ranges[level, 0, g], lower[g] - round.spent[g])
            ranges[level, 1, g] = min(ranges[level, 1, g], upper[g] - round.spent[g])


@kernel
def narrow(
    spent: Floats, w: Floats, g: int, gained: float, limit: float, used: Bools, worth: float, ranges: Floats, level: int
) -> bool:
    """Put into the next level of `ranges` what the unused groups may gain once g has gained so much.

    Returns whether they can share positions of that `worth` so.
    """
    least, most, E = 0.0, 0.0, spent[g] + gained
    for h in range(used.shape[0]):
        if used[h]:
            continue
        ratio = w[h] / w[g]
        # |E_h - r E_g| <= x where h is the lower number, |E_g - E_h / r| <= x where it is the higher.
        reach = (limit if h < g else limit * ratio) + SLACK
        low = max(ranges[level, 0, h], ratio * E - reach - spent[h])
        high = min(ranges[level, 1, h], ratio * E + reach - spent[h])
        ranges[level + 1, 0, h], ranges[level + 1, 1, h] = low, high
        if low > high or high < 0.0:
            return False
        least += max(low, 0.0)
        most += min(high, worth)
    if least > worth + SLACK or worth > most + SLACK:
        return False
    for h in range(used.shape[0]):
        if not used[h]:
            # The others take so much of it at least, and at most.
            low, high = ranges[level + 1, 0, h], ranges[level + 1, 1, h]
            ranges[level + 1, 0, h] = max(low, worth - (most - min(high, worth)) - SLACK)
            ranges[level + 1, 1, h] = min(high, worth - (least - max(low, 0.0)) + SLACK)
    return True


@kernel
def comes_before(place: Ints, one: Ints, other: Ints) -> bool:
    """Whether the first of two templates is closer to the draw, from the top down."""
    gone = np.zeros(place.shape[0], dtype=np.int64)
    for p in range(one.shape[0]):
        if one[p] != other[p]:
            return bool(place[one[p], gone[one[p]]] < place[other[p], gone[other[p]]])
        gone[one[p]] += 1
    return False


@kernel
def write_template(mask: Ints, template: Ints) -> None:
    """Put the groups' positions into the template (k,)."""
    for p in range(template.shape[0]):
        for g in range(mask.shape[0]):
            if (mask[g] >> p) & 1:
                template[p] = g


@kernel
def is_better(
    rule: np.int64, price: int, gap: float, best_cost: int, best_gap: float, template: Ints, best: Ints, place: Ints
) -> bool:
    """Whether a template that costs no more than the best so far, and is fair, takes its place."""
    if rule == LEAST_GAP:
        return gap < best_gap
    if price < best_cost:
        return True
    if rule == FAIREST_OF_THOSE and abs(gap - best_gap) > SLACK:
        return gap < best_gap
    return comes_before(place, template, best)


@kernel
def shares_of_two(
    sums: Floats,
    start: Ints,
    worth_of: Floats,
    spent: Floats,
    w: Floats,
    a: int,
    b: int,
    free: int,
    goal: float,
    ranges: Floats,
    level: int,
) -> tuple[int, int]:
    """Where the subsets of the free positions stand that a may take and leave the others to b."""
    worth, ratio = worth_of[free], w[a] / w[b]
    middle = ratio * (spent[b] + worth) - spent[a]
    low = max(ranges[level, 0, a], worth - ranges[level, 1, b], (middle - goal) / (1.0 + ratio))
    high = min(ranges[level, 1, a], worth - ranges[level, 0, b], (middle + goal) / (1.0 + ratio))
    begin, end = start[free], start[free + 1]
    first = first_at_least(sums, begin, end, low - SLACK)
    return first, first_at_least(sums, first, end, high + SLACK)


@kernel
def begin_level(sums: Floats, start: Ints, worth: Floats, board: Board, level: int) -> None:
    """Let the group take its turn for which the fewest subsets fit, or one by one all that may own the top position."""
    free, used, ranges = board.free[level], board.used, board.ranges
    top = free & -free
    fewest, owners = start[free + 1] - start[free] + 1, 0
    board.besides[level] = 0
    for g in range(used.shape[0]):
        if not used[g]:
            first, last = that_fit(sums, start, ranges, level, g, free, 0.0)
            if last - first < fewest:
                fewest = last - first
                board.owner[level], board.at[level], board.end[level] = g, first, last
            first, last = that_fit(sums, start, ranges, level, g, free ^ top, worth[top])
            owners += last - first
    if owners < fewest:
        board.besides[level], board.owner[level], board.at[level], board.end[level] = top, -1, 0, 0
    else:
        used[board.owner[level]] = True


@kernel
def next_owner(sums: Floats, start: Ints, worth: Floats, board: Board, level: int) -> bool:
    """Let the next group take its turn at the topmost position; whether there is one."""
    g, top, used = board.owner[level], board.besides[level], board.used
    if g >= 0:
        used[g] = False
    if top == 0:
        return False
    g += 1
    while g < used.shape[0]:
        if not used[g]:
            first, last = that_fit(sums, start, board.ranges, level, g, board.free[level] ^ top, worth[top])
            if first < last:
                board.owner[level], board.at[level], board.end[level], used[g] = g, first, last, True
                return True
        g += 1
    return False


@kernel(inline="always")
def share_rest(
    round: Round,
    subsets: Subsets,
    board: Board,
    level: int,
    left: int,
    price: int,
    rule: np.int64,
    goal: float,
    found: bool,
    best_cost: int,
    best_gap: float,
) -> tuple[bool, int, float, int]:
    """The best so far after the last two groups have shared the positions that are left, in every fair way."""
    spent, w, size, cost = round.spent, round.w, round.size, round.cost
    masks, sums, start, worth, n_positions = subsets
    mask, used, E = board.mask, board.used, board.E
    n_groups, effort = w.shape[0], 0
    a = 0
    while used[a]:
        a += 1
    b = a + 1
    while used[b]:
        b += 1
    first, last = shares_of_two(sums, start, worth, spent, w, a, b, left, goal, board.ranges, level)
    tabled = rule != LEAST_GAP and last - first > FEW
    if tabled:
        effort += TABLE
        t = table_steps(cost, a, b, left, used, mask, board.steps, board.gone)
        if price + least_steps(board.steps, t, board.ahead) > best_cost:
            last = first
    for at in range(first, last):
        m = int(masks[at])
        rest = left & ~m
        effort += 1
        if n_positions[m] > size[a] or n_positions[rest] > size[b]:
            continue
        now = price
        if tabled:
            now += price_steps(board.steps, left, m)
        elif rule != LEAST_GAP:
            now += pair_cost(cost, n_positions, a, m, b, rest)
            for f in range(n_groups):
                if used[f]:
                    now += pair_cost(cost, n_positions, a, m, f, mask[f])
                    now += pair_cost(cost, n_positions, b, rest, f, mask[f])
        if now > best_cost:
            continue
        mask[a], mask[b] = m, rest
        E[a], E[b] = spent[a] + worth[m], spent[b] + worth[rest]
        gap = largest_gap(E, w)
        if gap > (best_gap if rule == LEAST_GAP and found else goal) + SLACK:
            continue
        write_template(mask, board.template)
        if not found or is_better(rule, now, gap, best_cost, best_gap, board.template, board.best, round.place):
            found, best_gap = True, gap
            board.best[:] = board.template
            if rule != LEAST_GAP:
                best_cost = now
    return found, best_cost, best_gap, effort


@kernel
def cover(
    round: Round,
    subsets: Subsets,
    limit: float,
    budget: int | np.int64,
    rule: np.int64,
    resolution: float,
    max_nodes: int,
) -> Found:
    """The best template whose gap is at most `limit` and whose cost is at most `budget`, by a rule.

    The least gap is found up to `resolution`. More than `max_nodes` looks at subsets end the search with the best so
    far.
    """
    n_groups, k = round.w.shape[0], round.P.shape[0]
    spent, w, size, cost = round.spent, round.w, round.size, round.cost
    masks, sums, start, worth, n_positions = subsets
    board = new_board(n_groups, k, spent)
    owner, at, end, besides, free, total = board.owner, board.at, board.end, board.besides, board.free, board.total
    ranges, mask, used, E = board.ranges, board.mask, board.used, board.E
    found, best_cost, best_gap = False, int(budget), limit
    goal, nodes, level = limit, 0, 0
    restrict(ranges, level + 1, goal, round)
    begin_level(sums, start, worth, board, level)
    while level >= 0 and nodes <= max_nodes and goal >= 0.0:
        if at[level] >= end[level]:
            if not next_owner(sums, start, worth, board, level):
                level -= 1
            continue
        g, m = owner[level], int(masks[at[level]]) | besides[level]
        at[level] += 1
        nodes += BRANCH
        left, gained = free[level] & ~m, worth[m]
        if n_positions[m] > size[g] or not ranges[level, 0, g] <= gained <= ranges[level, 1, g]:
            continue
        mask[g], E[g] = m, spent[g] + gained
        if not narrow(spent, w, g, gained, goal, used, worth[left], ranges, level):
            continue
        price = total[level]
        if rule != LEAST_GAP:
            price += price_among(cost, n_positions, g, used, mask)
            if price > best_cost:
                continue
        if level < n_groups - 3:
            if rule != LEAST_GAP and price + price_of_unused(cost, size, n_positions, used, mask, left) > best_cost:
                continue
            level += 1
            free[level], total[level] = left, price
            begin_level(sums, start, worth, board, level)
            continue
        before = best_gap
        had = found
        found, best_cost, best_gap, more = share_rest(
            round, subsets, board, level + 1, left, price, rule, goal, found, best_cost, best_gap
        )
        nodes += more
        if rule == LEAST_GAP and found and (not had or best_gap < before):
            goal = best_gap - resolution
            restrict(ranges, level + 1, goal, round)
    least = price_of(cost, board.best) if found else best_cost
    return Found(found, board.best, int(least), best_gap, nodes)
