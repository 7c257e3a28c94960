"""The cheapest ranking that keeps several demands, or as many as can be kept, by priority."""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.demands.exchanges import Exchanges
from cython.cimports.fairexp.kernels.demands.halves import CHEAPEST, Halves
from cython.cimports.fairexp.kernels.demands.walk import Walk
from cython.cimports.fairexp.kernels.search.depth_first import NO_LIMIT
from cython.cimports.fairexp.kernels.search.gaps import slack
from cython.cimports.fairexp.kernels.search.rounds import Aim, Draw, Effort, Round
from cython.cimports.libc.math import INFINITY

LOOKS = 30
"""Looks at pairs of halves that take about the time of one step of a walk; those of a whole list are not limited."""


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
        self.exchanges = Exchanges(self.round, owed)
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
        self.show(shown)
        return shown, self.cost, self.exact, self.bound, np.array(self.gap_bound)

    def find(self, fairest, effort):
        """Search: by a walk, which settles the easy rounds, and then by halves of the whole list or of its end."""
        whole: cython.bint = self.halves.first == 0
        self.owed.narrow_to_tolerances()
        self.gap_bound[:] = 0.0
        self.walk.deepen(effort.plain_nodes if whole else effort.max_nodes)
        self.exact = self.walk.found.found and self.walk.finished and not fairest
        self.halves.best.take(self.walk.found)
        if not self.exact:
            if not self.walk.found.found:
                self.walk.descend()
            if whole:
                self.complete(self.walk.found.template, fairest, NO_LIMIT)
            else:
                self.approach(fairest, effort)
            self.exact = whole
        self.template[:] = self.halves.best.template
        self.cost = self.halves.best.cost
        self.bound = self.cost if self.exact else min(self.walk.bound, self.cost)

    def approach(self, fairest, effort):
        """Let the halves' best be as good as small changes and a new end make it, and the walk say how good that is."""
        self.exchanges.begin(self.walk.found.template)
        self.exchanges.improve(effort.max_nodes // 2)
        if self.owed.meets_tolerances():
            self.halves.best.found, self.halves.best.cost = True, self.exchanges.cost
            self.halves.best.template[:] = self.exchanges.template
        self.complete(self.exchanges.template, fairest, LOOKS * effort.max_nodes)
        self.exchanges.begin(self.halves.best.template)
        self.exchanges.improve(effort.max_nodes // 2)
        self.exchanges.follow_draw(fairest)
        self.halves.best.template[:] = self.exchanges.template
        self.halves.best.cost = self.exchanges.cost
        if not self.owed.meets_tolerances():
            # What was proven holds for rankings within the tolerances.
            for c in range(self.owed.n_demands):
                self.owed.narrow(c, max(self.owed.gap(c), self.owed.tolerance[c]))
            self.walk.deepen(effort.max_nodes)

    def complete(self, known, fairest, max_looks):
        """Let the halves' best be the best list that begins like a known one, unless it is as good already."""
        best: cython.bint = self.halves.best.found
        if best:
            self.owed.book(self.halves.best.template, self.round.P)
            self.halves.best.gap = self.owed.gap(0)
        self.halves.begin(known, self.halves.best.cost if best else NO_LIMIT, fairest)
        self.halves.seek(CHEAPEST, max_looks)
        if not self.halves.best.found:
            self.halves.best.template[:] = known
            self.yield_by_priority(max_looks)
            self.halves.seek(CHEAPEST, max_looks)

    def yield_by_priority(self, max_looks):
        """Let the limits be the least that the halves allow, demand by demand, where tolerances cannot be kept.

        The halves' best is a list among theirs, and keeps the limits so far.
        """
        self.halves.best.found = True
        for c in range(self.owed.n_demands):
            self.owed.narrow(c, INFINITY)
        for c in range(self.owed.n_demands):
            self.owed.book(self.halves.best.template, self.round.P)
            self.halves.best.gap = self.owed.gap(c)
            self.owed.narrow(c, self.halves.best.gap)
            self.halves.seek(c, max_looks)
            gap = self.halves.best.gap
            if self.halves.first == 0 and gap > self.owed.tolerance[c] + slack:
                self.gap_bound[c] = gap
            self.owed.narrow(c, max(gap, self.owed.tolerance[c]))
        self.owed.book(self.halves.best.template, self.round.P)
        self.halves.best.gap = self.owed.gap(0)
        self.halves.best.cost = self.round.price(self.halves.best.template)

    def show(self, shown):
        """The documents (k,) that the template shows."""
        self.gone[:] = 0
        for p in range(self.round.k):
            a = self.template[p]
            shown[p] = self.round.queue[a, self.gone[a]]
            self.gone[a] += 1
