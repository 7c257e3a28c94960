"""What several demands ask of one round, and how groups stand.

Documents that have the same groups under all demands are of one class. Symbols are those of the search for one demand
(see `gaps`): E exposure, w shares, P exposure by position.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.fairness.gaps import slack
from cython.cimports.fairexp.kernels.fairness.rounds import lay_corridors
from cython.cimports.libc.math import fabs
from cython.cimports.libc.stdint import int64_t


@cython.final
@cython.cclass
class Owed:
    """The demands' groups side by side: demand c has the columns from start[c] up to start[c + 1].

    `column` (m, C) is where the exposure of a class is booked for each demand. By column: what was `spent`, the share
    w, exposure E so far, the corridor from `lower` to `upper` that E may end in, and its `middle`. By demand: its
    `tolerance`, and the `limit` that counts at the moment. Corridors of the `watched` columns imply those of all: of
    two groups, one. `ratio` (W, W) has the ratios of shares of each two columns.
    """

    def __init__(self, P, members, n_groups):
        ends = np.cumsum(n_groups)
        starts = ends - n_groups
        self.start = np.concatenate([[0], ends])
        self.column = np.ascontiguousarray(members + starts)
        self.n_demands, self.n_columns, self.total = len(n_groups), sum(n_groups), sum(P)
        watched = [np.arange(a, b if b - a > 2 else a + 1) for a, b in zip(starts, ends, strict=True)]
        self.watched = np.concatenate(watched)
        self.spent, self.w, self.lower, self.upper, self.middle, self.E = np.zeros((6, self.n_columns))
        self.tolerance, self.limit = np.zeros((2, self.n_demands))
        self.ratio = np.ones((self.n_columns, self.n_columns))

    def begin(self, spent, shares, tolerance):
        """Let the demands be these, by column and by demand."""
        self.spent[:] = spent
        self.w[:] = shares
        self.tolerance[:] = tolerance
        for g in range(self.n_columns):
            for h in range(self.n_columns):
                self.ratio[g, h] = self.w[g] / self.w[h]
        for c in range(self.n_demands):
            a, b = self.start[c], self.start[c + 1]
            lay_corridors(self.total, self.spent[a:b], self.w[a:b], 0.0, self.lower[a:b], self.middle[a:b])

    def narrow(self, c, limit):
        """Let the limit of demand c be this."""
        a, b = self.start[c], self.start[c + 1]
        self.limit[c] = limit
        lay_corridors(self.total, self.spent[a:b], self.w[a:b], limit, self.lower[a:b], self.upper[a:b])

    def narrow_to_tolerances(self):
        """Let all limits be the tolerances."""
        for c in range(self.n_demands):
            self.narrow(c, self.tolerance[c])

    def book(self, template, P):
        """Let E be what it is after a template of classes."""
        self.E[:] = self.spent
        for p in range(template.shape[0]):
            self.add(template[p], P[p])

    def add(self, a, amount):
        """Give class a so much exposure more."""
        for c in range(self.n_demands):
            self.E[self.column[a, c]] += amount

    def gap(self, c):
        """How far apart the groups of demand c are: see `largest_gap`."""
        largest = 0.0
        for g in range(self.start[c], self.start[c + 1]):
            for h in range(g + 1, self.start[c + 1]):
                largest = max(largest, fabs(self.E[g] - self.ratio[g, h] * self.E[h]))
        return largest

    def keeps_limits(self):
        """Whether every demand is within its limit."""
        for c in range(self.n_demands):
            if self.gap(c) > self.limit[c] + slack:
                return False
        return True

    def meets_tolerances(self):
        """Whether every demand is within its tolerance."""
        for c in range(self.n_demands):
            if self.gap(c) > self.tolerance[c] + slack:
                return False
        return True

    def would_keep_limits(self, gain):
        """Whether every demand is within its limit with so much more exposure by column."""
        for c in range(self.n_demands):
            for g in range(self.start[c], self.start[c + 1]):
                for h in range(g + 1, self.start[c + 1]):
                    difference = self.E[g] + gain[g] - self.ratio[g, h] * (self.E[h] + gain[h])
                    if fabs(difference) > self.limit[c] + slack:
                        return False
        return True


def pop_price(round, gone, a):
    """What popping the next document of class a costs when so many of each class are `gone`."""
    price: int64_t = 0
    for b in range(round.n_groups):
        price += round.cost[a, gone[a], b, gone[b]]
    return price


def next_class(round, gone, after):
    """The class whose turn comes next in the draw after a waiting one, or after none (-1); -1 if there is none."""
    found: int64_t = -1
    for a in range(round.n_groups):
        if gone[a] >= round.size[a]:
            continue
        place = round.place[a, gone[a]]
        if after >= 0 and place <= round.place[after, gone[after]]:
            continue
        if found < 0 or place < round.place[found, gone[found]]:
            found = a
    return found
