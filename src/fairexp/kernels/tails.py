"""Long lists: a good fair template, quickly. The top is filled greedily, the last positions by the best cover."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.kernels.compiling import kernel
from fairexp.kernels.covering import cover
from fairexp.kernels.covers import CHEAPEST, Subsets, price_of
from fairexp.kernels.search import NO_LIMIT, Found, Round, no_guide

TRIES = 60
"""Ways to fill the top, where the last positions alone cannot make it fair."""


@kernel
def fill_top(round: Round, guide: Floats, lead: Floats, template: Ints, n_top: int, E: Floats) -> Ints:
    """Fill so many positions of the template, add what groups gain to E (G,), and count their documents (G,).

    In each state the group goes first that the guide (S, G) prefers or, without one, that lags its share most after a
    `lead` (G,) in exposure.
    """
    gone, s = np.zeros(E.shape[0], dtype=np.int64), 0
    for p in range(n_top):
        first, lowest = -1, np.inf
        for g in range(E.shape[0]):
            if gone[g] < round.size[g]:
                key = guide[s, g] if guide.shape[0] > 0 else (E[g] + lead[g]) / round.w[g]
                if first < 0 or key < lowest:
                    first, lowest = g, key
        template[p] = first
        gone[first] += 1
        E[first] += round.P[p]
        s = round.child[s, first] if guide.shape[0] > 0 else 0
    return gone


@kernel
def round_below(round: Round, n_top: int, gone: Ints, E: Floats) -> Round:
    """What is left to choose once the top is filled."""
    n_groups, k = E.shape[0], round.P.shape[0] - n_top
    place = np.zeros((n_groups, k), dtype=np.int64)
    cost = np.zeros((n_groups, k, n_groups, k + 1), dtype=np.int64)
    for g in range(n_groups):
        for i in range(min(k, round.size[g] - gone[g])):
            place[g, i] = round.place[g, gone[g] + i]
            for h in range(n_groups):
                for a in range(k + 1):
                    cost[g, i, h, a] = round.cost[g, gone[g] + i, h, gone[h] + a]
    size = np.minimum(round.size - gone, k)
    return Round(round.P[n_top:], E, round.w, size, place, cost, round.reach, round.reach_width, round.child)


@kernel
def fill_both(round: Round, subsets: Subsets, guide: Floats, lead: Floats, limit: float, max_looks: int) -> Found:
    """A template within `limit`, if the last positions can be shared so: as cheaply as they can."""
    n_last = 0
    while 2**n_last < subsets.worth.shape[0]:
        n_last += 1
    n_top = round.P.shape[0] - n_last
    template, E = np.zeros(round.P.shape[0], dtype=np.int64), round.spent.copy()
    gone = fill_top(round, guide, lead, template, n_top, E)
    last = cover(round_below(round, n_top, gone, E), subsets, limit, np.int64(NO_LIMIT), CHEAPEST, 0.0, max_looks)
    template[n_top:] = last.template
    return Found(last.found, template, price_of(round.cost, template), last.gap, last.nodes)


@kernel
def fill_somehow(round: Round, subsets: Subsets, limit: float, max_looks: int) -> Found:
    """Any template within `limit` that comes of giving groups a lead, in many ways, where the top is filled."""
    n_groups, tries, looks = round.w.shape[0], 0, 0
    lead, most = np.zeros(n_groups), 2.0 * round.P.mean()
    best = fill_both(round, subsets, no_guide(), lead, limit, max_looks)
    while not best.found and tries < TRIES and looks + best.nodes < max_looks:
        looks += best.nodes
        tries += 1
        for g in range(n_groups):
            # Multiples of an irrational number spread evenly.
            lead[g] = most * ((tries * (0.6180339887498949 + 0.4142135623730951 * g)) % 1.0)
        best = fill_both(round, subsets, no_guide(), lead, limit, max_looks - looks)
    return Found(best.found, best.template, best.cost, best.gap, looks + best.nodes)
