"""Certain orders as relations: their closure, those of an optimist, and which documents are exchangeable."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.kernels.algebra.linear import top_documents
from fairexp.kernels.bandits.orders import blocks_by_group
from fairexp.kernels.bandits.rates import interval_orders
from fairexp.types import Belief


def add_orders(better: Bools, found: Bools) -> bool:
    """Enter the orders `found` (n, n) into the closed relation `better`, in place; whether any was new.

    `better` stays transitively closed and free of contradictions: an order against one that is there is left out.

    >>> better = np.zeros((3, 3), dtype=bool)
    >>> add_orders(better, np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=bool)), better.sum(axis=1)
    (True, array([2, 1, 0]))
    """
    changed = False
    for i, j in np.argwhere(found & ~better & ~better.T):
        if i == j or better[i, j] or better[j, i]:
            continue
        above, below = better[:, i].copy(), better[j].copy()
        above[i], below[j] = True, True
        better |= above[:, None] & below[None, :]
        changed = True
    return changed


def interval_belief(scores: Floats, lower: Floats, upper: Floats, rng: np.random.Generator) -> Belief:
    """The belief of an optimist: shown by upper bound, and certain where one's lower exceeds the other's upper.

    Equal bounds go at random. Blocks end where every interval above lies above every interval below.
    """
    order = top_documents(upper, rng.random(len(scores)), len(scores))
    block, above = interval_orders(lower, upper, order)
    return Belief(scores=scores, draw=order, block=block, above=above, upper=upper)


def exchangeable(block: Ints, better: Bools, groups: Ints | None) -> Ints:
    """Classes (n,) of documents that a uniform shuffle of each block leaves exchangeable in what is shown.

    Without templates those are the blocks. Templates (`groups` given) are chosen by the groups in the draw and by the
    certain orders between groups; exchanging two documents of one block and group that stand alike towards all
    documents of other groups changes neither, so the list with both exchanged is as likely as the list itself.
    """
    if groups is None:
        return block
    alike = blocks_by_group(block, better, groups)
    if alike is not None:
        return alike
    between = better & (groups[:, None] != groups[None, :])
    stands = np.column_stack([block, groups, between, between.T])
    return np.unique(stands, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
