"""The groups' queues, and what taking a document out of turn costs.

Each group's documents wait in one queue in the order of the exploration draw. Walking a template pops, at each
position, the queue of the group that it names. What a pop costs depends only on how many documents each group has
shown so far, so costs come from a table.
"""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Bools, Ints
from fairexp.kernels.compiling import kernel


@kernel
def build_queues(
    order: Ints, groups: Ints, certain: Bools, row: Ints, k: int, n_groups: int, displayed_only: bool
) -> tuple[Ints, Ints, Ints, Ints]:
    """Queues (G, k) of document indices, how many each holds (G,), draw positions (G, k), and pop costs.

    `cost[g, i, h, a]` is what popping the i-th document of group g costs on account of group h when a documents of h
    are gone: documents of h that stand surely above it, came before it in the draw, and are still waiting. With
    `displayed_only` the same reversals are counted among shown documents, when the second of the two is popped.
    """
    n = order.shape[0]
    queue = np.zeros((n_groups, k), dtype=np.int64)
    place = np.zeros((n_groups, k), dtype=np.int64)
    size = np.zeros(n_groups, dtype=np.int64)
    in_queue = np.empty(n, dtype=np.int64)
    for p in range(n):
        g = groups[order[p]]
        if size[g] < k:
            queue[g, size[g]] = order[p]
            place[g, size[g]] = p
        in_queue[p] = min(size[g], k)
        size[g] += 1
    for g in range(n_groups):
        size[g] = min(size[g], k)
    cost = np.zeros((n_groups, k, n_groups, k + 1), dtype=np.int64)
    for g in range(n_groups):
        for i in range(size[g]):
            d = queue[g, i]
            for p in range(place[g, i]):
                e = order[p]
                h = groups[e]
                if h != g and certain[row[e], row[d]]:
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


@kernel
def is_permutation(order: Ints) -> bool:
    """Whether `order` (n,) holds each of 0..n-1 once."""
    seen = np.zeros(order.shape[0], dtype=np.bool_)
    for document in order:
        if document < 0 or document >= order.shape[0] or seen[document]:
            return False
        seen[document] = True
    return True
