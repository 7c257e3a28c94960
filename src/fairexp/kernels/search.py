"""A depth-first walk over templates, position by position, with two bounds.

- A walk is given up once nothing that a group can still collect ends in its corridor (see `gaps` and `reach`).
- Completing a walk inside the corridors must cost at least what `lattice` has tabled for the state that it is in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.kernels.compiling import kernel
from fairexp.kernels.gaps import SLACK, corridor, largest_gap
from fairexp.kernels.lattice import Tables, least_ahead
from fairexp.kernels.reach import Bits, can_collect

NO_LIMIT = 2**60
"""A budget that nothing exceeds."""


class Round(NamedTuple):
    """What a template is chosen for.

    P (k,) exposure by position, `spent` (G,) so far, w (G,) shares; the queues' `size` (G,), keys by which equals are
    settled `place` (G, k), and `cost` of pops; reachable sums and their grid's width; the lattice's `child` (S, G).
    """

    P: Floats
    spent: Floats
    w: Floats
    size: Ints
    place: Ints
    cost: Ints
    reach: Bits
    reach_width: float
    child: Ints


class Found(NamedTuple):
    """A search's best template (k,), what it costs and the gap it leaves, whether there is one, and the effort."""

    found: bool
    template: Ints
    cost: int
    gap: float
    nodes: int


class Effort(NamedTuple):
    """How much to search: nodes without bounds (at first, and later) and in all, cells in tables, and the least
    difference between gaps that counts."""

    first_nodes: int
    plain_nodes: int
    max_nodes: int
    max_cells: int
    resolution: float


class Choice(NamedTuple):
    """What was found, and what its cost and, where the least gap was sought, its gap are at least."""

    best: Found
    cost_bound: int
    gap_bound: float


@kernel
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
        if not can_collect(reach, width, p, fewest, own, lower[g] - E[g], upper[g] - E[g]):
            return False
    return True


@kernel
def can_end_cheaply(
    tables: Tables, E: Floats, w: Floats, s: int, p: int, limit: float, lower: Floats, upper: Floats, allowance: int
) -> bool:
    """Whether, by every table, state s can be completed within the limit for the allowance."""
    for t in range(tables.pair.shape[0]):
        if least_ahead(tables, t, s, p, E, w, limit, lower, upper, allowance) > allowance:
            return False
    return True


@kernel
def no_guide() -> Floats:
    """Nothing to tell what to try first."""
    return np.zeros((0, 1))


@kernel
def sort_choices(
    gone: Ints,
    size: Ints,
    place: Ints,
    E: Floats,
    w: Floats,
    lagging: bool,
    guide: Floats,
    s: int,
    choices: Ints,
    p: int,
) -> int:
    """Put the groups that can be popped into `choices[p]` and count them.

    In the order of the guide for state s, if there is one; or the group that lags its share first; or in the order of
    the draw (the position of each group's next document).
    """
    guided, count, key, other = guide.shape[0] > 0, 0, 0.0, 0.0
    for g in range(gone.shape[0]):
        if gone[g] < size[g]:
            at = count
            key = guide[s, g] if guided else (E[g] / w[g] if lagging else float(place[g, gone[g]]))
            while at > 0:
                f = choices[p, at - 1]
                other = guide[s, f] if guided else (E[f] / w[f] if lagging else float(place[f, gone[f]]))
                if other <= key:
                    break
                choices[p, at] = f
                at -= 1
            choices[p, at] = g
            count += 1
    return count


@kernel
def price_of_pop(cost: Ints, gone: Ints, g: int) -> int:
    """What popping group g costs once so many of each (G,) are gone."""
    price = 0
    for h in range(gone.shape[0]):
        price += cost[g, gone[g], h, gone[h]]
    return price


@kernel
def add_gain(P: Floats, spent: Floats, gain: Floats, p: int, g: int, E: Floats) -> None:
    """Let group g gain position p: `gain[p + 1]` and exposure E (G,) from `gain[p]`."""
    for h in range(E.shape[0]):
        gain[p + 1, h] = gain[p, h] + (P[p] if h == g else 0.0)
        E[h] = spent[h] + gain[p + 1, h]


@kernel
def walk(
    round: Round, tables: Tables, guide: Floats, limit: float, budget: int | np.int64, resolution: float, max_nodes: int
) -> Found:
    """The best template whose gap is at most `limit` and whose cost is at most `budget`.

    With `resolution` 0 it looks for the least cost: choices are tried in the order of the draw and only a cheaper
    template replaces an earlier one, so among equals the one closest to the draw from the top down wins. With a
    positive `resolution` it looks for the least gap, up to that much, and the group that lags most is tried first.
    A `guide` (S, G), unless empty, tells by state what to try first instead. More than `max_nodes` nodes end it with
    the best so far.
    """
    # Taken apart because small functions are given what they need: the whole is costly to hand over at every step.
    P, spent, w, size, place, cost = round.P, round.spent, round.w, round.size, round.place, round.cost
    n_groups, k, follows_states = w.shape[0], P.shape[0], tables.pair.shape[0] > 0 or guide.shape[0] > 0
    for_gap, goal = resolution > 0.0, limit
    lower, upper = corridor(goal, spent, w, P)
    gain, E, gone = np.zeros((k + 1, n_groups)), spent.copy(), np.zeros(n_groups, dtype=np.int64)
    choices, best = np.zeros((k + 1, n_groups), dtype=np.int64), np.zeros(k, dtype=np.int64)
    total, state, n_choices, tried, path = np.zeros((5, k + 1), dtype=np.int64)
    best_cost, best_gap, gap_cost, found = budget + 1, limit, budget, False
    p, nodes = 0, 0
    n_choices[p] = sort_choices(gone, size, place, E, w, for_gap, guide, state[p], choices, p)
    while p >= 0 and nodes <= max_nodes and goal >= 0.0:
        if tried[p] == n_choices[p]:
            p -= 1
            if p >= 0:
                gone[path[p]] -= 1
            continue
        g = choices[p, tried[p]]
        tried[p] += 1
        nodes += 1
        price = total[p] + price_of_pop(cost, gone, g)
        if nodes > max_nodes or price >= best_cost:
            continue
        path[p] = g
        add_gain(P, spent, gain, p, g, E)
        if p + 1 == k:
            gap = largest_gap(E, w)
            if gap <= best_gap + SLACK and not (for_gap and found and gap >= best_gap):
                found, best[:] = True, path[:k]
                if for_gap:
                    best_gap, gap_cost, goal = gap, price, gap - resolution
                    lower, upper = corridor(goal, spent, w, P)
                else:
                    best_cost = price
            continue
        gone[g] += 1
        state[p + 1] = round.child[state[p], g] if follows_states else 0
        if not can_end_inside(E, gone, size, p + 1, round.reach, round.reach_width, lower, upper) or not (
            can_end_cheaply(tables, E, w, state[p + 1], p + 1, goal + SLACK, lower, upper, best_cost - 1 - price)
        ):
            gone[g] -= 1
            continue
        p += 1
        total[p], tried[p] = price, 0
        n_choices[p] = sort_choices(gone, size, place, E, w, for_gap, guide, state[p], choices, p)
    return Found(found, best, int(gap_cost if for_gap else best_cost), best_gap, nodes)
