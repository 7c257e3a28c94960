"""Counts of shown documents by group, and what completing a template must cost.

A state is a vector of counts a (G,) with sum p <= k. States are numbered by the combinatorial number system: with
partial sums s_i = a_0 + ... + a_i the number is the sum of binomials C(s_i + i, i + 1), and adding a document to any
group always gives a larger number. So one backward pass over the numbers fills a table.

`fill_ahead` tables, for one group, the least cost V(s, q) of completing state s such that the group collects q more
units of exposure, in grid units as in `reach`. Its minimum over the q that lead into the group's corridor bounds the
cost of completing a walk from below; with two groups it is that cost, but for rounding to the grid.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fairexp.arrays import Floats, Ints

Costs = NDArray[np.int32]

IMPOSSIBLE = 2**30


@njit(cache=True)
def n_states(k: int, n_groups: int) -> int:
    """C(k + G, G), the number of count vectors with sum at most k (or 2**31 if that is smaller)."""
    count = 1.0
    for i in range(1, n_groups + 1):
        count = count * (k + i) / i
    return int(min(count + 0.5, 2.0**31))


@njit(cache=True)
def build_lattice(k: int, n_groups: int) -> tuple[Ints, Ints]:
    """States (S, G) in the order of their numbers, and `child[s, g]`, the number of s with one more of g (or -1)."""
    total = n_states(k, n_groups)
    binomial = np.zeros((n_groups, k + 2), dtype=np.int64)
    for s in range(k + 2):
        binomial[0, s] = s
    for i in range(1, n_groups):
        for s in range(1, k + 2):
            binomial[i, s] = binomial[i, s - 1] + binomial[i - 1, s]
    states = np.zeros((total, n_groups), dtype=np.int64)
    child = np.zeros((total, n_groups), dtype=np.int64)
    a = np.zeros(n_groups, dtype=np.int64)
    for number in range(total):
        p = 0
        for g in range(n_groups):
            states[number, g] = a[g]
            p += a[g]
        for g in range(n_groups):
            code, s = 0, 0
            for i in range(n_groups):
                s += a[i] + (1 if i == g else 0)
                code += binomial[i, s]
            child[number, g] = code if p < k else -1
        # The next vector: one document moves from the first group after 0 that has any, with all of group 0's.
        i = 1
        while i < n_groups and a[i] == 0:
            i += 1
        moving = a[0] + 1
        a[0] = 0
        if i < n_groups:
            a[i] -= 1
        a[i - 1] += moving
    return states, child


@njit(cache=True)
def pop_costs(states: Ints, size: Ints, cost: Ints) -> Ints:
    """What popping each group costs in each state (S, G); -1 where the queue is empty."""
    total, n_groups = states.shape
    pops = np.zeros((total, n_groups), dtype=np.int64)
    for s in range(total):
        for g in range(n_groups):
            i = states[s, g]
            pops[s, g] = 0 if i < size[g] else -1
            if i < size[g]:
                for h in range(n_groups):
                    pops[s, g] += cost[g, i, h, states[s, h]]
    return pops


@njit(cache=True)
def grid_of(P: Floats, n_cells: int) -> tuple[Ints, Ints, float]:
    """Exposures (k,) in grid units, what is left of them from each position down (k + 1,), and the grid's width."""
    k = P.shape[0]
    total = 0.0
    for p in range(k):
        total += P[p]
    width = max(total, 1e-300) / n_cells
    units = np.zeros(k, dtype=np.int64)
    left = np.zeros(k + 1, dtype=np.int64)
    for p in range(k - 1, -1, -1):
        units[p] = int(P[p] / width + 0.5)
        left[p] = left[p + 1] + units[p]
    return units, left, width


@njit(cache=True)
def relax(target: Costs, source: Costs, cost: int) -> None:
    """target[i] = min(target[i], source[i] + cost); views and `min` let the compiler use vector instructions."""
    more = np.int32(cost)
    for i in range(source.shape[0]):
        target[i] = min(target[i], np.int32(source[i] + more))


@njit(cache=True)
def row_starts(states: Ints, left: Ints) -> tuple[Ints, Ints]:
    """Where each state's row of a table begins (S + 1,), and the depth (S,) of each state."""
    total, n_groups = states.shape
    start = np.zeros(total + 1, dtype=np.int64)
    depth = np.zeros(total, dtype=np.int64)
    for s in range(total):
        for g in range(n_groups):
            depth[s] += states[s, g]
        start[s + 1] = start[s] + left[depth[s]] + 1
    return start, depth


@njit(cache=True)
def fill_ahead(table: Costs, start: Ints, depth: Ints, child: Ints, pops: Ints, units: Ints, group: int) -> None:
    """Fill `table` (cells,) with V of one group."""
    total, n_groups = child.shape
    for s in range(total - 1, -1, -1):
        row = table[start[s] : start[s + 1]]
        last = child[s, 0] < 0
        for i in range(row.shape[0]):
            row[i] = 0 if last else IMPOSSIBLE
        if last:
            continue
        for g in range(n_groups):
            if pops[s, g] >= 0:
                shift = units[depth[s]] if g == group else 0
                relax(row[shift:], table[start[child[s, g]] : start[child[s, g] + 1]], pops[s, g])


@njit(cache=True)
def least_ahead(
    table: Costs, start: Ints, s: int, rest: int, width: float, at_least: float, at_most: float, enough: int
) -> int:
    """The least V(s, q) over q in [at_least, at_most], give or take the rounding of `rest` positions.

    The search stops at the first value of at most `enough`.
    """
    error = 0.5 * rest * width
    length = start[s + 1] - start[s]
    first = int(min(max((at_least - error) / width, 0.0), float(length)))
    last = int(min(max((at_most + error) / width + 1.0, -1.0), float(length - 1)))
    least = IMPOSSIBLE
    for q in range(first, last + 1):
        value = int(table[start[s] + q])
        if value < least:
            least = value
            if least <= enough:
                break
    return least
