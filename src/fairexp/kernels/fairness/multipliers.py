"""What fair templates cost at least, and which counts of shown documents lead to cheap ones.

Let every group pay for each unit of exposure that it gains, at a rate of its own: its Lagrange multiplier (a negative
one is a refund). The cheapest template, payments included, is found in one pass over the lattice of counts. Fair
templates pay at most a certain sum, so none costs less than that minimum without this sum; nor does one that passes
through a state cost less than the cheapest way through it. Multipliers are raised, line by line, as long as that helps
the bound.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.fairness.rounds import Corridors
from cython.cimports.libc.math import INFINITY, ceil, fabs, sqrt
from cython.cimports.libc.stdint import int64_t

IMPOSSIBLE = 2**30
"""A cost that nothing reaches."""

PASSES, FEWEST, STATES = 40, 4, 150_000
"""Passes over the lattice to find good multipliers; in large ones fewer, so that they see only so many states."""

NOWHERE = 1e15
"""The price of what cannot be done."""

ROUNDING = 1e-9
"""Costs are whole numbers; a bound may be off by this part of the largest sum that it comes from."""

FACTOR = 4.0
"""From one trial step to the next, until the bound falls again."""

WORTH_IT = 0.1
"""A line that raised the bound by less than this was the last."""


@cython.final
@cython.cclass
class Multipliers:
    """What is known about all templates within a limit.

    Their corridors, and `prices` of pops (S, G) by state. No fair template
    costs less than `bound`, none that passes through state s less than `through[s]` (S,). By `guide[s, g]` (S, G), what
    popping group g in state s and completing the rest costs, payments included.
    """

    def __init__(self, round, lattice):
        self.round, self.lattice = round, lattice
        n_groups, total = self.round.n_groups, self.lattice.n_states
        self.corridors, (self.least, self.most) = Corridors(round), np.zeros((2, n_groups))
        self.rate, self.trial, self.toward, self.slope = np.zeros((4, n_groups))
        self.prices, self.guide = np.zeros((2, total, n_groups))
        self.through, self.ahead = np.zeros((2, total))

    def survey(self, limit):
        """Find out about templates within `limit`."""
        n_groups, total = self.round.n_groups, self.round.total
        self.corridors.narrow(limit)
        for g in range(n_groups):
            self.least[g] = max(self.corridors.lower[g] - self.round.spent[g], 0.0)
            self.most[g] = min(self.corridors.upper[g] - self.round.spent[g], total)
        self.price_pops()
        if not self.allow_any():
            self.bound = IMPOSSIBLE
            self.through[:] = INFINITY
            return
        bound = self.raise_multipliers(max(min(PASSES, STATES // self.lattice.n_states), FEWEST))
        self.price_ahead(self.rate)
        paid, highest = self.most_paid(self.rate), 0.0
        for g in range(n_groups):
            highest = max(highest, fabs(self.rate[g]))
        slack = ROUNDING * (1.0 + highest * total + fabs(bound)) + 1e-6
        self.bound = cython.cast(int64_t, max(ceil(bound - slack), 0.0))
        self.price_before()
        for s in range(self.lattice.n_states):
            self.through[s] += self.ahead[s] - paid - slack
            for g in range(n_groups if self.lattice.child[s, 0] >= 0 else 0):
                multiplier = self.rate[g] * self.round.P[self.lattice.depth[s]]
                self.guide[s, g] = self.prices[s, g] + multiplier + self.ahead[self.lattice.child[s, g]]

    def allow_any(self):
        """Whether the corridors together leave room for the exposure of all positions."""
        least, most = 0.0, 0.0
        for g in range(self.round.n_groups):
            if self.least[g] > self.most[g]:
                return False
            least += self.least[g]
            most += self.most[g]
        return least <= self.round.total <= most

    def price_pops(self):
        """Put into `prices` what popping each group costs, by state."""
        for s in range(self.lattice.n_states):
            for g in range(self.round.n_groups):
                gone = self.lattice.states[s, g]
                self.prices[s, g] = NOWHERE
                if self.lattice.child[s, g] >= 0 and gone < self.round.size[g]:
                    price: int64_t = 0
                    for h in range(self.round.n_groups):
                        price += self.round.cost[g, gone, h, self.lattice.states[s, h]]
                    self.prices[s, g] = price

    def price_ahead(self, rate):
        """Put into `ahead` the least cost, payments included, of completing each state."""
        for s in range(self.lattice.n_states - 1, -1, -1):
            least: cython.double = 0.0
            if self.lattice.child[s, 0] >= 0:
                least = NOWHERE
                exposure = self.round.P[self.lattice.depth[s]]
                for g in range(self.round.n_groups):
                    least = min(least, self.prices[s, g] + rate[g] * exposure + self.ahead[self.lattice.child[s, g]])
            self.ahead[s] = least

    def price_before(self):
        """Put into `through` the least cost, payments included, of coming to each state."""
        self.through[:] = NOWHERE
        self.through[0] = 0.0
        for s in range(self.lattice.n_states):
            if self.lattice.child[s, 0] < 0 or self.through[s] >= NOWHERE:
                continue
            exposure = self.round.P[self.lattice.depth[s]]
            for g in range(self.round.n_groups):
                c = self.lattice.child[s, g]
                self.through[c] = min(self.through[c], self.through[s] + self.prices[s, g] + self.rate[g] * exposure)

    def most_paid(self, rate):
        """The most that fair templates may pay; `slope` becomes the gains (G,) that pay it."""
        left, paid = self.round.total, 0.0
        for g in range(self.round.n_groups):
            self.slope[g] = self.least[g]
            left -= self.least[g]
        # What is left goes to the groups with the highest rates first.
        for place in range(self.round.n_groups):
            for g in range(self.round.n_groups):
                above: int64_t = 0
                for h in range(self.round.n_groups):
                    above += rate[h] > rate[g] or (rate[h] == rate[g] and h < g)
                if above == place:
                    more = min(left, self.most[g] - self.least[g])
                    self.slope[g] += more
                    left -= more
        for g in range(self.round.n_groups):
            paid += rate[g] * self.slope[g]
        return paid

    def bound_at(self, rate):
        """The bound that these multipliers give; `slope` becomes its gradient."""
        self.price_ahead(rate)
        paid = self.most_paid(rate)
        for g in range(self.round.n_groups):
            self.slope[g] = -self.slope[g]
        s: int64_t = 0
        while self.lattice.child[s, 0] >= 0:
            cheapest, least, exposure = 0, INFINITY, self.round.P[self.lattice.depth[s]]
            for g in range(self.round.n_groups):
                price = self.prices[s, g] + rate[g] * exposure + self.ahead[self.lattice.child[s, g]]
                if price < least:
                    cheapest, least = g, price
            self.slope[cheapest] += exposure
            s = self.lattice.child[s, cheapest]
        return self.ahead[0] - paid

    def turn_uphill(self):
        """Let `toward` (G,) be the slope's direction, without what all groups have in common; whether there is one."""
        mean, length = 0.0, 0.0
        for g in range(self.round.n_groups):
            mean += self.slope[g] / self.round.n_groups
        for g in range(self.round.n_groups):
            self.toward[g] = self.slope[g] - mean
            length += self.toward[g] * self.toward[g]
        length = sqrt(length)
        if length <= 1e-9 * self.round.total:
            return False
        for g in range(self.round.n_groups):
            self.toward[g] /= length
        return True

    def climb(self, far, passes):
        """How far toward the direction the bound is highest, beginning `far[0]` away; the number of passes it took.

        The bound is concave and piecewise linear: between a rising and a falling place, the next one to look at is
        where their tangents meet.
        """
        t, best_t, best = far[0], 0.0, -INFINITY
        up_t, up_bound, up_slope = -1.0, 0.0, 0.0
        down_t, down_bound, down_slope = -1.0, 0.0, 0.0
        used = passes
        for n in range(1, passes + 1):
            for g in range(self.round.n_groups):
                self.trial[g] = self.rate[g] + t * self.toward[g]
            bound, rise = self.bound_at(self.trial), 0.0
            for g in range(self.round.n_groups):
                rise += self.slope[g] * self.toward[g]
            if bound > best:
                best, best_t = bound, t
            between: cython.bint = up_t >= 0.0 and down_t >= 0.0
            if between and bound >= up_bound + up_slope * (t - up_t) - 1e-6 * (1.0 + fabs(bound)):
                used = n
                break
            if rise > 0.0:
                up_t, up_bound, up_slope = t, bound, rise
            else:
                down_t, down_bound, down_slope = t, bound, rise
            if down_t < 0.0:
                t *= FACTOR
            elif up_t < 0.0:
                t /= FACTOR
            else:
                t = (down_bound - down_slope * down_t - up_bound + up_slope * up_t) / (up_slope - down_slope)
        far[0] = best_t
        return used

    def raise_multipliers(self, max_passes):
        """Find the best `rate` (G,) that so many passes over the lattice can; its bound."""
        self.rate[:] = 0.0
        bound: cython.double = self.bound_at(self.rate)
        step: cython.double = 1.0
        t: cython.double
        passes: int64_t = 1
        while passes < max_passes and self.turn_uphill():
            t = step
            passes += self.climb(cython.address(t), max_passes - passes) + 1
            for g in range(self.round.n_groups):
                self.trial[g] = self.rate[g] + t * self.toward[g]
            value = self.bound_at(self.trial)
            gained = value - bound
            if gained > 0.0:
                self.rate[:] = self.trial
                bound, step = value, max(t / FACTOR, 1e-3)
            if gained < WORTH_IT or self.round.n_groups == 2:
                break
        return bound
