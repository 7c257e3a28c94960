"""The best template of a short list, by covers: the cheapest within the tolerance, or of the least unfair."""

import cython
from cython.cimports.fairexp.kernels.search.covers import CHEAPEST, FAIREST_OF_THOSE, LEAST_GAP, LOOKS
from cython.cimports.fairexp.kernels.search.depth_first import NO_LIMIT
from cython.cimports.fairexp.kernels.search.rounds import Corridors, Found
from cython.cimports.libc.math import INFINITY, ceil
from cython.cimports.libc.stdint import int64_t

GROWTH = 1.2
"""From one limit to the next, where the least gap is searched for from below; a little more each time."""


@cython.final
@cython.cclass
class ShortLists:
    """The `best` template, and what its cost and, where the least gap was sought, its gap are at least."""

    def __init__(self, round, walk, cover):
        self.round, self.walk, self.cover = round, walk, cover
        self.best, self.fair, self.room = Found(self.round.k), Found(self.round.k), Corridors(round)

    def seek(self, limit, known, rule, resolution, max_nodes):
        """Let `best` be the best cover, no dearer than what is `known`, or else that; whether it looked at all."""
        max_looks = cython.cast(int64_t, LOOKS * max_nodes)
        self.cover.search(limit, known.cost if known.found else NO_LIMIT, rule, resolution, max_looks)
        finished: cython.bint = self.cover.found.nodes <= max_looks
        if self.cover.found.found or not known.found:
            self.best.take(self.cover.found)
        else:
            self.best.take(known)
        self.best.nodes = cython.cast(int64_t, ceil(self.cover.found.nodes / LOOKS))
        return finished

    def top_limit(self):
        """The least gap as far as the position with most exposure tells: someone's corridor must have room for it."""
        highest: cython.double = 0.0
        limit: cython.double = INFINITY
        for p in range(self.round.k):
            highest = max(highest, self.round.P[p])
        for g in range(self.round.n_groups):
            self.room.narrow(0.0)
            centre = self.room.upper[g]
            self.room.narrow(1.0)
            edge = self.room.upper[g]
            if self.round.size[g] > 0 and edge > centre:
                limit = min(limit, (self.round.spent[g] + highest - centre) / (edge - centre))
        return max(limit, 0.0) if limit < INFINITY else 0.0

    def least_gap(self, above, resolution, max_nodes):
        """Let `fair` have the least gap of all templates, which is known to lie above `above`."""
        self.gap_bound = max(above, self.top_limit())
        used: int64_t = 0
        growth: cython.double = GROWTH
        limit: cython.double = max(self.gap_bound, resolution)
        self.fair.forget()
        while used < max_nodes and not self.fair.found:
            limit *= growth
            growth *= 1.02
            finished: cython.bint = self.seek(limit, self.fair, LEAST_GAP, resolution, max_nodes - used)
            used += self.best.nodes
            if self.best.found:
                self.fair.take(self.best)
            if finished:
                self.gap_bound = self.fair.gap - resolution if self.fair.found else limit
        if not self.fair.found:
            # A walk without a limit finds some template in as many steps as there are positions.
            self.walk.search(INFINITY, NO_LIMIT, resolution, max(max_nodes // 4, self.round.k), False)
            self.fair.take(self.walk.found)
        self.fair.nodes = used

    def choose(self, aim, effort):
        """Find the best template, given what a short walk has found within the tolerance, if anything."""
        rule = FAIREST_OF_THOSE if aim.fairest else CHEAPEST
        finished: cython.bint = self.seek(aim.tolerance, self.walk.found, rule, 0.0, effort.max_nodes)
        left: int64_t = max(effort.max_nodes - self.best.nodes, effort.plain_nodes)
        if not self.best.found:
            self.least_gap(aim.tolerance if finished else 0.0, effort.resolution, left)
            left = max(left - self.fair.nodes, effort.plain_nodes)
            # An unfinished search may have missed what is within the tolerance.
            finished = self.seek(max(self.fair.gap, aim.tolerance), self.fair, CHEAPEST, 0.0, left)
        else:
            self.gap_bound = self.best.gap if finished else 0.0
        self.bound = self.best.cost if finished else 0
