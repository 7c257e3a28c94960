"""The cheapest fair interleaving of the groups' queues: which search to use, and what it shows."""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.fairness.depth_first import NO_LIMIT, DepthFirst
from cython.cimports.fairexp.kernels.fairness.first_guess import FirstGuess
from cython.cimports.fairexp.kernels.fairness.gaps import largest_gap
from cython.cimports.fairexp.kernels.fairness.local_search import LocalSearch
from cython.cimports.fairexp.kernels.fairness.long_lists import LongLists
from cython.cimports.fairexp.kernels.fairness.multipliers import IMPOSSIBLE, Multipliers
from cython.cimports.fairexp.kernels.fairness.owed import Owed
from cython.cimports.fairexp.kernels.fairness.rounds import Aim, Draw, Effort, Found, Round
from cython.cimports.fairexp.kernels.fairness.subset_cover import CHEAPEST, FAIREST_OF_THOSE, LOOKS, Cover
from cython.cimports.fairexp.kernels.fairness.tables import Tables
from cython.cimports.libc.stdint import int64_t

TABLED = 20_000
"""Largest lattice that tables are made for."""


@cython.final
@cython.cclass
class Search:
    """Room for one search at a time in lists of the curve P (k,) for so many groups.

    Short lists have subsets of all their positions, long ones of the last, and a lattice of counts unless there are too
    many. The `best` template costs at least `bound`; where the fairest of equals was sought, its gap is at least
    `gap_bound`. It is proven `impossible` that a list is within the tolerance, or not known.
    """

    def __init__(self, P, n_groups, reach, subsets, lattice=None):
        self.round, self.owed = Round(P, n_groups), Owed(P, np.arange(n_groups)[:, None], (n_groups,))
        self.exchanges, self.tolerance = LocalSearch(self.round, self.owed), np.zeros(1)
        self.best, self.known = Found(self.round.k), Found(self.round.k)
        multipliers = tables = first_guess = None
        if lattice is not None:
            multipliers = Multipliers(self.round, lattice)
            tables = Tables(self.round, lattice, multipliers) if len(lattice.states) <= TABLED else None
            first_guess = FirstGuess(self.round, lattice, multipliers, subsets)
        self.walk = DepthFirst(self.round, reach, lattice, tables)
        if lattice is None and len(subsets.worth) == 1 << self.round.k:
            self.cover = Cover(self.round, subsets)
        else:
            self.long = LongLists(self.round, self.walk, multipliers, tables, first_guess)

    def begin(self, draw: Draw, aim: Aim):
        """Let the search be for this draw."""
        self.aim = aim
        self.round.begin(draw, aim)

    def within(self, tolerance: cython.double, effort: Effort):
        """Let the best be the best template within a tolerance; whether one was found."""
        self.aim.tolerance = self.tolerance[0] = tolerance
        with cython.nogil:
            self.find(effort)
        return self.best.found

    def around(self, limit, known, effort):
        """Let the best be the cheapest template within a limit that a `known` one (k,) keeps, or that one."""
        self.known.template[:] = known
        with cython.nogil:
            self.find_around(limit, effort)

    def answer(self):
        """The best ranking: shown (k,), template (k,), added regret, exposure after the round (G,), and its gap."""
        shown, template = np.empty(self.round.k, dtype=np.int64), np.empty(self.round.k, dtype=np.int64)
        after = np.empty(self.round.n_groups)
        self.show(shown, template, after)
        return shown, template, self.best.cost, after, largest_gap(after, self.round.w)

    def find(self, effort):
        """Search: first by a short walk without bounds, which settles the easy rounds."""
        fairest, tolerance = self.aim.fairest, self.aim.tolerance
        self.gap_bound, self.impossible = 0.0, False
        self.walk.search(tolerance, NO_LIMIT, 0.0, effort.plain_nodes, False)
        if self.walk.found.nodes <= effort.plain_nodes and self.walk.found.found and not fairest:
            self.best.take(self.walk.found)
            self.bound = self.best.cost
        elif self.cover is not None:
            rule = FAIREST_OF_THOSE if fairest else CHEAPEST
            finished: cython.bint = self.put_together(tolerance, self.walk.found, rule, effort.max_nodes)
            self.impossible = finished and not self.best.found
            if self.best.found and finished:
                self.gap_bound = self.best.gap
            elif self.best.found:
                self.change_little(0)
        else:
            self.long.within(self.aim, effort)
            self.best.take(self.long.best)
            self.bound, self.gap_bound = self.long.bound, self.long.gap_bound
            self.impossible = not self.best.found and self.bound == IMPOSSIBLE
            if self.best.found:
                self.change_little(0)

    def find_around(self, limit, effort):
        """Search for the least cost where the limit is known to be kept, and make it less by small changes."""
        self.known.found, self.known.gap, self.known.cost = True, limit, self.round.price(self.known.template)
        if self.cover is not None:
            self.put_together(limit, self.known, CHEAPEST, effort.max_nodes)
        else:
            self.long.around(limit, self.known, effort)
            self.best.take(self.long.best)
            self.bound = self.long.bound
        self.change_little(effort.max_nodes if self.bound < self.best.cost else 0)

    def put_together(self, limit, known, rule, max_nodes):
        """Let the best be the best cover, no dearer than what is `known`, or else that; whether it looked at all."""
        max_looks = cython.cast(int64_t, LOOKS * max_nodes)
        self.cover.search(limit, known.cost if known.found else NO_LIMIT, rule, max_looks)
        finished: cython.bint = self.cover.found.nodes <= max_looks
        if self.cover.found.found or not known.found:
            self.best.take(self.cover.found)
        else:
            self.best.take(known)
        self.bound = self.best.cost if finished else 0
        return finished

    def change_little(self, max_looks):
        """Let the best cost less by small changes, and keep to the draw where it may; chance is left its choice."""
        self.owed.begin(self.round.spent, self.round.w, self.tolerance)
        self.exchanges.begin(self.best.template)
        self.exchanges.improve(max_looks)
        if self.aim.keys.shape[0] == 0:
            self.exchanges.follow_draw(self.aim.fairest)
        self.best.template[:] = self.exchanges.template
        self.best.cost = self.exchanges.cost
        self.bound = min(self.bound, self.best.cost)

    def show(self, shown, template, after):
        """The documents (k,) that the template shows, and the exposure (G,) of groups after the round."""
        gone = self.round.gone
        gone[:] = 0
        after[:] = 0.0
        for p in range(self.round.k):
            g = template[p] = self.best.template[p]
            shown[p] = self.round.queue[g, gone[g]]
            gone[g] += 1
            after[g] += self.round.P[p]
        for g in range(self.round.n_groups):
            after[g] += self.round.spent[g]
