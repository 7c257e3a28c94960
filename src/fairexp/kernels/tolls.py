"""What fair templates cost at least, and which counts of shown documents lead to cheap ones.

Let every group pay a toll on the exposure that it gains (Lagrange multipliers; negative ones are refunds). The cheapest
template, tolls included, is found in one pass over the lattice of counts. Fair templates pay at most a certain sum in
tolls, so none costs less than that minimum without this sum; nor does one that passes through a state cost less than
the cheapest way through it. Tolls are raised, line by line, as long as that helps the bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.kernels.compiling import kernel
from fairexp.kernels.lattice import IMPOSSIBLE, Lattice

NOWHERE = 1e15
"""The price of what cannot be done."""

ROUNDING = 1e-9
"""Costs are whole numbers; a bound may be off by this part of the largest sum that it comes from."""

FACTOR = 4.0
"""From one trial step to the next, until the bound falls again."""

WORTH_IT = 0.1
"""A line that raised the bound by less than this was the last."""


class Fair(NamedTuple):
    """What templates are searched for: positions' exposure P (k,), prices of pops (S, G) by state, and what groups may
    gain, at least and at most (G,)."""

    lattice: Lattice
    prices: Floats
    P: Floats
    least: Floats
    most: Floats


class Tolls(NamedTuple):
    """No fair template costs less than `bound`, none that passes through state s less than `through[s]` (S,).

    By `guide[s, g]` (S, G), what popping group g in state s and completing the rest costs, tolls included.
    """

    bound: int
    through: Floats
    guide: Floats


@kernel
def pop_prices(lattice: Lattice, size: Ints, cost: Ints) -> Floats:
    """What popping each group costs (S, G), by state."""
    total, n_groups = lattice.states.shape
    prices = np.full((total, n_groups), NOWHERE)
    for s in range(total):
        for g in range(n_groups if lattice.child[s, 0] >= 0 else 0):
            gone = lattice.states[s, g]
            if gone < size[g]:
                price = 0
                for h in range(n_groups):
                    price += cost[g, gone, h, lattice.states[s, h]]
                prices[s, g] = price
    return prices


@kernel
def price_ahead(fair: Fair, rate: Floats, ahead: Floats) -> None:
    """Put into `ahead` (S,) the least cost, tolls included, of completing each state."""
    child, depth, prices, P = fair.lattice.child, fair.lattice.depth, fair.prices, fair.P
    for s in range(child.shape[0] - 1, -1, -1):
        least = 0.0
        if child[s, 0] >= 0:
            least = NOWHERE
            exposure = P[depth[s]]
            for g in range(child.shape[1]):
                least = min(least, prices[s, g] + rate[g] * exposure + ahead[child[s, g]])
        ahead[s] = least


@kernel
def price_before(fair: Fair, rate: Floats) -> Floats:
    """The least cost (S,), tolls included, of coming to each state."""
    child, depth, prices, P = fair.lattice.child, fair.lattice.depth, fair.prices, fair.P
    before = np.full(child.shape[0], NOWHERE)
    before[0] = 0.0
    for s in range(child.shape[0]):
        if child[s, 0] >= 0 and before[s] < NOWHERE:
            exposure = P[depth[s]]
            for g in range(child.shape[1]):
                c = child[s, g]
                before[c] = min(before[c], before[s] + prices[s, g] + rate[g] * exposure)
    return before


@kernel
def most_paid(fair: Fair, rate: Floats, gains: Floats) -> float:
    """The most that fair templates may pay in tolls; `gains` (G,) become those that pay it."""
    n_groups, left, paid = rate.shape[0], fair.P.sum(), 0.0
    for g in range(n_groups):
        gains[g] = fair.least[g]
        left -= gains[g]
    # What is left goes to the groups with the highest rates first.
    for place in range(n_groups):
        for g in range(n_groups):
            above = 0
            for h in range(n_groups):
                above += rate[h] > rate[g] or (rate[h] == rate[g] and h < g)
            if above == place:
                more = min(left, fair.most[g] - fair.least[g])
                gains[g] += more
                left -= more
    for g in range(n_groups):
        paid += rate[g] * gains[g]
    return paid


@kernel
def bound_at(fair: Fair, rate: Floats, ahead: Floats, slope: Floats) -> float:
    """The bound that these tolls give; `slope` (G,) becomes its gradient."""
    child, depth, prices, P = fair.lattice.child, fair.lattice.depth, fair.prices, fair.P
    price_ahead(fair, rate, ahead)
    paid = most_paid(fair, rate, slope)
    for g in range(rate.shape[0]):
        slope[g] = -slope[g]
    s = 0
    while child[s, 0] >= 0:
        cheapest, least, exposure = 0, np.inf, P[depth[s]]
        for g in range(rate.shape[0]):
            price = prices[s, g] + rate[g] * exposure + ahead[child[s, g]]
            if price < least:
                cheapest, least = g, price
        slope[cheapest] += exposure
        s = child[s, cheapest]
    return float(ahead[0] - paid)


@kernel
def climb(fair: Fair, start: Floats, toward: Floats, step: float, passes: int, ahead: Floats) -> tuple[float, int]:
    """How far from `start` (G,) toward a direction (G,) the bound is highest, and how many passes that took.

    The bound is concave and piecewise linear: between a rising and a falling place, the next one to look at is where
    their tangents meet.
    """
    slope, t, best_t, best = np.zeros(start.shape[0]), step, 0.0, -np.inf
    up_t, up_bound, up_slope = -1.0, 0.0, 0.0
    down_t, down_bound, down_slope = -1.0, 0.0, 0.0
    for n in range(1, passes + 1):
        bound = bound_at(fair, start + t * toward, ahead, slope)
        rise = float((slope * toward).sum())
        if bound > best:
            best, best_t = bound, t
        if up_t >= 0.0 and down_t >= 0.0 and bound >= up_bound + up_slope * (t - up_t) - 1e-6 * (1.0 + abs(bound)):
            return best_t, n
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
    return best_t, passes


@kernel
def set_tolls(fair: Fair, max_passes: int) -> Tolls:
    """The best tolls that so many passes over the lattice find."""
    n_groups, total = fair.least.shape[0], fair.P.sum()
    if (fair.least > fair.most).any() or fair.least.sum() > total or fair.most.sum() < total:
        return Tolls(IMPOSSIBLE, np.full(fair.prices.shape[0], np.inf), fair.prices)
    rate, slope, ahead = np.zeros(n_groups), np.zeros(n_groups), np.zeros(fair.prices.shape[0])
    bound, step = bound_at(fair, rate, ahead, slope), 1.0
    passes = 1
    while passes < max_passes:
        toward = slope - slope.mean()
        length = np.sqrt((toward * toward).sum())
        if length <= 1e-9 * total:
            break
        toward /= length
        t, more = climb(fair, rate, toward, step, max_passes - passes, ahead)
        trial = rate + t * toward
        value = bound_at(fair, trial, ahead, slope)
        passes += more + 1
        gained = value - bound
        if gained > 0.0:
            rate, bound, step = trial, value, max(t / FACTOR, 1e-3)
        if gained < WORTH_IT or n_groups == 2:
            break
    price_ahead(fair, rate, ahead)
    most = most_paid(fair, rate, slope)
    slack = ROUNDING * (1.0 + np.abs(rate).max() * total + abs(bound)) + 1e-6
    through = price_before(fair, rate) + ahead - most - slack
    guide = fair.prices.copy()
    for s in range(guide.shape[0]):
        for g in range(n_groups if fair.lattice.child[s, 0] >= 0 else 0):
            guide[s, g] += rate[g] * fair.P[fair.lattice.depth[s]] + ahead[fair.lattice.child[s, g]]
    return Tolls(int(max(np.ceil(bound - slack), 0.0)), through, guide)
