"""The cheapest fair interleaving of the groups' queues.

Symbols: E exposure by group, w shares, P exposure by position, T = sum E after the round (the same for every
template), W = sum w. Unfairness of a pair g < h is E_g - (w_g / w_h) E_h; a template's is the largest magnitude
over pairs.

Each group's documents wait in one queue in the order of the exploration draw. Walking a template pops, at each
position, the queue of the group that it names. What a pop costs depends only on how many documents each group has
shown so far, so costs come from a table, and the search is a depth-first walk over counts.

If every pair is within x, then |W E_g / w_g - T| <= x c_g with c_g = sum over h != g of w_h / w_min(g, h). With the
most and least exposure that a group can still get, this bounds a partial template's unfairness from below.
"""

from __future__ import annotations

import numpy as np
from numba import njit

SLACK = 1e-9
"""Unfairness is compared with the tolerance up to this: rounding must not decide who is shown."""


@njit(cache=True)
def largest_gap(E, w):
    """The largest |E_g - (w_g / w_h) E_h| over pairs of groups g < h."""
    largest = 0.0
    for g in range(E.shape[0]):
        for h in range(g + 1, E.shape[0]):
            gap = abs(E[g] - w[g] / w[h] * E[h])
            if gap > largest:
                largest = gap
    return largest


@njit(cache=True)
def build_queues(order, groups, certain, k, n_groups, displayed_only):
    """Queues (G, k) of document indices, how many each holds (G,), draw positions (G, k), and pop costs.

    `cost[g, i, h, a]` is what popping the i-th document of group g costs on account of group h when a documents of h
    are gone: documents of h that stand surely above it, came before it in the draw, and are still waiting. With
    `displayed_only` the same reversals are counted among shown documents, when the second of the two is popped.
    """
    n = order.shape[0]
    queue = np.full((n_groups, k), -1, dtype=np.int64)
    place = np.full((n_groups, k), n, dtype=np.int64)
    size = np.zeros(n_groups, dtype=np.int64)
    in_queue = np.empty(n, dtype=np.int64)
    for p in range(n):
        g = groups[order[p]]
        if size[g] < k:
            queue[g, size[g]] = order[p]
            place[g, size[g]] = p
        in_queue[p] = min(size[g], k)
        size[g] += 1
    size = np.minimum(size, k)
    cost = np.zeros((n_groups, k, n_groups, k + 1), dtype=np.int64)
    for g in range(n_groups):
        for i in range(size[g]):
            d = queue[g, i]
            for p in range(place[g, i]):
                e = order[p]
                h = groups[e]
                if h != g and certain[e, d]:
                    if displayed_only:
                        # Charged to e's own pop: d is already shown once i + 1 documents of g are gone.
                        if in_queue[p] < k:
                            cost[h, in_queue[p], g, i + 1] += 1
                    else:
                        # e is still waiting while at most in_queue[p] documents of h are gone.
                        cost[g, i, h, in_queue[p]] += 1
    for g in range(n_groups):
        for i in range(size[g]):
            for h in range(n_groups):
                if displayed_only:
                    for a in range(1, k + 1):
                        cost[g, i, h, a] += cost[g, i, h, a - 1]
                else:
                    for a in range(k - 1, -1, -1):
                        cost[g, i, h, a] += cost[g, i, h, a + 1]
    return queue, size, place, cost


@njit(cache=True)
def exposure_sums(P):
    """`most[p, m]` and `least[p, m]`: the largest and smallest sum of m exposures among positions p and below."""
    k = P.shape[0]
    most = np.zeros((k + 1, k + 1))
    least = np.zeros((k + 1, k + 1))
    for p in range(k):
        rest = np.sort(P[p:])
        for m in range(1, k - p + 1):
            least[p, m] = least[p, m - 1] + rest[m - 1]
            most[p, m] = most[p, m - 1] + rest[k - p - m]
    return most, least


@njit(cache=True)
def _corridor(limit, T, w):
    """The least and most exposure (G,), (G,) that each group may end with if no pair exceeds `limit`."""
    n_groups = w.shape[0]
    lower = np.empty(n_groups)
    upper = np.empty(n_groups)
    W = w.sum()
    for g in range(n_groups):
        c = 0.0
        for h in range(n_groups):
            if h != g:
                c += w[h] / w[min(g, h)]
        lower[g] = w[g] * (T - limit * c) / W
        upper[g] = w[g] * (T + limit * c) / W
    return lower, upper


@njit(cache=True)
def _within_corridor(E, gone, size, rest, most, least, lower, upper):
    """Whether every group can still end inside its corridor; `most`, `least` (k + 1,) are those of this depth."""
    n_groups = E.shape[0]
    waiting = 0
    for g in range(n_groups):
        waiting += min(size[g] - gone[g], rest)
    for g in range(n_groups):
        own = min(size[g] - gone[g], rest)
        if E[g] + most[own] < lower[g] - SLACK:
            return False
        if E[g] + least[max(0, rest - (waiting - own))] > upper[g] + SLACK:
            return False
    return True


