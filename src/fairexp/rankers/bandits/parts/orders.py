"""Certain orders as relations: their closure, layers and blocks, and which documents are exchangeable."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
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


def layers(better: Bools) -> Ints:
    """The layer (n,) of each document: 0 has nothing above it, the next nothing but that, and so on.

    >>> layers(np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool))
    array([0, 1, 0])
    """
    n_above = better.sum(axis=0)
    layer = np.zeros(len(better), dtype=np.int64)
    placed = n_above == 0
    ready, level = placed.copy(), 0
    while not placed.all():
        level += 1
        n_above = n_above - better[ready].sum(axis=0)
        ready = (n_above == 0) & ~placed
        layer[ready] = level
        placed |= ready
    return layer


def blocks_along(order: Ints, better: Bools) -> Ints:
    """The block (n,) of each document: `order` is cut wherever all orders across the cut are certain."""
    n = len(order)
    uncertain = ~better[np.ix_(order, order)]
    last = np.where(np.triu(uncertain), np.arange(n), 0).max(axis=1)
    ends = np.maximum.accumulate(last) == np.arange(n)
    block = np.empty(n, dtype=np.int64)
    block[order] = np.concatenate([[0], np.cumsum(ends[:-1])])
    return block


def interval_belief(scores: Floats, lower: Floats, upper: Floats, rng: np.random.Generator) -> Belief:
    """The belief of an optimist: shown by upper bound, and certain where one's lower exceeds the other's upper.

    Equal bounds go at random. Blocks end where every interval above lies above every interval below.
    """
    order = np.lexsort((rng.random(len(scores)), -upper))
    ends = np.minimum.accumulate(lower[order])[:-1] > upper[order][1:]
    block = np.empty(len(scores), dtype=np.int64)
    block[order] = np.concatenate([[0], np.cumsum(ends)])
    return Belief(scores=scores, draw=order, block=block, above=lower[:, None] > upper[None, :], upper=upper)


def exchangeable(block: Ints, better: Bools, groups: Ints | None) -> Ints:
    """Classes (n,) of documents that a uniform shuffle of each block leaves exchangeable in what is shown.

    Without templates those are the blocks. Templates (`groups` given) are chosen by the groups in the draw and by the
    certain orders between groups; exchanging two documents of one block and group that stand alike towards all
    documents of other groups changes neither, so the list with both exchanged is as likely as the list itself.
    """
    if groups is None:
        return block
    between = better & (groups[:, None] != groups[None, :])
    if not between.any():
        return np.asarray(block * (groups.max() + 1) + groups)
    stands = np.column_stack([block, groups, between, between.T])
    return np.unique(stands, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
