"""Counts of shown documents by group, and bounds on what completing a template must cost.

A state is a vector of counts a (G,) with sum p <= k. States are numbered by the combinatorial number system: with
partial sums s_i = a_0 + ... + a_i the number is the sum of binomials C(s_i + i, i + 1), and adding a document to any
group always gives a larger number. So one backward pass over the numbers fills a table.

Bounds are Lagrangian. Put a price l_g on each unit of exposure that group g gains. The cheapest priced path from a
state, h(a), costs one pass. Whatever ends inside the corridor [lower, upper] pays at most sigma(l) for its exposure,
so its true cost is at least (cost so far) + l . (gain so far) + h(a) - sigma(l).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from fairexp.arrays import Floats, Ints

COORDINATE_STEPS = 12
"""Bisection steps for one group's price."""

SWEEPS = 2
"""Times that all prices are gone through, where there are several."""


@njit(cache=True)
def n_states(k: int, n_groups: int) -> int:
    """C(k + G, G), the number of count vectors with sum at most k (or 2**31 if that is smaller)."""
    count = 1.0
    for i in range(1, n_groups + 1):
        count = count * (k + i) / i
    return int(min(count + 0.5, 2.0**31))


@njit(cache=True)
def build_lattice(k: int, n_groups: int) -> tuple[Ints, Ints]:
    """States (S, G) in the order of their numbers, and `child[s, g]`, the number of s with one more of g (or -1)."""
    total = n_states(k, n_groups)
    binomial = np.zeros((n_groups, k + 2), dtype=np.int64)
    for s in range(k + 2):
        binomial[0, s] = s
    for i in range(1, n_groups):
        for s in range(1, k + 2):
            binomial[i, s] = binomial[i, s - 1] + binomial[i - 1, s]
    states = np.zeros((total, n_groups), dtype=np.int64)
    child = np.zeros((total, n_groups), dtype=np.int64)
    a = np.zeros(n_groups, dtype=np.int64)
    for number in range(total):
        p = 0
        for g in range(n_groups):
            states[number, g] = a[g]
            p += a[g]
        for g in range(n_groups):
            code, s = 0, 0
            for i in range(n_groups):
                s += a[i] + (1 if i == g else 0)
                code += binomial[i, s]
            child[number, g] = code if p < k else -1
        # The next vector: one document moves from the first group after 0 that has any, with all of group 0's.
        i = 1
        while i < n_groups and a[i] == 0:
            i += 1
        moving = a[0] + 1
        a[0] = 0
        if i < n_groups:
            a[i] -= 1
        a[i - 1] += moving
    return states, child


@njit(cache=True)
def pop_costs(states: Ints, size: Ints, cost: Ints) -> Ints:
    """What popping each group costs in each state (S, G); -1 where the queue is empty."""
    total, n_groups = states.shape
    pops = np.zeros((total, n_groups), dtype=np.int64)
    for s in range(total):
        for g in range(n_groups):
            i = states[s, g]
            pops[s, g] = 0 if i < size[g] else -1
            if i < size[g]:
                for h in range(n_groups):
                    pops[s, g] += cost[g, i, h, states[s, h]]
    return pops


@njit(cache=True)
def cheapest_priced(states: Ints, child: Ints, pops: Ints, P: Floats, prices: Floats, h: Floats, gain: Floats) -> None:
    """Fill `h` (S,) with the cheapest priced completion of each state, and `gain` (G,) with that of the root's path."""
    total, n_groups = states.shape
    k = P.shape[0]
    for s in range(total - 1, -1, -1):
        if child[s, 0] < 0:
            h[s] = 0.0
            continue
        p = 0
        for g in range(n_groups):
            p += states[s, g]
        best = np.inf
        for g in range(n_groups):
            if pops[s, g] >= 0:
                value = pops[s, g] + prices[g] * P[p] + h[child[s, g]]
                if value < best:
                    best = value
        h[s] = best
    for g in range(n_groups):
        gain[g] = 0.0
    s = 0
    for p in range(k):
        for g in range(n_groups):
            if pops[s, g] >= 0 and pops[s, g] + prices[g] * P[p] + h[child[s, g]] <= h[s]:
                gain[g] += P[p]
                s = child[s, g]
                break


@njit(cache=True)
def dearest_gain(prices: Floats, lower: Floats, upper: Floats, total: float, gain: Floats) -> float:
    """sigma: the most that a gain (G,) inside [lower, upper] with sum `total` can pay; the gain is left in `gain`."""
    n_groups = prices.shape[0]
    left = total
    for g in range(n_groups):
        gain[g] = lower[g]
        left -= lower[g]
    done = np.zeros(n_groups, dtype=np.bool_)
    for _ in range(n_groups):
        g = -1
        for h in range(n_groups):
            if not done[h] and (g < 0 or prices[h] > prices[g]):
                g = h
        done[g] = True
        more = min(max(left, 0.0), upper[g] - lower[g])
        gain[g] += more
        left -= more
    paid = 0.0
    for g in range(n_groups):
        paid += prices[g] * gain[g]
    return paid


@njit(cache=True)
def copy_to(source: Floats, target: Floats) -> None:
    """A plain loop: slices assigned to slices take numba seconds to compile."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@njit(cache=True)
def best_prices(
    states: Ints, child: Ints, pops: Ints, P: Floats, lower: Floats, upper: Floats
) -> tuple[Floats, Floats, float]:
    """Prices (G,) that make the root's bound large, the table h (S,) that goes with them, and sigma.

    The bound is concave in the prices; one price at a time is raised while the priced path gives its group more than
    the corridor's dearest gain, and lowered while it gives less. Group G - 1 has price 0: only differences matter.
    """
    total, n_groups = states.shape
    prices, trial = np.zeros(n_groups), np.zeros(n_groups)
    h, best_h = np.zeros(total), np.zeros(total)
    path, dear = np.zeros(n_groups), np.zeros(n_groups)
    whole = 0.0
    for p in range(P.shape[0]):
        whole += P[p]
    cheapest_priced(states, child, pops, P, trial, h, path)
    best_sigma = dearest_gain(trial, lower, upper, whole, dear)
    copy_to(h, best_h)
    best_bound = h[0] - best_sigma
    for _ in range(SWEEPS if n_groups > 2 else 1):
        for g in range(n_groups - 1):
            copy_to(prices, trial)
            low, high, step = -np.inf, np.inf, 1.0
            for _ in range(COORDINATE_STEPS):
                cheapest_priced(states, child, pops, P, trial, h, path)
                sigma = dearest_gain(trial, lower, upper, whole, dear)
                if h[0] - sigma > best_bound:
                    best_bound, best_sigma = h[0] - sigma, sigma
                    copy_to(h, best_h)
                    prices[g] = trial[g]
                slope = path[g] - dear[g]
                if slope > 0.0:
                    low = trial[g]
                elif slope < 0.0:
                    high = trial[g]
                else:
                    break
                if low == -np.inf:
                    trial[g] = high - step
                    step *= 4.0
                elif high == np.inf:
                    trial[g] = low + step
                    step *= 4.0
                else:
                    trial[g] = 0.5 * (low + high)
    return prices, best_h, best_sigma
