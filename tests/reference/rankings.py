"""Brute force over rankings under several demands: the slow, obvious twin of their search."""

from __future__ import annotations

import numpy as np

from tests.reference.templates import reversed_orders, unfairness_after, unfairness_after_each

SLACK = 1e-9


def all_words(order, demands, length):
    """Every list that keeps the draw's order among documents that no demand tells apart."""
    kinds = [tuple(int(each.groups[d]) for each in demands) for d in range(len(order))]
    queues = [[int(d) for d in order if kinds[d] == kind] for kind in sorted(set(kinds))]

    def longer(gone, shown):
        if len(shown) == length:
            yield tuple(shown)
            return
        for c, queue in enumerate(queues):
            if gone[c] < len(queue):
                yield from longer([*gone[:c], gone[c] + 1, *gone[c + 1 :]], [*shown, queue[gone[c]]])

    return list(longer([0] * len(queues), []))


def gaps_of(shown, demands, exposure):
    """The gap that a list leaves each demand with."""
    return [unfairness_after(shown, each.groups, exposure, each.spent, each.shares) for each in demands]


def best_of(rankings, order, demands, certain_order, *, exposure, scope="full", ties="draw"):
    """(the best of `rankings`, its added regret, the limits): demand by demand, then by regret, then by `ties`."""
    accounts = [(each.groups, exposure, each.spent, each.shares) for each in demands]
    gaps = np.column_stack([unfairness_after_each(rankings, *account) for account in accounts])
    kept, limits = np.ones(len(rankings), dtype=bool), []
    for c, each in enumerate(demands):
        limits.append(max(each.tolerance, gaps[kept, c].min()))
        kept &= gaps[:, c] <= limits[c] + SLACK
    costs = {i: reversed_orders(rankings[i], order, certain_order, scope=scope) for i in np.flatnonzero(kept)}
    least = min(costs.values())
    equals = [i for i, cost in costs.items() if cost == least]
    if ties == "fairest":
        fairest = min(gaps[i, 0] for i in equals)
        equals = [i for i in equals if gaps[i, 0] <= fairest + SLACK]
    place = np.argsort(order)
    return min((rankings[i] for i in equals), key=lambda shown: place[list(shown)].tolist()), least, limits
