"""The cheapest ranking that keeps several demands, or as many as can be kept, by priority."""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.demands.halves import CHEAPEST, Halves
from cython.cimports.fairexp.kernels.demands.walk import Walk
from cython.cimports.fairexp.kernels.search.depth_first import NO_LIMIT
from cython.cimports.fairexp.kernels.search.gaps import slack
from cython.cimports.fairexp.kernels.search.rounds import Aim, Draw, Effort, Round
from cython.cimports.libc.math import INFINITY


@cython.final
@cython.cclass
class RankingSearch:
    """Room for one search at a time, for lists of the curve P (k,) and classes with these columns.

    Of the last positions two halves are made, of these lengths; the lattice is that of the upper half.
    """

    def __init__(self, P, owed, reach, lattice, lengths):
        self.round, self.owed = Round(P, owed.column.shape[0]), owed
        self.walk = Walk(self.round, owed, reach)
        self.halves = Halves(self.round, owed, lattice, lengths)
        self.template = np.zeros(self.round.k, dtype=np.int64)
        self.gap_bound = np.zeros(self.owed.n_demands)
        self.gone = np.zeros(self.round.n_groups, dtype=np.int64)

    def solve(self, draw: Draw, aim: Aim, effort: Effort, spent, shares, tolerance):
        """The best ranking for a draw of documents in classes; what is owed comes by column, tolerances by demand.

        Returns (shown (k,), added regret, whether nothing is better, what added regret is at least, and gaps (C,)).
        """
        shown = np.empty(self.round.k, dtype=np.int64)
        self.round.begin(draw, aim)
        self.owed.begin(spent, shares, tolerance)
        with cython.nogil:
            self.find(aim.fairest, effort)
            if not self.exact:
                self.exchange_neighbours(aim.fairest)
        self.show(shown)
        return shown, self.cost, self.exact, self.bound, np.array(self.gap_bound)

    def find(self, fairest, effort):
        """Search: by a walk, which settles the easy rounds, and then by halves."""
        whole: cython.bint = self.halves.first == 0
        self.owed.narrow_to_tolerances()
        self.gap_bound[:] = 0.0
        self.walk.deepen(effort.plain_nodes if whole else effort.max_nodes)
        self.exact = self.walk.found.found and self.walk.finished and not fairest
        self.halves.best.take(self.walk.found)
        if not self.exact:
            if not self.walk.found.found:
                self.walk.descend()
            self.complete(self.walk.found.template, fairest)
            if not whole and not self.walk.found.found and self.yielded:
                # What was proven holds for rankings within the tolerances alone.
                self.walk.deepen(effort.max_nodes)
                if self.walk.found.found and self.walk.found.cost < self.halves.best.cost:
                    self.halves.best.take(self.walk.found)
            self.exact = whole
        self.template[:] = self.halves.best.template
        self.cost = self.halves.best.cost
        self.bound = self.cost if self.exact else self.walk.bound

    def complete(self, top, fairest):
        """Let the halves' best be the best list that begins with these classes, unless it is as good already."""
        best: cython.bint = self.halves.best.found
        if best:
            self.owed.book(self.halves.best.template, self.round.P)
            self.halves.best.gap = self.owed.gap(0)
        self.halves.begin(top, self.halves.best.cost if best else NO_LIMIT, fairest)
        self.halves.seek(CHEAPEST)
        self.yielded = not self.halves.best.found
        if self.yielded:
            self.yield_by_priority()
            self.halves.seek(CHEAPEST)

    def yield_by_priority(self):
        """Let the limits be the least that the halves allow, demand by demand, where tolerances cannot be kept."""
        for c in range(self.owed.n_demands):
            self.owed.narrow(c, INFINITY)
        for c in range(self.owed.n_demands):
            self.halves.best.forget()
            self.halves.seek(c)
            gap = self.halves.best.gap
            if self.halves.first == 0 and gap > self.owed.tolerance[c] + slack:
                self.gap_bound[c] = gap
            self.owed.narrow(c, max(gap, self.owed.tolerance[c]))
        self.halves.best.forget()

    def exchange_neighbours(self, fairest):
        """Exchange neighbours that stand in the reverse of the draw's order, wherever that keeps all limits.

        An exchange reverses no other pair, so that it never costs anything. Limits are tolerances, or the gaps reached
        beyond them. What is proven best needs none: it is closest to the draw among its equals.
        """
        self.owed.book(self.template, self.round.P)
        for c in range(self.owed.n_demands):
            self.owed.limit[c] = max(self.owed.tolerance[c], self.owed.gap(c))
        if fairest:
            self.owed.limit[0] = self.owed.gap(0) - slack
        exchanged: cython.bint = True
        while exchanged:
            exchanged = False
            self.gone[:] = 0
            for p in range(self.round.k - 1):
                if self.exchange(p):
                    exchanged = True
                self.gone[self.template[p]] += 1
        self.cost = self.round.price(self.template)
        self.bound = min(self.bound, self.cost)

    def exchange(self, p):
        """Exchange positions p and p + 1 if they stand in the reverse of the draw's order and it keeps all limits."""
        one, other = self.template[p], self.template[p + 1]
        amount = self.round.P[p] - self.round.P[p + 1]
        if one == other or self.round.place[one, self.gone[one]] < self.round.place[other, self.gone[other]]:
            return False
        self.owed.add(one, -amount)
        self.owed.add(other, amount)
        if self.owed.keeps_limits():
            self.template[p], self.template[p + 1] = other, one
            return True
        self.owed.add(one, amount)
        self.owed.add(other, -amount)
        return False

    def show(self, shown):
        """The documents (k,) that the template shows."""
        self.gone[:] = 0
        for p in range(self.round.k):
            a = self.template[p]
            shown[p] = self.round.queue[a, self.gone[a]]
            self.gone[a] += 1
