"""What completing a template must cost, if groups are to end in their corridors.

A table holds, for two groups, the least cost V(s, q, r) of completing state s such that one collects q and the other r
more units of exposure, on a grid. Its minimum over the q and r that lead into the groups' corridors bounds the cost of
completing a walk from below; with two or three groups it is that cost, but for rounding to the grid. Blocks hold only
what can lead into the corridors from what the groups can have collected before; nothing else is ever asked for.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.fairness.gaps import slack
from cython.cimports.fairexp.kernels.fairness.multipliers import IMPOSSIBLE
from cython.cimports.libc.math import INFINITY, ceil, floor, sqrt
from cython.cimports.libc.stdint import int64_t

DEAREST = 2**14
"""A cost that nothing reaches in cells, which are small; where costs come near, they are tabled by leading bits."""

ROUGH, FINEST = 256.0, 16384.0
"""Cells for the exposure of all positions in the grid that tells how fine one can be, and in the finest."""

ACROSS = 300.0
"""Cells across the narrowest corridor."""

MARGIN = 1e-6
"""Part of a cell that rounding in sums may move them by."""


@cython.final
@cython.cclass
class Tables:
    """V of `count` pairs of groups, one after the other in `cells`; `count` may be 0.

    Table t is of groups `pair[t]` (the second may be -1, for none). The block of state s begins at `start[t, s]`, has
    `shape[t, s]` cells and its first cell is `first[t, s]` of the grid, both with the second group before the first, as
    in memory. Cells are `width` wide. `least[p]` and `most[p]` (k + 1,) bound how far rounding can move a sum over
    positions p and below, which is `left[p]` cells for all of them. Costs are tabled without their last `shift` bits.
    """

    def __init__(self, round, lattice, multipliers):
        self.round, self.lattice, self.multipliers = round, lattice, multipliers
        k, n_groups, total = self.round.k, self.round.n_groups, self.lattice.n_states
        # Where all but one group end decides where the last does.
        self.n_tables = 1 if n_groups < 4 else (n_groups + 1) // 2
        kept = n_groups if n_groups > 3 else n_groups - 1
        self.pair = np.array([[g, g + 1 if g + 1 < kept else -1] for g in range(0, 2 * self.n_tables, 2)])
        self.cells = np.zeros(0, dtype=np.int16)
        self.start = np.zeros((self.n_tables, total + 1), dtype=np.int64)
        self.shape = np.ones((self.n_tables, total, 2), dtype=np.int64)
        self.first = np.zeros((self.n_tables, total, 2), dtype=np.int64)
        self.least, self.most = np.zeros((2, k + 1))
        self.left, self.alive = np.zeros(k + 1, dtype=np.int64), np.zeros(total, dtype=np.uint8)
        self.least_before, self.most_before = np.zeros((2, k + 1, k + 1))
        self.sum_before()

    def sum_before(self):
        """The least and most that a of the first p positions give together, at [p, a]."""
        least, most, P = self.least_before, self.most_before, self.round.P
        for p in range(1, self.round.k + 1):
            least[p, p] = most[p, p] = most[p - 1, p - 1] + P[p - 1]
            for a in range(1, p):
                least[p, a] = min(least[p - 1, a], least[p - 1, a - 1] + P[p - 1])
                most[p, a] = max(most[p - 1, a], most[p - 1, a - 1] + P[p - 1])

    def build(self, top, max_cells):
        """Tables for templates that cost at most `top` and end in the multipliers' corridors.

        They have `ACROSS` cells in the narrowest corridor, unless that takes more than `max_cells`.
        """
        self.lay_grid(ROUGH)
        self.place_blocks(top)
        self.lay_grid(self.fitting(max_cells))
        self.place_blocks(top)
        if self.cells.shape[0] < self.n_cells:
            with cython.gil:
                self.cells = np.empty(self.n_cells, dtype=np.int16)
        self.shift = 0
        while top >> self.shift >= DEAREST - 1:
            self.shift += 1
        self.fill(top)
        self.count = self.n_tables

    def fitting(self, max_cells):
        """How many cells for the exposure of all positions are fine enough, and not too many."""
        finer = float(max_cells) / max(self.n_cells, 1)
        narrowest: cython.double = INFINITY
        for g in range(self.round.n_groups):
            narrowest = min(narrowest, self.multipliers.corridors.upper[g] - self.multipliers.corridors.lower[g])
        fine_enough = ACROSS * self.round.total / max(narrowest, 1e-300)
        most = ROUGH * (finer if self.round.n_groups == 2 else sqrt(finer))
        return floor(max(min(most, fine_enough, FINEST), 1.0))

    def lay_grid(self, n_cells):
        """Let the grid have so many cells for the exposure of all positions."""
        self.width = max(self.round.total, 1e-300) / n_cells
        for p in range(self.round.k - 1, -1, -1):
            units = cython.cast(int64_t, self.round.P[p] / self.width + 0.5)
            moved = units * self.width - self.round.P[p]
            self.least[p], self.most[p] = self.least[p + 1] + min(moved, 0.0), self.most[p + 1] + max(moved, 0.0)
            self.left[p] = self.left[p + 1] + units

    def place_blocks(self, top):
        """Make room for the blocks of states that lead to templates no dearer than `top` and into all corridors."""
        for s in range(self.lattice.n_states):
            self.alive[s] = self.multipliers.through[s] <= top
        for g in range(self.round.n_groups):
            self.place_group(g)
        end: int64_t = 0
        for t in range(self.n_tables):
            for s in range(self.lattice.n_states):
                self.start[t, s] = end
                end += self.shape[t, s, 0] * self.shape[t, s, 1] if self.alive[s] else 0
            self.start[t, self.lattice.n_states] = end
        self.n_cells = end

    def place_group(self, g):
        """Which cells group g needs in each state that is alive; where it needs none, the state no longer is."""
        t, side = g // 2, 1 - g % 2
        kept: cython.bint = t < self.n_tables and self.pair[t, g % 2] == g
        lower = self.multipliers.corridors.lower[g] - self.round.spent[g]
        upper = self.multipliers.corridors.upper[g] - self.round.spent[g]
        for s in range(self.lattice.n_states):
            if not self.alive[s]:
                continue
            p, gone = self.lattice.depth[s], self.lattice.states[s, g]
            at_least = (lower - self.most_before[p, gone] + self.least[p]) / self.width
            at_most = (upper - self.least_before[p, gone] + self.most[p]) / self.width
            # One cell more on both sides: rounding in these very sums must not matter.
            begin = cython.cast(int64_t, max(at_least - 1.0, 0.0))
            end = cython.cast(int64_t, min(max(at_most + 1.0, -1.0), self.left[p])) + 1
            self.alive[s] = end > begin
            if kept:
                self.first[t, s, side], self.shape[t, s, side] = begin, end - begin

    def fill(self, top):
        """Enter what completing each state costs, from the last states up."""
        for s in range(self.lattice.n_states - 1, -1, -1):
            if not self.alive[s]:
                continue
            last: cython.bint = self.lattice.child[s, 0] < 0
            for t in range(self.n_tables):
                self.clear(self.start[t, s], self.start[t, s + 1], 0 if last else DEAREST)
            for g in range(0 if last else self.round.n_groups):
                c = self.lattice.child[s, g]
                if self.multipliers.prices[s, g] <= top and self.alive[c]:
                    price = cython.cast(int64_t, self.multipliers.prices[s, g]) >> self.shift
                    for t in range(self.n_tables):
                        self.follow(t, s, c, g, price)

    def clear(self, begin, end, cost):
        """Let all cells from `begin` to `end` have this cost."""
        cells = self.cells
        for i in range(begin, end):
            cells[i] = cost

    def follow(self, t, s, c, g, price):
        """Let block s of table t know what going on to state c, where group g collects the position, costs."""
        p, cells, more = self.lattice.depth[s], self.cells, cython.cast(cython.short, price)
        units = self.left[p] - self.left[p + 1]
        rows, columns = self.shape[t, s, 0], self.shape[t, s, 1]
        its_rows, its_columns = self.shape[t, c, 0], self.shape[t, c, 1]
        down = self.first[t, c, 0] - self.first[t, s, 0] + (units if g == self.pair[t, 1] else 0)
        right = self.first[t, c, 1] - self.first[t, s, 1] + (units if g == self.pair[t, 0] else 0)
        at, source = max(right, 0), max(-right, 0)
        count = min(columns - at, its_columns - source)
        for row in range(max(down, 0), min(rows, its_rows + down) if count > 0 else 0):
            to = self.start[t, s] + row * columns + at
            by = self.start[t, c] + (row - down) * its_columns + source
            for i in range(count):
                cells[to + i] = min(cells[to + i], cython.cast(cython.short, cells[by + i] + more))

    def third_allows(self, p, r, within, low, high):
        """The q between `low` and `high` for which no pair of three groups exceeds the limit, give or take rounding.

        Groups have E (3,) so far; the second collects `r` units more, the first q, and the third what they leave.
        """
        width, w, E, limit = self.width, self.round.w, within.E, within.limit + slack
        error = max(self.most[p], -self.least[p]) + MARGIN * width
        second = E[1] + r * width
        both = E[0] + E[2] + (self.left[p] - r) * width
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
        first = max((least - E[0]) / width - MARGIN, low)
        last = min((most - E[0]) / width + MARGIN, high)
        return (
            cython.cast(int64_t, ceil(min(first, high + 1.0))),
            cython.cast(int64_t, floor(max(last, low - 1.0))),
        )

    def homeward(self, p, low, high):
        """The cells of what a group may collect from positions p and below, between `low` and `high`."""
        less, more, left = self.least[p] / self.width - MARGIN, self.most[p] / self.width + MARGIN, float(self.left[p])
        return (
            cython.cast(int64_t, ceil(min(max(low / self.width + less, 0.0), left + 1.0))),
            cython.cast(int64_t, floor(min(max(high / self.width + more, -1.0), left))),
        )

    def least_ahead(self, t, s, p, within, enough):
        """The least V in state s, where positions p and below are left, over what leads groups home.

        Home is within the corridors and their limit, give or take rounding. It stops at the first value of at most
        `enough`.
        """
        if self.start[t, s] == self.start[t, s + 1]:
            return IMPOSSIBLE
        lower, upper, E, columns = within.lower, within.upper, within.E, self.shape[t, s, 1]
        g, h, top, column = self.pair[t, 0], self.pair[t, 1], self.first[t, s, 0], self.first[t, s, 1]
        low, high = self.homeward(p, lower[g] - E[g], upper[g] - E[g])
        low, high = max(low, column), min(high, column + columns - 1)
        first: int64_t = 0
        last: int64_t = 0
        if h >= 0:
            first, last = self.homeward(p, lower[h] - E[h], upper[h] - E[h])
            first, last = max(first, top), min(last, top + self.shape[t, s, 0] - 1)
        least: int64_t = DEAREST
        enough >>= self.shift
        for r in range(first, last + 1):
            q_low, q_high = low, high
            if self.round.n_groups == 3:
                q_low, q_high = self.third_allows(p, r, within, low, high)
            row = self.start[t, s] + (r - top) * columns - column
            for q in range(q_low, q_high + 1):
                least = min(least, self.cells[row + q])
                if least <= enough:
                    return least << self.shift
        return least << self.shift if least < DEAREST else IMPOSSIBLE
