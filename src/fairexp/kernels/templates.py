"""The cheapest fair interleaving of the groups' queues.

Symbols: E exposure by group, w shares, P exposure by position, T = sum E after the round (the same for every
template), W = sum w. Unfairness of a pair g < h is E_g - (w_g / w_h) E_h; a template's gap is the largest magnitude
over pairs.

Each group's documents wait in one queue in the order of the exploration draw. Walking a template pops, at each
position, the queue of the group that it names. What a pop costs depends only on how many documents each group has
shown so far, so costs come from a table, and the search is a depth-first walk over counts with two bounds:

- If every pair is within x, then |W E_g / w_g - T| <= x c_g with c_g = sum over h != g of w_h / w_min(g, h). This is
  the group's corridor; a walk is given up once nothing that a group can still collect ends in it (see `reach`).
- Completing a walk inside the corridor must cost at least what `lattice` has tabled for the state that it is in.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from fairexp.arrays import Bools, Floats, Ints
from fairexp.kernels.lattice import IMPOSSIBLE, Costs, fill_ahead, grid_of, least_ahead, pop_costs, row_starts
from fairexp.kernels.reach import Bits, can_collect

SLACK = 1e-9
"""Unfairness is compared with the tolerance up to this: rounding must not decide who is shown."""

NO_LIMIT = 2**62


@njit(cache=True)
def largest_gap(E: Floats, w: Floats) -> float:
    """The largest |E_g - (w_g / w_h) E_h| over pairs of groups g < h."""
    largest = 0.0
    for g in range(E.shape[0]):
        for h in range(g + 1, E.shape[0]):
            gap = abs(E[g] - w[g] / w[h] * E[h])
            if gap > largest:
                largest = gap
    return largest


@njit(cache=True)
def build_queues(
    order: Ints, groups: Ints, certain: Bools, row: Ints, k: int, n_groups: int, displayed_only: bool
) -> tuple[Ints, Ints, Ints, Ints]:
    """Queues (G, k) of document indices, how many each holds (G,), draw positions (G, k), and pop costs.

    `cost[g, i, h, a]` is what popping the i-th document of group g costs on account of group h when a documents of h
    are gone: documents of h that stand surely above it, came before it in the draw, and are still waiting. With
    `displayed_only` the same reversals are counted among shown documents, when the second of the two is popped.
    """
    n = order.shape[0]
    queue = np.zeros((n_groups, k), dtype=np.int64)
    place = np.zeros((n_groups, k), dtype=np.int64)
    size = np.zeros(n_groups, dtype=np.int64)
    in_queue = np.empty(n, dtype=np.int64)
    for p in range(n):
        g = groups[order[p]]
        if size[g] < k:
            queue[g, size[g]] = order[p]
            place[g, size[g]] = p
        in_queue[p] = min(size[g], k)
        size[g] += 1
    for g in range(n_groups):
        size[g] = min(size[g], k)
    cost = np.zeros((n_groups, k, n_groups, k + 1), dtype=np.int64)
    for g in range(n_groups):
        for i in range(size[g]):
            d = queue[g, i]
            for p in range(place[g, i]):
                e = order[p]
                h = groups[e]
                if h != g and certain[row[e], row[d]]:
                    if displayed_only:
                        # Charged to e's own pop: d is already shown once i + 1 documents of g are gone.
                        if in_queue[p] < k:
                            cost[h, in_queue[p], g, i + 1] += 1
                    else:
                        # e is still waiting while at most in_queue[p] documents of h are gone.
                        cost[g, i, h, in_queue[p]] += 1
    for g in range(n_groups):
        for i in range(size[g]):
            for h in range(n_groups):
                if displayed_only:
                    for a in range(1, k + 1):
                        cost[g, i, h, a] += cost[g, i, h, a - 1]
                else:
                    for a in range(k - 1, -1, -1):
                        cost[g, i, h, a] += cost[g, i, h, a + 1]
    return queue, size, place, cost


@njit(cache=True)
def total_after(spent: Floats, P: Floats) -> float:
    """T, the exposure of all groups together once the round has been charged."""
    total = 0.0
    for g in range(spent.shape[0]):
        total += spent[g]
    for p in range(P.shape[0]):
        total += P[p]
    return total


@njit(cache=True)
def corridor(limit: float, T: float, w: Floats) -> tuple[Floats, Floats]:
    """The least and most exposure (G,), (G,) that each group may end with if no pair exceeds `limit`."""
    n_groups = w.shape[0]
    lower = np.empty(n_groups)
    upper = np.empty(n_groups)
    W = 0.0
    for g in range(n_groups):
        W += w[g]
    for g in range(n_groups):
        c = 0.0
        for h in range(n_groups):
            if h != g:
                c += w[h] / w[min(g, h)]
        lower[g] = w[g] * (T - limit * c) / W
        upper[g] = w[g] * (T + limit * c) / W
    return lower, upper


@njit(cache=True)
def can_end_inside(
    E: Floats, gone: Ints, size: Ints, p: int, reach: Bits, width: float, lower: Floats, upper: Floats
) -> bool:
    """Whether every group can still end inside its corridor when positions p and below are left."""
    n_groups, rest = E.shape[0], reach.shape[0] - 1 - p
    waiting = 0
    for g in range(n_groups):
        waiting += min(size[g] - gone[g], rest)
    # With two groups, one inside its corridor means both are.
    for g in range(n_groups if n_groups > 2 else 1):
        own = min(size[g] - gone[g], rest)
        fewest = max(0, rest - (waiting - own))
        if not can_collect(reach, width, p, fewest, own, lower[g] - E[g] - SLACK, upper[g] - E[g] + SLACK):
            return False
    return True


@njit(cache=True)
def sort_choices(gone: Ints, size: Ints, place: Ints, E: Floats, w: Floats, lagging_first: bool, choices: Ints) -> int:
    """Put the groups that can be popped into `choices` and count them.

    In the order of the draw (the position of each group's next document), or the group that lags its share first.
    """
    count = 0
    for g in range(gone.shape[0]):
        if gone[g] < size[g]:
            key = E[g] / w[g] if lagging_first else float(place[g, gone[g]])
            at = count
            while at > 0:
                f = choices[at - 1]
                other = E[f] / w[f] if lagging_first else float(place[f, gone[f]])
                if other <= key:
                    break
                choices[at] = f
                at -= 1
            choices[at] = g
            count += 1
    return count


@njit(cache=True)
def can_end_cheaply(
    E: Floats, lower: Floats, upper: Floats, s: int, rest: int, ahead: Costs, start: Ints, cell: float, allowance: int
) -> bool:
    """Whether, for every group that has a table, state s can be completed into its corridor for the allowance."""
    for t in range(ahead.shape[0]):
        least = least_ahead(ahead[t], start, s, rest, cell, lower[t] - E[t] - SLACK, upper[t] - E[t] + SLACK, allowance)
        if least > allowance:
            return False
    return True


@njit(cache=True)
def walk(
    limit: float,
    budget: int | np.int64,
    resolution: float,
    spent: Floats,
    w: Floats,
    P: Floats,
    size: Ints,
    place: Ints,
    cost: Ints,
    reach: Bits,
    width: float,
    child: Ints,
    ahead: Costs,
    start: Ints,
    cell: float,
    max_nodes: int,
) -> tuple[bool, Ints, int, float, int]:
    """Depth-first search over templates whose gap is at most `limit` and whose cost is at most `budget`.

    With `resolution` 0 it looks for the least cost: choices are tried in the order of the draw and only a cheaper
    template replaces an earlier one, so among equals the one closest to the draw from the top down wins. With a
    positive `resolution` it looks for the least gap, up to that much, and the group that lags most is tried first.
    `ahead` (T, cells), `start` and the grid's `cell` are the lattice's tables of the first T groups; T may be 0.
    Returns (found, template (k,), cost, gap, nodes); more than `max_nodes` nodes end it with the best so far.
    """
    n_groups, k = spent.shape[0], P.shape[0]
    for_gap, tabled = resolution > 0.0, ahead.shape[0] > 0
    T = total_after(spent, P)
    lower, upper = corridor(limit, T, w)
    gain = np.zeros((k + 1, n_groups))
    total, state = np.zeros(k + 1, dtype=np.int64), np.zeros(k + 1, dtype=np.int64)
    n_choices, tried = np.zeros(k + 1, dtype=np.int64), np.zeros(k + 1, dtype=np.int64)
    choices = np.zeros((k + 1, n_groups), dtype=np.int64)
    gone = np.zeros(n_groups, dtype=np.int64)
    path, best = np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.int64)
    E = spent.copy()
    best_cost, best_gap, gap_cost, found = budget + 1, limit, budget, False
    n_choices[0] = sort_choices(gone, size, place, E, w, for_gap, choices[0])
    p, nodes = 0, 0
    while p >= 0:
        if tried[p] == n_choices[p]:
            p -= 1
            if p >= 0:
                gone[path[p]] -= 1
            continue
        g = choices[p, tried[p]]
        tried[p] += 1
        nodes += 1
        if nodes > max_nodes:
            break
        price = total[p]
        for other in range(n_groups):
            price += cost[g, gone[g], other, gone[other]]
        if price >= best_cost:
            continue
        path[p] = g
        for other in range(n_groups):
            gain[p + 1, other] = gain[p, other] + (P[p] if other == g else 0.0)
            E[other] = spent[other] + gain[p + 1, other]
        if p + 1 == k:
            gap = largest_gap(E, w)
            if gap <= best_gap + SLACK and not (for_gap and found and gap >= best_gap):
                found = True
                for q in range(k):
                    best[q] = path[q]
                if for_gap:
                    best_gap, gap_cost = gap, price
                    if gap <= resolution:
                        break
                    lower, upper = corridor(gap - resolution, T, w)
                else:
                    best_cost = price
            continue
        gone[g] += 1
        alive = can_end_inside(E, gone, size, p + 1, reach, width, lower, upper)
        if alive and tabled:
            state[p + 1] = child[state[p], g]
            allowance = best_cost - 1 - price
            alive = can_end_cheaply(E, lower, upper, state[p + 1], k - p - 1, ahead, start, cell, allowance)
        if not alive:
            gone[g] -= 1
            continue
        total[p + 1] = price
        p += 1
        tried[p] = 0
        n_choices[p] = sort_choices(gone, size, place, E, w, for_gap, choices[p])
    return found, best, int(gap_cost if for_gap else best_cost), best_gap, nodes


@njit(cache=True)
def build_tables(
    P: Floats, size: Ints, cost: Ints, states: Ints, child: Ints, n_cells: int
) -> tuple[Costs, Ints, float]:
    """The lattice's tables of every group, or of the first of two: where one ends decides where the other does."""
    n_groups = size.shape[0]
    n_tables = 1 if n_groups == 2 else n_groups
    pops = pop_costs(states, size, cost)
    units, left, cell = grid_of(P, n_cells)
    start, depth = row_starts(states, left)
    ahead = np.empty((n_tables, start[states.shape[0]]), dtype=np.int32)
    for t in range(n_tables):
        fill_ahead(ahead[t], start, depth, child, pops, units, t)
    return ahead, start, cell


@njit(cache=True)
def least_cost(
    limit: float,
    spent: Floats,
    w: Floats,
    P: Floats,
    size: Ints,
    place: Ints,
    cost: Ints,
    reach: Bits,
    width: float,
    child: Ints,
    ahead: Costs,
    start: Ints,
    cell: float,
    max_nodes: int,
) -> tuple[bool, Ints, int, int]:
    """The least cost within `limit` by walks with a rising budget, from the tables' bound up.

    Returns (found, template, cost, nodes); the answer is proven if nodes <= max_nodes.
    """
    lower, upper = corridor(limit, total_after(spent, P), w)
    budget = np.int64(0)
    for t in range(ahead.shape[0]):
        at_least, at_most = lower[t] - spent[t] - SLACK, upper[t] - spent[t] + SLACK
        bound = least_ahead(ahead[t], start, 0, P.shape[0], cell, at_least, at_most, -1)
        budget = max(budget, np.int64(bound))
    used, rise = 0, 1
    found, template, price = False, np.zeros(P.shape[0], dtype=np.int64), 0
    while budget < IMPOSSIBLE and not found and used <= max_nodes:
        found, template, price, _, nodes = walk(
            limit, budget, 0.0, spent, w, P, size, place, cost, reach, width, child, ahead, start, cell,
            max_nodes - used,
        )  # fmt: skip
        used += nodes
        budget += rise
        rise *= 2
    return found, template, price, used


@njit(cache=True)
def solve(
    order: Ints,
    groups: Ints,
    certain: Bools,
    row: Ints,
    P: Floats,
    spent: Floats,
    w: Floats,
    tolerance: float,
    displayed_only: bool,
    fairest: bool,
    place_keys: Ints,
    reach: Bits,
    width: float,
    states: Ints,
    child: Ints,
    n_cells: int,
    resolution: float,
    plain_nodes: int,
    max_nodes: int,
) -> tuple[Ints, Ints, int, Floats, bool, bool]:
    """The best template for a draw: queues, search, fallback and ties in one go.

    First a short walk without tables, which settles the easy rounds, then one with them. If nothing is within the
    tolerance, or the fairest of equals is wanted, a walk for the least gap sets the limit for a second search.
    Returns (shown (k,), template (k,), added regret, exposure after the round (G,), qualified, exact). `place_keys`
    (G, k), unless empty, takes the place of draw positions where equals are settled.
    """
    n_groups, k = w.shape[0], P.shape[0]
    queue, size, place, cost = build_queues(order, groups, certain, row, k, n_groups, displayed_only)
    if place_keys.shape[0] > 0:
        place = place_keys
    ahead, start, cell = np.zeros((0, 0), dtype=np.int32), np.zeros(0, dtype=np.int64), 1.0
    unlimited, plain = np.int64(NO_LIMIT), plain_nodes if child.shape[0] > 0 else max_nodes
    limit, exact = tolerance, True
    template, regret = np.zeros(k, dtype=np.int64), 0
    fallback, fallback_regret = template, regret
    for attempt in range(2):
        found, first, price, _, nodes = walk(
            limit, unlimited, 0.0, spent, w, P, size, place, cost, reach, width, child, ahead[:0], start, cell, plain
        )
        if nodes > plain and child.shape[0] > 0:
            if ahead.shape[0] == 0:
                ahead, start, cell = build_tables(P, size, cost, states, child, n_cells)
            better, second, second_price, nodes = least_cost(
                limit, spent, w, P, size, place, cost, reach, width, child, ahead, start, cell, max_nodes
            )
            if better or not found:
                found, first, price = better, second, second_price
        exact = exact and nodes <= max_nodes
        if found:
            template, regret = first, price
        elif attempt == 1:
            # Only an unfinished search comes here: what it was to improve on is an answer all the same.
            template, regret = fallback, fallback_regret
        if attempt == 1 or (found and not fairest):
            break
        if found and ahead.shape[0] == 0 and child.shape[0] > 0 and resolution > 3.0 * SLACK:
            ahead, start, cell = build_tables(P, size, cost, states, child, n_cells)
        _, fallback, fallback_regret, limit, nodes = walk(
            tolerance if found else np.inf, np.int64(regret) if found else unlimited, resolution, spent, w, P, size,
            place, cost, reach, width, child, ahead if found else ahead[:0], start, cell, max_nodes,
        )  # fmt: skip
        exact = exact and nodes <= max_nodes
    shown = np.zeros(k, dtype=np.int64)
    seen = np.zeros(n_groups, dtype=np.int64)
    after = np.zeros(n_groups)
    for p in range(k):
        g = template[p]
        shown[p] = queue[g, seen[g]]
        seen[g] += 1
        after[g] += P[p]
    for g in range(n_groups):
        after[g] += spent[g]
    return shown, template, regret, after, largest_gap(after, w) <= tolerance + SLACK, exact
