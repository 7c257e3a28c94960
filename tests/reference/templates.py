"""Brute force over rankings: the slow, obvious twin of the template search."""

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np


def reversed_orders(shown, order, certain_order, *, scope="full"):
    """Certain orders that the list `shown` reverses and the draw `order` does not; those left out stand below.

    Where `certain_order` holds costs, what those cost.
    """
    place = {document: p for p, document in enumerate(order)}
    at = {document: p for p, document in enumerate(shown)}
    count = 0
    for i, j in zip(*np.nonzero(certain_order), strict=True):
        if place[i] > place[j] or j not in at:
            continue
        if at[j] < at[i] if i in at else scope == "full":
            count += int(certain_order[i, j])
    return count


def unfairness_after(shown, groups, exposure, spent, shares):
    """The largest |E_g - (w_g / w_h) E_h| over pairs g < h once `shown` has been charged."""
    return float(unfairness_after_each([shown], groups, exposure, spent, shares)[0])


def unfairness_after_each(rankings, groups, exposure, spent, shares):
    """The same for each of many lists (R,), all of one length."""
    lists, every = np.array(rankings), np.arange(len(rankings))
    after = np.tile(np.asarray(spent, dtype=float), (len(rankings), 1))
    for documents, amount in zip(lists.T, exposure, strict=False):
        after[every, np.asarray(groups)[documents]] += amount
    pairs = combinations(range(len(spent)), 2)
    return np.max([np.abs(after[:, g] - shares[g] / shares[h] * after[:, h]) for g, h in pairs], axis=0)


def all_rankings(order, groups, length):
    """Every ordered choice of documents."""
    return list(permutations(range(len(order)), length))


def all_interleavings(order, groups, length):
    """Every list that keeps, inside each group, the order of the draw."""
    n_groups = max(groups) + 1
    queues = [[d for d in order if groups[d] == g] for g in range(n_groups)]
    found = []
    for template in product(range(n_groups), repeat=length):
        if all(template.count(g) <= len(queue) for g, queue in enumerate(queues)):
            left = [iter(queue) for queue in queues]
            found.append(tuple(next(left[g]) for g in template))
    return found


def brute_force(rankings, order, groups, certain_order, *, exposure, spent, shares, tolerance, scope="full"):
    """(qualified, least added regret, least unfairness among those, all rankings that attain the regret)."""
    slack = 1e-9
    gaps = unfairness_after_each(rankings, groups, exposure, spent, shares).tolist()
    qualified = min(gaps) <= tolerance + slack
    limit = tolerance if qualified else min(gaps)
    allowed = [(r, gap) for r, gap in zip(rankings, gaps, strict=True) if gap <= limit + slack]
    costs = [reversed_orders(r, order, certain_order, scope=scope) for r, _ in allowed]
    least = min(costs)
    best = [(r, gap) for (r, gap), cost in zip(allowed, costs, strict=True) if cost == least]
    return qualified, least, min(gap for _, gap in best), [r for r, _ in best]
