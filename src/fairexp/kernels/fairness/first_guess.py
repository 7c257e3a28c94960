"""Long lists: a good fair template, quickly. The top is filled greedily, the last positions by the best cover."""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.fairness.depth_first import NO_LIMIT
from cython.cimports.fairexp.kernels.fairness.rounds import Found, Round
from cython.cimports.fairexp.kernels.fairness.subset_cover import CHEAPEST, Cover
from cython.cimports.libc.math import INFINITY, fmod
from cython.cimports.libc.stdint import int64_t

TRIES = 60
"""Ways to fill the top, where the last positions alone cannot make it fair."""

GOLDEN, OTHER = 0.6180339887498949, 0.4142135623730951
"""Irrational numbers: their multiples spread evenly."""


@cython.final
@cython.cclass
class FirstGuess:
    """What is left to choose `below` the top, once so many of each group (G,) are `gone`; and the best so far.

    The group goes first that multipliers prefer or that lags its share most after a `lead` (G,) in exposure.
    """

    def __init__(self, round, lattice, multipliers, subsets):
        self.round, self.lattice, self.multipliers = round, lattice, multipliers
        n_groups, n_last = self.round.n_groups, len(subsets.worth).bit_length() - 1
        self.n_top = self.round.k - n_last
        self.below, self.found = Round(round.P[self.n_top :], n_groups), Found(self.round.k)
        self.cover = Cover(self.below, subsets)
        self.gone, self.lead = np.zeros(n_groups, dtype=np.int64), np.zeros(n_groups)

    def key(self, g, s, guided):
        """What decides which group goes first in state s: the least."""
        return self.multipliers.guide[s, g] if guided else (self.below.spent[g] + self.lead[g]) / self.round.w[g]

    def fill_top(self, guided):
        """Fill the top, and let groups below have what they gain there."""
        s: int64_t = 0
        self.below.spent[:] = self.round.spent
        self.gone[:] = 0
        for p in range(self.n_top):
            first: int64_t = -1
            lowest: cython.double = INFINITY
            for g in range(self.round.n_groups):
                if self.gone[g] < self.round.size[g]:
                    key = self.key(g, s, guided)
                    if first < 0 or key < lowest:
                        first, lowest = g, key
            self.found.template[p] = first
            self.gone[first] += 1
            self.below.spent[first] += self.round.P[p]
            s = self.lattice.child[s, first]

    def pass_on(self):
        """Let the queues below be what the top leaves."""
        k = self.below.k
        self.below.w[:] = self.round.w
        for g in range(self.round.n_groups):
            gone = self.gone[g]
            self.below.size[g] = min(self.round.size[g] - gone, k)
            for i in range(self.below.size[g]):
                self.below.place[g, i] = self.round.place[g, gone + i]
                for h in range(self.round.n_groups):
                    for a in range(k + 1):
                        self.below.cost[g, i, h, a] = self.round.cost[g, gone + i, h, self.gone[h] + a]

    def fill(self, guided, limit, max_looks):
        """Fill both; the looks that it took."""
        self.fill_top(guided)
        self.pass_on()
        self.cover.search(limit, NO_LIMIT, CHEAPEST, max_looks)
        self.found.found, self.found.gap = self.cover.found.found, limit
        if self.found.found:
            self.found.template[self.n_top :] = self.cover.found.template
            self.found.cost = self.round.price(self.found.template)
        return self.cover.found.nodes

    def search(self, limit, max_looks):
        """Look for a template within `limit`: along the multipliers, or with leads in exposure, in many ways.

        The last positions are shared as cheaply as they can.
        """
        self.lead[:] = 0.0
        looks: int64_t = self.fill(True, limit, max_looks)
        tries: int64_t = 0
        while not self.found.found and tries < TRIES and looks < max_looks:
            for g in range(self.round.n_groups):
                self.lead[g] = 2.0 * self.round.total / self.round.k * fmod(tries * (GOLDEN + OTHER * g), 1.0)
            looks += self.fill(False, limit, max_looks - looks)
            tries += 1
        self.found.nodes = looks
