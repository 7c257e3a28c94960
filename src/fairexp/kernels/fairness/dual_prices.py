"""What words within the limits of all demands cost at least.

As in the search for one demand, where they are called multipliers, every column pays for each unit of exposure that it
gains, at a rate of its own; a class pays for its columns together. The cheapest word, payments included, is found in
one pass over the lattice of counts. Words within the limits pay at most a certain sum for each demand, so none costs
less than that minimum without these sums. Rates follow the slope of the bound, in steps as long as the distance to a
known cost allows.
"""

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, ceil, fabs
from cython.cimports.libc.stdint import int64_t

PASSES, FEWEST, STATES = 40, 6, 200_000
"""Passes over the lattice to find good rates; in large ones fewer, so that they see only so many states."""

NOWHERE = 1e15
"""The price of what cannot be done."""

ROUNDING = 1e-9
"""Costs are whole numbers; a bound may be off by this part of the largest sum that it comes from."""


@cython.final
@cython.cclass
class DualPrices:
    """No word within the limits costs less than `bound`.

    Classes pay `by_class` (m,). A word that passes through state s costs at least what it has cost and paid by then,
    with `ahead[s]` (S,), without what all demands have `paid` at most. The cheapest, payments included, is `word` (k,).
    """

    def __init__(self, round, owed, lattice):
        self.round, self.owed, self.lattice = round, owed, lattice
        self.rate, self.best, self.slope = np.zeros((3, self.owed.n_columns))
        self.by_class, self.ahead = np.zeros(self.round.n_groups), np.zeros(self.lattice.n_states)
        self.prices = np.zeros((self.lattice.n_states, self.round.n_groups))
        self.word = np.zeros(self.round.k, dtype=np.int64)

    def begin(self):
        """Nobody pays yet."""
        self.best[:] = 0.0
        self.price_pops()

    def survey(self, known):
        """Find better rates, given that a word within the limits has a `known` cost."""
        passes = max(min(PASSES, STATES // self.lattice.n_states), FEWEST)
        highest: cython.double = -INFINITY
        eager: cython.double = 1.0
        self.rate[:] = self.best
        for _ in range(passes):
            bound = self.bound_at(self.rate)
            steep = self.follow()
            if bound > highest:
                highest = bound
                self.best[:] = self.rate
            else:
                eager *= 0.7
            if steep <= 1e-12 or known - highest < 1.0:
                break
            step = eager * (known - bound) / steep
            for w in range(self.owed.n_columns):
                self.rate[w] += step * self.slope[w]
        highest = self.bound_at(self.best)
        self.follow()
        largest: cython.double = 0.0
        for a in range(self.round.n_groups):
            largest = max(largest, fabs(self.by_class[a]))
        slack = ROUNDING * (1.0 + largest * self.round.total + fabs(highest)) + 1e-6
        self.paid += slack
        self.bound = cython.cast(int64_t, max(ceil(highest - slack), 0.0))

    def price_pops(self):
        """Put into `prices` what popping each class costs, by state."""
        for s in range(self.lattice.n_states):
            for a in range(self.round.n_groups):
                gone = self.lattice.states[s, a]
                self.prices[s, a] = NOWHERE
                if self.lattice.child[s, a] >= 0 and gone < self.round.size[a]:
                    price: int64_t = 0
                    for b in range(self.round.n_groups):
                        price += self.round.cost[a, gone, b, self.lattice.states[s, b]]
                    self.prices[s, a] = price

    def price_ahead(self):
        """Put into `ahead` the least cost, payments included, of completing each state."""
        for s in range(self.lattice.n_states - 1, -1, -1):
            least: cython.double = 0.0
            if self.lattice.child[s, 0] >= 0:
                least = NOWHERE
                exposure = self.round.P[self.lattice.depth[s]]
                for a in range(self.round.n_groups):
                    way = self.prices[s, a] + self.by_class[a] * exposure + self.ahead[self.lattice.child[s, a]]
                    least = min(least, way)
            self.ahead[s] = least

    def most_paid(self, c):
        """The most that demand c may pay within its limit; its slope (G,) becomes the gains that pay it, negative."""
        first, last, left, paid = self.owed.start[c], self.owed.start[c + 1], self.round.total, 0.0
        for w in range(first, last):
            self.slope[w] = max(self.owed.lower[w] - self.owed.spent[w], 0.0)
            left -= self.slope[w]
        # What is left goes to the groups with the highest rates first.
        for place in range(last - first):
            for w in range(first, last):
                above: int64_t = 0
                for v in range(first, last):
                    above += self.rate[v] > self.rate[w] or (self.rate[v] == self.rate[w] and v < w)
                if above == place:
                    most = min(self.owed.upper[w] - self.owed.spent[w], self.round.total)
                    more = max(min(left, most - self.slope[w]), 0.0)
                    self.slope[w] += more
                    left -= more
        for w in range(first, last):
            paid += self.rate[w] * self.slope[w]
            self.slope[w] = -self.slope[w]
        return paid

    def bound_at(self, rate):
        """The bound that these rates give."""
        self.rate[:] = rate
        self.paid = 0.0
        for c in range(self.owed.n_demands):
            self.paid += self.most_paid(c)
        for a in range(self.round.n_groups):
            self.by_class[a] = 0.0
            for c in range(self.owed.n_demands):
                self.by_class[a] += self.rate[self.owed.column[a, c]]
        self.price_ahead()
        return self.ahead[0] - self.paid

    def follow(self):
        """Add what the cheapest word gains to the slope, which is then that of the bound; the square of its length."""
        s: int64_t = 0
        while self.lattice.child[s, 0] >= 0:
            cheapest: int64_t = 0
            least: cython.double = INFINITY
            exposure = self.round.P[self.lattice.depth[s]]
            for a in range(self.round.n_groups):
                way = self.prices[s, a] + self.by_class[a] * exposure + self.ahead[self.lattice.child[s, a]]
                if way < least:
                    cheapest, least = a, way
            for c in range(self.owed.n_demands):
                self.slope[self.owed.column[cheapest, c]] += exposure
            self.word[self.lattice.depth[s]] = cheapest
            s = self.lattice.child[s, cheapest]
        square: cython.double = 0.0
        for w in range(self.owed.n_columns):
            square += self.slope[w] * self.slope[w]
        return square
