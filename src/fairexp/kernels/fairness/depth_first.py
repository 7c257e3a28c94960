"""A depth-first walk over templates, position by position, with two bounds.

- A walk is given up once nothing that a group can still collect ends in its corridor (see `reach`).
- Completing a walk inside the corridors must cost at least what `tables`, where there are any, hold for its state.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.fairness.gaps import largest_gap, slack
from cython.cimports.fairexp.kernels.fairness.rounds import Corridors, Found
from cython.cimports.libc.stdint import int64_t

NO_LIMIT = 2**60
"""A budget that nothing exceeds."""


@cython.final
@cython.cclass
class DepthFirst:
    """Where a walk stands.

    By position (k + 1,): the groups that can be popped there `choices` (k + 1, G), how many of them and how many were
    `tried`, the `state` of counts, what the way there costs in `total`, and what groups `gain` (k + 1, G) on it. By
    group (G,): how many are `gone`; exposure, and the corridors, stand in the `goal`.
    """

    def __init__(self, round, reach, lattice=None, tables=None):
        self.round, self.reach, self.lattice, self.tables = round, reach, lattice, tables
        k, n_groups = self.round.k, self.round.n_groups
        self.goal, self.found = Corridors(round), Found(k)
        self.gone, self.gain = np.zeros(n_groups, dtype=np.int64), np.zeros((k + 1, n_groups))
        self.choices = np.zeros((k + 1, n_groups), dtype=np.int64)
        self.total, self.state, self.n_choices, self.tried, self.path = np.zeros((5, k + 1), dtype=np.int64)

    def key(self, g):
        """What decides when group g is tried: the least first."""
        if self.for_gap:
            return self.goal.E[g] / self.round.w[g]
        return self.round.place[g, self.gone[g]]

    def stop_at(self, p, price):
        """Come to position p at this price: which groups can be popped there, and in which order."""
        count: int64_t = 0
        for g in range(self.round.n_groups):
            if self.gone[g] < self.round.size[g]:
                at, key = count, self.key(g)
                while at > 0 and self.key(self.choices[p, at - 1]) > key:
                    self.choices[p, at] = self.choices[p, at - 1]
                    at -= 1
                self.choices[p, at] = g
                count += 1
        self.total[p], self.tried[p], self.n_choices[p] = price, 0, count

    def price(self, p, g):
        """What the way to position p and popping group g there costs."""
        price: int64_t = self.total[p]
        gone = self.gone[g]
        for h in range(self.round.n_groups):
            price += self.round.cost[g, gone, h, self.gone[h]]
        return price

    def add_gain(self, p, g):
        """Let group g gain position p."""
        for h in range(self.round.n_groups):
            self.gain[p + 1, h] = self.gain[p, h]
        self.gain[p + 1, g] += self.round.P[p]
        for h in range(self.round.n_groups):
            self.goal.E[h] = self.round.spent[h] + self.gain[p + 1, h]

    def can_end_inside(self, p):
        """Whether every group can still end inside its corridor when positions p and below are left."""
        n_groups, rest = self.round.n_groups, self.round.k - p
        waiting: int64_t = 0
        for g in range(n_groups):
            waiting += min(self.round.size[g] - self.gone[g], rest)
        # With two groups, one inside its corridor means both are.
        for g in range(n_groups if n_groups > 2 else 1):
            own = min(self.round.size[g] - self.gone[g], rest)
            fewest = max(0, rest - (waiting - own))
            lower, upper = self.goal.lower[g] - self.goal.E[g], self.goal.upper[g] - self.goal.E[g]
            if not self.reach.can_collect(p, fewest, own, lower, upper):
                return False
        return True

    def can_end_cheaply(self, p, allowance):
        """Whether, by every table, the state at position p can be completed for the allowance."""
        for t in range(self.tables.count):
            if self.tables.least_ahead(t, self.state[p], p, self.goal, allowance) > allowance:
                return False
        return True

    def enter(self, price, resolution):
        """Whether the whole template on the path takes the place of what was found."""
        gap = largest_gap(self.goal.E, self.round.w)
        if gap > self.found.gap + slack or (self.for_gap and self.found.found and gap >= self.found.gap):
            return False
        self.found.found, self.found.cost = True, price
        self.found.template[:] = self.path[: self.round.k]
        if self.for_gap:
            self.found.gap = gap
            self.goal.narrow(gap - resolution)
        return True

    def search(self, limit, budget, resolution, max_nodes, tabled):
        """The best template whose gap is at most `limit` and whose cost is at most `budget`.

        With `resolution` 0 it looks for the least cost: choices are tried in the order of the draw and only a cheaper
        template replaces an earlier one, so among equals the one closest to the draw from the top down wins. With a
        positive `resolution` it looks for the least gap, up to that much, and the group that lags most is tried first.
        If it is `tabled`, it minds the tables' bounds. More than `max_nodes` nodes end it with the best so far.
        """
        k = self.round.k
        least: int64_t = budget + 1
        nodes: int64_t = 0
        p: int64_t = 0
        self.for_gap = resolution > 0.0
        self.goal.narrow(limit)
        self.gone[:] = 0
        self.goal.E[:] = self.round.spent
        self.found.forget()
        self.found.gap = limit
        self.stop_at(0, 0)
        while p >= 0 and nodes <= max_nodes and self.goal.limit >= 0.0:
            if self.tried[p] == self.n_choices[p]:
                p -= 1
                if p >= 0:
                    self.gone[self.path[p]] -= 1
                continue
            g = self.choices[p, self.tried[p]]
            self.tried[p] += 1
            nodes += 1
            price = self.price(p, g)
            if nodes > max_nodes or price >= least:
                continue
            self.path[p] = g
            self.add_gain(p, g)
            if p + 1 == k:
                if self.enter(price, resolution) and not self.for_gap:
                    least = price
                continue
            self.gone[g] += 1
            self.state[p + 1] = self.lattice.child[self.state[p], g] if tabled else 0
            if self.can_end_inside(p + 1) and (not tabled or self.can_end_cheaply(p + 1, least - 1 - price)):
                p += 1
                self.stop_at(p, price)
            else:
                self.gone[g] -= 1
        self.found.nodes = nodes