@njit(cache=True)
def _sort_children(gone, size, place, choices):
    """Put the groups that can be popped into `choices` by the draw position of their next document; count them."""
    count = 0
    for g in range(gone.shape[0]):
        if gone[g] < size[g]:
            at = count
            while at > 0 and place[choices[at - 1], gone[choices[at - 1]]] > place[g, gone[g]]:
                choices[at] = choices[at - 1]
                at -= 1
            choices[at] = g
            count += 1
    return count


@njit(cache=True)
def cheapest(limit, spent, w, P, size, place, cost, fairest, max_nodes):
    """The template (k,) of least cost among those whose unfairness is at most `limit`, by depth-first search.

    Children are tried in the order of the draw, and a later template replaces an earlier one only if it is cheaper
    (or, with `fairest`, as cheap and fairer). So among equals the one closest to the draw from the top down wins.
    Returns (found, template, cost, nodes); more than `max_nodes` nodes end the search with the best so far.
    """
    n_groups, k = spent.shape[0], P.shape[0]
    most, least = exposure_sums(P)
    lower, upper = _corridor(limit, spent.sum() + P.sum(), w)
    gain = np.zeros((k + 1, n_groups))
    total = np.zeros(k + 1, dtype=np.int64)
    gone = np.zeros(n_groups, dtype=np.int64)
    choices = np.empty((k + 1, n_groups), dtype=np.int64)
    n_choices = np.zeros(k + 1, dtype=np.int64)
    tried = np.zeros(k + 1, dtype=np.int64)
    path = np.empty(k, dtype=np.int64)
    E = np.empty(n_groups)
    best = np.zeros(k, dtype=np.int64)
    best_cost, best_gap = np.int64(2**62), np.inf
    found = False
    n_choices[0] = _sort_children(gone, size, place, choices[0])
    p, nodes = 0, 0
    while p >= 0:
        if tried[p] == n_choices[p]:
            p -= 1
            if p >= 0:
                gone[path[p]] -= 1
            continue
        g = choices[p, tried[p]]
        tried[p] += 1
        nodes += 1
        if nodes > max_nodes:
            break
        price = total[p]
        for h in range(n_groups):
            price += cost[g, gone[g], h, gone[h]]
        if price > best_cost or (price == best_cost and not fairest):
            continue
        path[p] = g
        gain[p + 1] = gain[p]
        gain[p + 1, g] += P[p]
        E[:] = spent + gain[p + 1]
        if p + 1 == k:
            gap = largest_gap(E, w)
            if gap <= limit + SLACK and (price < best_cost or gap < best_gap - SLACK):
                found, best_cost, best_gap = True, price, gap
                best[:] = path
            continue
        gone[g] += 1
        if not _within_corridor(E, gone, size, k - p - 1, most[p + 1], least[p + 1], lower, upper):
            gone[g] -= 1
            continue
        total[p + 1] = price
        p += 1
        tried[p] = 0
        n_choices[p] = _sort_children(gone, size, place, choices[p])
    return found, best, best_cost, nodes


@njit(cache=True)
def least_unfairness(spent, w, P, size, max_nodes):
    """The smallest unfairness that any template can reach, and the nodes searched.

    Children are tried from the group that lags its share most, so that the first template is a good one already.
    """
    n_groups, k = spent.shape[0], P.shape[0]
    most, least = exposure_sums(P)
    T = spent.sum() + P.sum()
    lower, upper = _corridor(np.inf, T, w)
    gain = np.zeros((k + 1, n_groups))
    gone = np.zeros(n_groups, dtype=np.int64)
    choices = np.empty((k + 1, n_groups), dtype=np.int64)
    n_choices = np.zeros(k + 1, dtype=np.int64)
    tried = np.zeros(k + 1, dtype=np.int64)
    path = np.empty(k, dtype=np.int64)
    E = spent.copy()
    best = np.inf
    n_choices[0] = _sort_lagging(gone, size, E, w, choices[0])
    p, nodes = 0, 0
    while p >= 0:
        if tried[p] == n_choices[p]:
            p -= 1
            if p >= 0:
                gone[path[p]] -= 1
            continue
        g = choices[p, tried[p]]
        tried[p] += 1
        nodes += 1
        if nodes > max_nodes and best < np.inf:
            break
        path[p] = g
        gain[p + 1] = gain[p]
        gain[p + 1, g] += P[p]
        E[:] = spent + gain[p + 1]
        if p + 1 == k:
            gap = largest_gap(E, w)
            if gap < best:
                best = gap
                lower, upper = _corridor(best - 2.0 * SLACK, T, w)
            continue
        gone[g] += 1
        if not _within_corridor(E, gone, size, k - p - 1, most[p + 1], least[p + 1], lower, upper):
            gone[g] -= 1
            continue
        p += 1
        tried[p] = 0
        n_choices[p] = _sort_lagging(gone, size, E, w, choices[p])
    return best, nodes


@njit(cache=True)
def _sort_lagging(gone, size, E, w, choices):
    """Put the groups that can be popped into `choices`, the one with the least exposure per share first."""
    count = 0
    for g in range(gone.shape[0]):
        if gone[g] < size[g]:
            at = count
            while at > 0 and E[choices[at - 1]] / w[choices[at - 1]] > E[g] / w[g]:
                choices[at] = choices[at - 1]
                at -= 1
            choices[at] = g
            count += 1
    return count
