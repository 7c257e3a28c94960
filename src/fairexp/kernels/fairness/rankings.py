"""The cheapest ranking that keeps several demands, or as many as can be kept, by priority."""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.fairness.depth_first import NO_LIMIT
from cython.cimports.fairexp.kernels.fairness.dual_prices import DualPrices
from cython.cimports.fairexp.kernels.fairness.local_search import LocalSearch
from cython.cimports.fairexp.kernels.fairness.meet_in_the_middle import MeetInTheMiddle
from cython.cimports.fairexp.kernels.fairness.rounds import Aim, Draw, Effort, Found, Round
from cython.cimports.fairexp.kernels.fairness.walk import Walk

SURVEYS = 2
"""How often tolls are looked for, each time with a known cost that may be closer to them."""

LOOKS = 30
"""Looks at pairs of halves that take about the time of one step of a walk; those of a whole list are not limited."""


@cython.final
@cython.cclass
class RankingSearch:
    """Room for one search at a time, for lists of the curve P (k,) and classes with these columns.

    Of the last positions two halves are made, of these lengths. The first lattice is that of the upper half; the
    second, unless there are too many states, that of whole lists, where they are longer than both halves. The `best`
    costs at least `bound`. It is proven `impossible` that a list is within all tolerances, or not known.
    """

    def __init__(self, P, owed, reach, lengths, lattices):
        lattice, whole = lattices
        self.round, self.owed = Round(P, owed.column.shape[0]), owed
        self.tolls = None if whole is None else DualPrices(self.round, owed, whole)
        self.walk = Walk(self.round, owed, reach, self.tolls)
        self.halves = MeetInTheMiddle(self.round, owed, lattice, lengths)
        self.exchanges = LocalSearch(self.round, owed)
        self.best = Found(self.round.k)
        self.gone = np.zeros(self.round.n_groups, dtype=np.int64)

    def begin(self, draw: Draw, aim: Aim, spent, shares, tolerance):
        """Let the search be for a draw of documents in classes; what is owed comes by column, tolerances by demand."""
        self.fairest, self.by_chance = aim.fairest, aim.keys.shape[0] > 0
        self.round.begin(draw, aim)
        self.owed.begin(spent, shares, tolerance)

    def within(self, effort: Effort):
        """Let the best be the best list within all tolerances; whether one was found."""
        with cython.nogil:
            self.find(effort)
        return self.best.found

    def around(self, limits, known, effort):
        """Let the best be the cheapest list within limits (C,) that a `known` template (k,) keeps, or that one."""
        with cython.nogil:
            for c in range(self.owed.n_demands):
                self.owed.narrow(c, limits[c])
            self.find_around(known, effort)

    def find(self, effort):
        """Search: by a short walk, which settles the easy rounds, and then by halves of the whole list or its end."""
        self.owed.narrow_to_tolerances()
        self.impossible = False
        self.walk.deepen(False, effort.plain_nodes)
        self.best.take(self.walk.found)
        self.exact = self.best.found and self.walk.finished and not self.fairest
        self.bound = self.walk.bound
        if not self.exact:
            if not self.best.found:
                self.walk.descend()
                self.best.template[:] = self.walk.found.template
            self.go_on(effort)

    def find_around(self, known, effort):
        """Search for the least cost where the limits are known to be kept."""
        self.best.found, self.best.cost, self.bound = True, self.round.price(known), 0
        self.best.template[:] = known
        self.go_on(effort)

    def go_on(self, effort):
        """Let the best be as good as halves make it, and of longer lists small changes and walks with tolls."""
        whole: cython.bint = self.halves.first == 0
        if not whole:
            self.improve(effort.max_nodes // 2)
        self.complete(NO_LIMIT if whole else LOOKS * effort.max_nodes)
        self.exact, self.impossible = whole and self.best.found, whole and not self.best.found
        if self.best.found and not whole:
            self.approach(effort)
        self.bound = self.best.cost if self.exact else min(self.bound, self.best.cost)

    def improve(self, max_looks):
        """Change the best for the better, which may bring it within the tolerances."""
        self.exchanges.begin(self.best.template)
        self.exchanges.improve(max_looks)
        self.best.template[:] = self.exchanges.template
        self.best.cost = self.exchanges.cost
        self.best.found = self.best.found or self.owed.meets_tolerances()

    def complete(self, max_looks):
        """Let the best be the best list within the limits that begins like it, if there is one."""
        self.halves.best.take(self.best)
        if self.best.found:
            self.owed.book(self.best.template, self.round.P)
            self.halves.best.gap = self.owed.gap(0)
        self.halves.begin(self.best.template, self.best.cost if self.best.found else NO_LIMIT, self.fairest)
        self.halves.seek(max_looks)
        if self.halves.best.found:
            self.best.take(self.halves.best)

    def approach(self, effort):
        """Let the best be as good as small changes make it, and walks with tolls, which prove what they can."""
        self.improve(effort.max_nodes // 2)
        for c in range(self.owed.n_demands):
            self.owed.narrow(c, max(self.owed.gap(c), self.owed.tolerance[c]))
        if self.tolls is not None:
            self.pay_tolls(effort)
        self.walk.deepen(self.tolls is not None, effort.max_nodes)
        self.bound = max(self.bound, self.walk.bound)
        if self.walk.found.found and (self.walk.finished or self.walk.found.cost < self.best.cost):
            self.best.take(self.walk.found)
        self.exact = self.walk.found.found and self.walk.finished and not self.fairest
        if not self.exact:
            self.exchanges.begin(self.best.template)
            if not self.by_chance:
                self.exchanges.follow_draw(self.fairest)
            self.best.template[:] = self.exchanges.template
            self.best.cost = self.exchanges.cost

    def pay_tolls(self, effort):
        """Let tolls say what the limits cost at least, and the cheapest word that pays them become the best, if it is.

        The closer a known cost is to the bound, the better rates they find.
        """
        self.tolls.begin()
        for _ in range(SURVEYS):
            self.tolls.survey(self.best.cost)
            self.exchanges.begin(self.tolls.word)
            self.exchanges.improve(effort.max_nodes // 2)
            if self.owed.keeps_limits() and self.exchanges.cost < self.best.cost:
                self.best.cost = self.exchanges.cost
                self.best.template[:] = self.exchanges.template

    def answer(self):
        """The documents (k,) that the best list shows."""
        shown = np.empty(self.round.k, dtype=np.int64)
        self.show(shown)
        return shown

    def show(self, shown):
        """The documents (k,) that the template shows."""
        self.gone[:] = 0
        for p in range(self.round.k):
            a = self.best.template[p]
            shown[p] = self.round.queue[a, self.gone[a]]
            self.gone[a] += 1
