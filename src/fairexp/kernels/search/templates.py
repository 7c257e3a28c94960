"""The cheapest fair interleaving of the groups' queues: which search to use, and what it shows."""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.search.covers import Cover
from cython.cimports.fairexp.kernels.search.depth_first import NO_LIMIT, DepthFirst
from cython.cimports.fairexp.kernels.search.first_guess import FirstGuess
from cython.cimports.fairexp.kernels.search.gaps import largest_gap
from cython.cimports.fairexp.kernels.search.long_lists import LongLists
from cython.cimports.fairexp.kernels.search.multipliers import Multipliers
from cython.cimports.fairexp.kernels.search.rounds import Aim, Draw, Effort, Round
from cython.cimports.fairexp.kernels.search.short_lists import ShortLists
from cython.cimports.fairexp.kernels.search.tables import Tables

TABLED = 20_000
"""Largest lattice that tables are made for."""


@cython.final
@cython.cclass
class Search:
    """Room for one search at a time in lists of the curve P (k,) for so many groups.

    Short lists have subsets of all their positions, long ones of the last, and a lattice of counts unless there are too
    many.
    """

    def __init__(self, P, n_groups, reach, subsets, lattice=None):
        self.round = Round(P, n_groups)
        self.template = np.zeros(self.round.k, dtype=np.int64)
        multipliers = tables = first_guess = None
        if lattice is not None:
            multipliers = Multipliers(self.round, lattice)
            tables = Tables(self.round, lattice, multipliers) if len(lattice.states) <= TABLED else None
            first_guess = FirstGuess(self.round, lattice, multipliers, subsets)
        self.walk = DepthFirst(self.round, reach, lattice, tables)
        if lattice is None and len(subsets.worth) == 1 << self.round.k:
            self.short = ShortLists(self.round, self.walk, Cover(self.round, subsets))
        else:
            self.long = LongLists(self.round, self.walk, multipliers, tables, first_guess)

    def begin(self, draw: Draw, aim: Aim):
        """Let the search be for this draw."""
        self.aim = aim
        self.round.begin(draw, aim)

    def solve(self, tolerance: cython.double, effort: Effort):
        """The best ranking for the draw within a tolerance, or of the least unfair ones.

        Returns (shown (k,), template (k,), added regret, exposure after the round (G,), its gap, what the added regret
        and the gap are at least).
        """
        shown, template = np.empty(self.round.k, dtype=np.int64), np.empty(self.round.k, dtype=np.int64)
        after = np.empty(self.round.n_groups)
        self.aim.tolerance = tolerance
        with cython.nogil:
            self.find(self.aim, effort)
        self.show(shown, template, after)
        return shown, template, self.cost, after, largest_gap(after, self.round.w), self.bound, self.gap_bound

    def find(self, aim, effort):
        """Search: first by a short walk without bounds, which settles the easy rounds."""
        self.walk.search(aim.tolerance, NO_LIMIT, 0.0, effort.plain_nodes, False)
        if self.walk.found.nodes <= effort.plain_nodes and self.walk.found.found and not aim.fairest:
            self.template[:] = self.walk.found.template
            self.cost, self.bound, self.gap_bound = self.walk.found.cost, self.walk.found.cost, 0.0
        elif self.short is not None:
            self.short.choose(aim, effort)
            self.template[:] = self.short.best.template
            self.cost, self.bound, self.gap_bound = self.short.best.cost, self.short.bound, self.short.gap_bound
        else:
            self.long.choose(aim, effort)
            self.template[:] = self.long.best.template
            self.cost, self.bound, self.gap_bound = self.long.best.cost, self.long.bound, self.long.gap_bound

    def show(self, shown, template, after):
        """The documents (k,) that the template shows, and the exposure (G,) of groups after the round."""
        gone = self.round.gone
        gone[:] = 0
        after[:] = 0.0
        for p in range(self.round.k):
            g = template[p] = self.template[p]
            shown[p] = self.round.queue[g, gone[g]]
            gone[g] += 1
            after[g] += self.round.P[p]
        for g in range(self.round.n_groups):
            after[g] += self.round.spent[g]
