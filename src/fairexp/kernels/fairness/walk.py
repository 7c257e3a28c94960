"""A depth-first walk over words of classes, in the order of the draw, with a budget of cost that rises.

It is given up where nothing that a group can still collect ends in its corridor, under any demand (see `reach`), and
where `tolls`, if there are any, show that completing it costs too much.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.fairness.owed import next_class, pop_price
from cython.cimports.fairexp.kernels.fairness.rounds import Found
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int64_t


@cython.final
@cython.cclass
class Walk:
    """Where a walk stands, what it has `found` within the limits, and that nothing within them costs below `bound`.

    Whether it was `finished` and whether it `refused` words for their cost is that of the last budget.

    By position (k + 1,): the class on the `path`, or -1 where none was tried, what the way there costs in `total`, and
    what columns `gain` on it; the `state` of counts, and what was `paid` in tolls. By class (m,): how many are `gone`.
    """

    def __init__(self, round, owed, reach, tolls=None):
        self.round, self.owed, self.reach, self.tolls = round, owed, reach, tolls
        k = self.round.k
        self.found = Found(k)
        self.gone = np.zeros(self.round.n_groups, dtype=np.int64)
        self.path, self.total, self.state = np.zeros((3, k + 1), dtype=np.int64)
        self.paid = np.zeros(k + 1)
        self.waiting = np.zeros(self.owed.n_columns, dtype=np.int64)
        self.gain = np.zeros((k + 1, self.owed.n_columns))

    def add_gain(self, p, a):
        """Let class a gain position p."""
        for w in range(self.owed.n_columns):
            self.gain[p + 1, w] = self.gain[p, w]
        for c in range(self.owed.n_demands):
            self.gain[p + 1, self.owed.column[a, c]] += self.round.P[p]
        for w in range(self.owed.n_columns):
            self.owed.E[w] = self.owed.spent[w] + self.gain[p + 1, w]

    def can_end_inside(self, p):
        """Whether every group can still end inside its corridor when positions p and below are left."""
        rest = self.round.k - p
        every: int64_t = 0
        self.waiting[:] = 0
        for a in range(self.round.n_groups):
            left = min(self.round.size[a] - self.gone[a], rest)
            every += left
            for c in range(self.owed.n_demands):
                self.waiting[self.owed.column[a, c]] += left
        for i in range(self.owed.watched.shape[0]):
            w = self.owed.watched[i]
            most, fewest = min(self.waiting[w], rest), max(0, rest - (every - self.waiting[w]))
            if not self.reach.can_collect(
                p, fewest, most, self.owed.lower[w] - self.owed.E[w], self.owed.upper[w] - self.owed.E[w]
            ):
                return False
        return True

    def is_too_dear(self, p, a, price, least):
        """Whether popping class a at position p at this price can only end at a cost of `least` or more."""
        if price >= least:
            return True
        if not self.tolled:
            return False
        self.state[p + 1] = self.tolls.lattice.child[self.state[p], a]
        self.paid[p + 1] = self.paid[p] + self.tolls.by_class[a] * self.round.P[p]
        return price + self.paid[p + 1] + self.tolls.ahead[self.state[p + 1]] - self.tolls.paid > least - 1

    def search(self, budget, max_nodes):
        """The cheapest word within the limits that costs at most `budget`; of equals the one closest to the draw."""
        k = self.round.k
        least: int64_t = budget + 1
        p: int64_t = 0
        self.gone[:] = 0
        self.gain[0, :] = 0.0
        self.found.forget()
        self.refused = False
        self.path[0], self.total[0] = -1, 0
        while p >= 0 and self.found.nodes <= max_nodes:
            a = next_class(self.round, self.gone, self.path[p])
            if a < 0:
                p -= 1
                if p >= 0:
                    self.gone[self.path[p]] -= 1
                continue
            self.path[p] = a
            self.found.nodes += 1
            price = self.total[p] + pop_price(self.round, self.gone, a)
            if self.is_too_dear(p, a, price, least):
                self.refused = True
                continue
            self.add_gain(p, a)
            if p + 1 == k:
                if self.owed.keeps_limits():
                    least = self.found.cost = price
                    self.found.found = True
                    self.found.template[:] = self.path[:k]
                continue
            self.gone[a] += 1
            if self.can_end_inside(p + 1):
                p += 1
                self.path[p], self.total[p] = -1, price
            else:
                self.gone[a] -= 1
        self.finished = self.found.nodes <= max_nodes

    def deepen(self, tolled, max_nodes):
        """Search with budgets that rise by 1, 2, 4, ... until something is found, or as long as there are nodes.

        The first is 0, or if tolls are minded what they prove.
        """
        budget: int64_t = self.tolls.bound if tolled else 0
        used: int64_t = 0
        more: int64_t = 1
        self.tolled = tolled
        self.bound, self.finished, self.refused = budget, True, True
        self.found.forget()
        while self.finished and self.refused and not self.found.found:
            self.search(budget, max_nodes - used)
            used += self.found.nodes
            if self.finished:
                self.bound, budget, more = self.found.cost if self.found.found else budget + 1, budget + more, 2 * more

    def descend(self):
        """Let a word be the template that keeps to the draw where it may, and else to whom the demands owe most."""
        self.gone[:] = 0
        self.gain[0, :] = 0.0
        for p in range(self.round.k):
            chosen: int64_t = -1
            lagging: int64_t = -1
            least: cython.double = INFINITY
            a = next_class(self.round, self.gone, -1)
            while a >= 0 and chosen < 0:
                self.add_gain(p, a)
                ahead: cython.double = 0.0
                for c in range(self.owed.n_demands):
                    w = self.owed.column[a, c]
                    ahead += self.owed.E[w] - self.owed.middle[w]
                if ahead < least:
                    least, lagging = ahead, a
                self.gone[a] += 1
                if self.can_end_inside(p + 1):
                    chosen = a
                self.gone[a] -= 1
                a = next_class(self.round, self.gone, a)
            chosen = chosen if chosen >= 0 else lagging
            self.found.template[p] = chosen
            self.add_gain(p, chosen)
            self.gone[chosen] += 1
