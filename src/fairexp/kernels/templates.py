"""The cheapest fair interleaving of the groups' queues.

Symbols: E exposure by group, w shares, P exposure by position, T = sum E after the round (the same for every
template), W = sum w. Unfairness of a pair g < h is E_g - (w_g / w_h) E_h; a template's gap is the largest magnitude
over pairs.

Each group's documents wait in one queue in the order of the exploration draw. Walking a template pops, at each
position, the queue of the group that it names. What a pop costs depends only on how many documents each group has
shown so far, so costs come from a table, and the search is a depth-first walk over counts with two bounds:

- If every pair is within x, then |W E_g / w_g - T| <= x c_g with c_g = sum over h != g of w_h / w_min(g, h). This is
  the group's corridor; a walk is given up once the most or least exposure that a group can still get misses it.
- Completing a walk must cost at least its Lagrangian bound (see `lattice`).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from fairexp.kernels.lattice import best_prices, pop_costs

SLACK = 1e-9
"""Unfairness is compared with the tolerance up to this: rounding must not decide who is shown."""

NO_LIMIT = 2**62


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
def corridor(limit, T, w):
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
def _can_end_inside(E, gone, size, rest, most, least, lower, upper):
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
def _sort_choices(gone, size, place, E, w, lagging_first, choices):
    """Put the groups that can be popped into `choices` and count them.

    In the order of the draw (the position of each group's next document), or the group that lags its share first.
    """
    count = 0
    for g in range(gone.shape[0]):
        if gone[g] < size[g]:
            key = E[g] / w[g] if lagging_first else place[g, gone[g]]
            at = count
            while at > 0:
                f = choices[at - 1]
                if (E[f] / w[f] if lagging_first else place[f, gone[f]]) <= key:
                    break
                choices[at] = f
                at -= 1
            choices[at] = g
            count += 1
    return count


@njit(cache=True)
def walk(limit, budget, resolution, spent, w, P, size, place, cost, child, h, prices, sigma, max_nodes):
    """Depth-first search over templates whose gap is at most `limit` and whose cost is at most `budget`.

    With `resolution` 0 it looks for the least cost: choices are tried in the order of the draw and only a cheaper
    template replaces an earlier one, so among equals the one closest to the draw from the top down wins. With a
    positive `resolution` it looks for the least gap, up to that much, and the group that lags most is tried first.
    `child`, `h` (empty where there are none), `prices` and `sigma` are the lattice's bound.
    Returns (found, template (k,), cost, gap, nodes); more than `max_nodes` nodes end it with the best so far.
    """
    n_groups, k = spent.shape[0], P.shape[0]
    for_gap, priced = resolution > 0.0, h.shape[0] > 0
    most, least = exposure_sums(P)
    T = spent.sum() + P.sum()
    lower, upper = corridor(limit, T, w)
    gain = np.zeros((k + 1, n_groups))
    total = np.zeros(k + 1, dtype=np.int64)
    state = np.zeros(k + 1, dtype=np.int64)
    gone = np.zeros(n_groups, dtype=np.int64)
    choices = np.empty((k + 1, n_groups), dtype=np.int64)
    n_choices = np.zeros(k + 1, dtype=np.int64)
    tried = np.zeros(k + 1, dtype=np.int64)
    path, best = np.empty(k, dtype=np.int64), np.zeros(k, dtype=np.int64)
    E = spent.copy()
    best_cost, best_gap, found = np.int64(budget + 1), limit, False
    n_choices[0] = _sort_choices(gone, size, place, E, w, for_gap, choices[0])
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
        for other in range(n_groups):
            price += cost[g, gone[g], other, gone[other]]
        if price >= best_cost:
            continue
        path[p] = g
        gain[p + 1] = gain[p]
        gain[p + 1, g] += P[p]
        E[:] = spent + gain[p + 1]
        if p + 1 == k:
            gap = largest_gap(E, w)
            if gap <= best_gap + SLACK and not (for_gap and found and gap >= best_gap):
                found = True
                best[:] = path
                if for_gap:
                    best_gap = gap
                    lower, upper = corridor(gap - resolution, T, w)
                else:
                    best_cost = price
            continue
        gone[g] += 1
        inside = _can_end_inside(E, gone, size, k - p - 1, most[p + 1], least[p + 1], lower, upper)
        if inside and priced:
            state[p + 1] = child[state[p], g]
            bound = price + h[state[p + 1]] - sigma
            for other in range(n_groups):
                bound += prices[other] * gain[p + 1, other]
            inside = bound <= best_cost - 1 + 1e-6
        if not inside:
            gone[g] -= 1
            continue
        total[p + 1] = price
        p += 1
        tried[p] = 0
        n_choices[p] = _sort_choices(gone, size, place, E, w, for_gap, choices[p])
    return found, best, best_cost, best_gap, nodes


@njit(cache=True)
def least_gap(limit, budget, resolution, spent, w, P, size, place, cost, max_nodes):
    """Whether a template within `limit` and `budget` exists, the smallest gap up to `resolution`, and the nodes."""
    child, none, free = np.zeros((0, spent.shape[0]), dtype=np.int64), np.zeros(0), np.zeros(spent.shape[0])
    found, _, _, gap, nodes = walk(
        limit, budget, resolution, spent, w, P, size, place, cost, child, none, free, 0.0, max_nodes
    )
    return found, gap, nodes


@njit(cache=True)
def least_cost(limit, spent, w, P, size, place, cost, states, child, plain_nodes, max_nodes):
    """The least cost within `limit`: first a short plain walk, then walks with a rising budget under the bound.

    Returns (found, template, cost, nodes); the answer is proven if nodes <= max_nodes.
    """
    none, free = np.zeros(0), np.zeros(spent.shape[0])
    plain = plain_nodes if child.shape[0] > 0 else max_nodes
    found, template, price, _, nodes = walk(
        limit, NO_LIMIT, 0.0, spent, w, P, size, place, cost, child, none, free, 0.0, plain
    )
    if nodes <= plain or child.shape[0] == 0:
        return found, template, price, nodes
    used = nodes
    if not found:
        # A resolution above the limit stops at the first template inside it: is there any?
        possible, _, nodes = least_gap(limit, NO_LIMIT, limit + 1.0, spent, w, P, size, place, cost, max_nodes)
        used += nodes
        if not possible:
            return False, template, price, used
    lower, upper = corridor(limit + SLACK, spent.sum() + P.sum(), w)
    pops = pop_costs(states, size, cost)
    prices, h, sigma = best_prices(states, child, pops, P, lower - spent, upper - spent)
    budget, rise = max(np.int64(np.ceil(h[0] - sigma - 1e-6)), 0), 1
    while budget < price:
        better, better_template, better_price, _, nodes = walk(
            limit, budget, 0.0, spent, w, P, size, place, cost, child, h, prices, sigma, max_nodes
        )
        used += nodes
        if better:
            return True, better_template, better_price, used
        if used > max_nodes:
            break
        if budget == price - 1:
            break
        budget = min(budget + rise, price - 1)
        rise *= 2
    return found, template, price, used


@njit(cache=True)
def solve(
    order, groups, certain, P, spent, w, tolerance, displayed_only, fairest, place_keys, states, child, resolution,
    plain_nodes, max_nodes,
):  # fmt: skip
    """The best template for a draw: queues, search, fallback and ties in one go.

    Returns (shown (k,), template (k,), added regret, exposure after the round (G,), qualified, exact). `place_keys`
    (G, k), unless empty, takes the place of draw positions where equals are settled.
    """
    n_groups, k = w.shape[0], P.shape[0]
    queue, size, place, cost = build_queues(order, groups, certain, k, n_groups, displayed_only)
    if place_keys.shape[0] > 0:
        place = place_keys
    found, template, regret, nodes = least_cost(tolerance, spent, w, P, size, place, cost, states, child, plain_nodes, max_nodes)
    limit = tolerance
    if not found:
        _, limit, more = least_gap(np.inf, NO_LIMIT, resolution, spent, w, P, size, place, cost, max_nodes)
        nodes = max(nodes, more)
    elif fairest:
        _, limit, more = least_gap(tolerance, regret, resolution, spent, w, P, size, place, cost, max_nodes)
        nodes = max(nodes, more)
    if limit != tolerance:
        _, template, regret, more = least_cost(limit, spent, w, P, size, place, cost, states, child, plain_nodes, max_nodes)
        nodes = max(nodes, more)
    shown = np.empty(k, dtype=np.int64)
    seen = np.zeros(n_groups, dtype=np.int64)
    gain = np.zeros(n_groups)
    for p in range(k):
        g = template[p]
        shown[p] = queue[g, seen[g]]
        seen[g] += 1
        gain[g] += P[p]
    after = spent + gain
    return shown, template, regret, after, largest_gap(after, w) <= tolerance + SLACK, nodes <= max_nodes
