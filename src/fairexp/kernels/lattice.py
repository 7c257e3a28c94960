"""Counts of shown documents by group, and what completing a template must cost.

A state is a vector of counts a (G,) with sum p <= k. States are numbered by the combinatorial number system: with
partial sums s_i = a_0 + ... + a_i the number is the sum of binomials C(s_i + i, i + 1), and adding a document to any
group always gives a larger number. So one backward pass over the numbers fills a table.

A table holds, for two groups, the least cost V(s, q, r) of completing state s such that one collects q and the other r
more units of exposure, on a grid. Its minimum over the q and r that lead into the groups' corridors bounds the cost of
completing a walk from below; with two or three groups it is that cost, but for rounding to the grid. Blocks hold only
what can lead into the corridors from what the groups can have collected before; nothing else is ever asked for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints
from fairexp.kernels.compiling import kernel

Costs = NDArray[np.int16]

IMPOSSIBLE = 2**30
"""A cost that nothing reaches."""

DEAREST = 2**14
"""The same in tables, whose cells are small; where costs could come near it, they are tabled by their leading bits."""

ROUGH, FINEST = np.int64(256), np.int64(16384)
"""Cells for the exposure of all positions in the grid that tells how fine one can be, and in the finest."""


@kernel
def n_states(k: int, n_groups: int) -> int:
    """C(k + G, G), the number of count vectors with sum at most k (or 2**31 if that is smaller)."""
    count = 1.0
    for i in range(1, n_groups + 1):
        count = count * (k + i) / i
    return int(min(count + 0.5, 2.0**31))


class Lattice(NamedTuple):
    """States (S, G) in the order of their numbers, their sums `depth` (S,), and `child[s, g]`, s with one more of g.

    Where the sum is k already, children are -1.
    """

    states: Ints
    depth: Ints
    child: Ints


@kernel
def build_lattice(k: int, n_groups: int) -> Lattice:
    """All counts of documents that lists of up to k positions can hold."""
    total = n_states(k, n_groups)
    binomial = np.zeros((n_groups, k + 2), dtype=np.int64)
    for s in range(k + 2):
        binomial[0, s] = s
    for i in range(1, n_groups):
        for s in range(1, k + 2):
            binomial[i, s] = binomial[i, s - 1] + binomial[i - 1, s]
    states = np.zeros((total, n_groups), dtype=np.int64)
    child = np.zeros((total, n_groups), dtype=np.int64)
    depth = np.zeros(total, dtype=np.int64)
    a = np.zeros(n_groups, dtype=np.int64)
    for number in range(total):
        p = 0
        for g in range(n_groups):
            states[number, g] = a[g]
            p += a[g]
        depth[number] = p
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
    return Lattice(states, depth, child)


class Tables(NamedTuple):
    """V of T pairs of groups, one after the other in `cells`; T may be 0.

    Table t is of groups `pair[t]` (the second may be -1, for none). The block of state s begins at `start[t, s]`, has
    `shape[t, s]` cells and its first cell is `first[t, s]` of the grid, both with the second group before the first, as
    in memory. Cells are `width` wide. `least[p]` and `most[p]` (k + 1,) bound how far rounding can move a sum over
    positions p and below, which is `left[p]` cells for all of them. Costs are tabled without their last `shift` bits.
    """

    cells: Costs
    pair: Ints
    start: Ints
    shape: Ints
    first: Ints
    least: Floats
    most: Floats
    left: Ints
    width: float
    shift: int


@kernel
def no_tables() -> Tables:
    """Tables of no group."""
    flat, deep = np.zeros((0, 1), dtype=np.int64), np.zeros((0, 1, 2), dtype=np.int64)
    no_number, none = np.zeros(1), np.zeros(1, dtype=np.int64)
    return Tables(np.zeros(0, dtype=np.int16), flat, flat, deep, deep, no_number, no_number, none, 1.0, 0)


@kernel
def gains_before(P: Floats) -> tuple[Floats, Floats]:
    """The least and most (k + 1, k + 1) that a of the first p positions give together, at [p, a]."""
    k = P.shape[0]
    least = np.zeros((k + 1, k + 1))
    most = np.zeros((k + 1, k + 1))
    for p in range(1, k + 1):
        least[p, p] = most[p, p] = most[p - 1, p - 1] + P[p - 1]
        for a in range(1, p):
            least[p, a] = min(least[p - 1, a], least[p - 1, a - 1] + P[p - 1])
            most[p, a] = max(most[p - 1, a], most[p - 1, a - 1] + P[p - 1])
    return least, most


@kernel
def place_blocks(
    lattice: Lattice,
    useful: Bools,
    lower: Floats,
    upper: Floats,
    spent: Floats,
    P: Floats,
    gains: tuple[Floats, Floats],
    n_cells: np.int64,
) -> tuple[Tables, Bools]:
    """Empty tables with room for the blocks of useful states (S,), and which of those can end in all corridors."""
    total, n_groups = lattice.states.shape
    k = P.shape[0]
    width = max(P.sum(), 1e-300) / n_cells
    least, most, left = np.zeros(k + 1), np.zeros(k + 1), np.zeros(k + 1, dtype=np.int64)
    for p in range(k - 1, -1, -1):
        units = int(P[p] / width + 0.5)
        moved = units * width - P[p]
        least[p], most[p] = least[p + 1] + min(moved, 0.0), most[p + 1] + max(moved, 0.0)
        left[p] = left[p + 1] + units
    n_tables = 1 if n_groups < 4 else (n_groups + 1) // 2
    pair = np.full((n_tables, 2), -1, dtype=np.int64)
    shape = np.ones((n_tables, total, 2), dtype=np.int64)
    first = np.zeros((n_tables, total, 2), dtype=np.int64)
    alive = useful.copy()
    for g in range(n_groups):
        t, side = g // 2, 1 - g % 2
        # Where all but one group end decides where the last does.
        kept = n_groups > 3 or g < n_groups - 1
        if kept:
            pair[t, g % 2] = g
        for s in range(total):
            if not alive[s]:
                continue
            p, gone = lattice.depth[s], lattice.states[s, g]
            at_least = (lower[g] - spent[g] - gains[1][p, gone] + least[p]) / width
            at_most = (upper[g] - spent[g] - gains[0][p, gone] + most[p]) / width
            # One cell more on both sides: rounding in these very sums must not matter.
            begin = int(max(at_least - 1.0, 0.0))
            count = int(min(max(at_most + 1.0, -1.0), float(left[p]))) + 1 - begin
            alive[s] = count > 0
            if kept:
                first[t, s, side], shape[t, s, side] = begin, count
    start = np.zeros((n_tables, total + 1), dtype=np.int64)
    end = 0
    for t in range(n_tables):
        for s in range(total):
            start[t, s] = end
            end += shape[t, s, 0] * shape[t, s, 1] if alive[s] else 0
        start[t, total] = end
    return Tables(np.zeros(0, dtype=np.int16), pair, start, shape, first, least, most, left, width, 0), alive


@kernel
def relax(target: Costs, source: Costs, cost: int) -> None:
    """target[i] = min(target[i], source[i] + cost); views and `min` let the compiler use vector instructions."""
    more = np.int16(cost)
    for i in range(source.shape[0]):
        target[i] = min(target[i], np.int16(source[i] + more))


@kernel
def fill(target: Costs, cost: int) -> None:
    """target[i] = cost."""
    value = np.int16(cost)
    for i in range(target.shape[0]):
        target[i] = value


@kernel
def follow(tables: Tables, t: int, s: int, c: int, g: int, price: int, units: int) -> None:
    """Let block s of table t know what going on to state c costs, where group g collects `units` on the way."""
    rows, columns = tables.shape[t, s, 0], tables.shape[t, s, 1]
    its_rows, its_columns = tables.shape[t, c, 0], tables.shape[t, c, 1]
    down = tables.first[t, c, 0] - tables.first[t, s, 0] + (units if g == tables.pair[t, 1] else 0)
    right = tables.first[t, c, 1] - tables.first[t, s, 1] + (units if g == tables.pair[t, 0] else 0)
    at, source = max(right, 0), max(-right, 0)
    count = min(columns - at, its_columns - source)
    if count > 0:
        for i in range(max(down, 0), min(rows, its_rows + down)):
            to = tables.start[t, s] + i * columns + at
            by = tables.start[t, c] + (i - down) * its_columns + source
            relax(tables.cells[to : to + count], tables.cells[by : by + count], price)


@kernel
def build_tables(
    lattice: Lattice,
    useful: Bools,
    prices: Floats,
    P: Floats,
    spent: Floats,
    lower: Floats,
    upper: Floats,
    top: int | np.int64,
    across: int,
    max_cells: int,
) -> Tables:
    """The tables for templates that cost at most `top`, pass through useful states (S,) only and end in the corridors.

    Their grid has `across` cells in the narrowest corridor, unless that takes more than `max_cells`. Pops cost `prices`
    (S, G).
    """
    total, n_groups = lattice.states.shape
    gains = gains_before(P)
    rough, _ = place_blocks(lattice, useful, lower, upper, spent, P, gains, ROUGH)
    finer = max_cells / max(rough.start[-1, -1], 1)
    fine_enough = across * P.sum() / max((upper - lower).min(), 1e-300)
    n_cells = np.int64(max(min(ROUGH * (finer if n_groups == 2 else np.sqrt(finer)), fine_enough, float(FINEST)), 1.0))
    empty, alive = place_blocks(lattice, useful, lower, upper, spent, P, gains, n_cells)
    cells, shift = np.empty(empty.start[-1, -1], dtype=np.int16), 0
    while top >> shift >= DEAREST - 1:
        shift += 1
    tables = Tables(
        cells,
        empty.pair,
        empty.start,
        empty.shape,
        empty.first,
        empty.least,
        empty.most,
        empty.left,
        empty.width,
        shift,
    )
    n_tables = tables.pair.shape[0]
    for s in range(total - 1, -1, -1):
        if not alive[s]:
            continue
        last, p = lattice.child[s, 0] < 0, lattice.depth[s]
        for t in range(n_tables):
            fill(cells[tables.start[t, s] : tables.start[t, s + 1]], 0 if last else DEAREST)
        for g in range(0 if last else n_groups):
            c, price = lattice.child[s, g], prices[s, g]
            if price <= top and alive[c]:
                for t in range(n_tables):
                    follow(tables, t, s, c, g, int(price) >> shift, tables.left[p] - tables.left[p + 1])
    return tables


@kernel
def third_allows(
    tables: Tables, p: int, r: int, E: Floats, w: Floats, limit: float, low: int, high: int
) -> tuple[int, int]:
    """The q between `low` and `high` for which no pair of three groups exceeds `limit`, give or take rounding.

    Groups have E (3,) so far; the second collects `r` units more, the first q, and the third what they leave.
    """
    width = tables.width
    error = max(tables.most[p], -tables.least[p]) + 1e-6 * width
    second = E[1] + r * width
    both = E[0] + E[2] + (tables.left[p] - r) * width
    # |E_0 - a E_1| <= x, |E_0 - b E_2| <= x and |E_1 - c E_2| <= x, solved for E_0.
    a, b, c = w[0] / w[1], w[0] / w[2], w[1] / w[2]
    least = max(
        a * second - limit - (1.0 + a) * error,
        (b * both - limit) / (1.0 + b) - error,
        both - (second + limit + error) / c - error,
    )
    most = min(
        a * second + limit + (1.0 + a) * error,
        (b * both + limit) / (1.0 + b) + error,
        both - (second - limit - error) / c + error,
    )
    first = max((least - E[0]) / width - 1e-6, float(low))
    last = min((most - E[0]) / width + 1e-6, float(high))
    return int(np.ceil(min(first, float(high + 1)))), int(np.floor(max(last, float(low - 1))))


@kernel
def least_ahead(
    tables: Tables,
    t: int,
    s: int,
    p: int,
    E: Floats,
    w: Floats,
    limit: float,
    lower: Floats,
    upper: Floats,
    enough: int | np.int64,
) -> int:
    """The least V in state s, where positions p and below are left, over what leads groups that have E (G,) home.

    Home is between `lower` (G,) and `upper` (G,) and within `limit` of each other, give or take rounding. It stops at
    the first value of at most `enough`.
    """
    width, columns = tables.width, tables.shape[t, s, 1]
    if tables.start[t, s] == tables.start[t, s + 1]:
        return IMPOSSIBLE
    least, enough = DEAREST, enough >> tables.shift
    g, h = tables.pair[t, 0], tables.pair[t, 1]
    less, more = tables.least[p] / width - 1e-6, tables.most[p] / width + 1e-6
    left, top, column = float(tables.left[p]), tables.first[t, s, 0], tables.first[t, s, 1]
    low = max(int(np.ceil(min(max((lower[g] - E[g]) / width + less, 0.0), left + 1.0))), column)
    high = min(int(np.floor(min(max((upper[g] - E[g]) / width + more, -1.0), left))), column + columns - 1)
    first, last = 0, 0
    if h >= 0:
        first = max(int(np.ceil(min(max((lower[h] - E[h]) / width + less, 0.0), left + 1.0))), top)
        last = min(
            int(np.floor(min(max((upper[h] - E[h]) / width + more, -1.0), left))), top + tables.shape[t, s, 0] - 1
        )
    for r in range(first, last + 1):
        q_low, q_high = low, high
        if w.shape[0] == 3:
            q_low, q_high = third_allows(tables, p, r, E, w, limit, low, high)
        row = tables.start[t, s] + (r - top) * columns - column
        for q in range(q_low, q_high + 1):
            value = int(tables.cells[row + q])
            if value < least:
                least = value
                if least <= enough:
                    return least << tables.shift
    return least << tables.shift if least < DEAREST else IMPOSSIBLE
