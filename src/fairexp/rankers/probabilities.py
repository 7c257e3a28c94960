"""How probable a list is where it is known in closed form, as logarithms."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Bools, Floats, Ints


def tie_classes(scores: Floats) -> Ints:
    """The class (n,) of each document, 0 for the highest score: equal scores are of one class."""
    order = np.argsort(-scores)
    descending = scores[order]
    classes = np.empty(len(scores), dtype=np.int64)
    classes[order[:1]] = 0
    classes[order[1:]] = np.cumsum(descending[1:] != descending[:-1])
    return classes


def log_by_class(classes: Ints, shown: Ints) -> float:
    """Of a list `shown` (m,) where lower `classes` (n,) stand above higher ones and each is in random order.

    >>> round(float(np.exp(log_by_class(np.array([1, 0, 0]), np.array([2, 1])))), 3)
    0.5
    """
    left = np.bincount(classes)
    log, best = 0.0, 0
    for document in shown:
        while left[best] == 0:
            best += 1
        if classes[document] != best:
            return -np.inf
        log -= np.log(left[best])
        left[best] -= 1
    return float(log)


def positions_by_class(classes: Ints, length: int) -> Floats:
    """For the same lists, the probability (n, length) that document i stands at position p.

    >>> positions_by_class(np.array([1, 0, 0]), 2).tolist()
    [[0.0, 0.0], [0.5, 0.5], [0.5, 0.5]]
    """
    sizes = np.bincount(classes)
    ends = np.cumsum(sizes)
    places = np.arange(length)
    inside = (places >= (ends - sizes)[classes][:, None]) & (places < ends[classes][:, None])
    return np.asarray(inside / sizes[classes][:, None])


def log_respecting(certain: Bools, block: Ints, shown: Ints) -> float:
    """Of a list that is drawn block by block, each time uniformly among what has nothing certain above it left.

    `certain` (n, n) says of [i, j] that i belongs above j; `block` (n,) is 0 for the best.
    """
    left = np.ones(len(block), dtype=np.bool_)
    waiting_for = certain.sum(axis=0)
    log = 0.0
    for document in shown:
        ready = left & (waiting_for == 0) & (block == block[left].min())
        if not ready[document]:
            return -np.inf
        log -= np.log(np.count_nonzero(ready))
        left[document] = False
        waiting_for = waiting_for - certain[document]
    return float(log)


def log_plackett_luce(scores: Floats, shown: Ints) -> float:
    """Of a list whose documents are drawn one after the other, each with odds of exp(score) among those left.

    >>> round(float(np.exp(log_plackett_luce(np.log([1.0, 2.0, 1.0]), np.array([1, 0])))), 3)
    0.25
    """
    left = np.ones(len(scores), dtype=np.bool_)
    log = 0.0
    for document in shown:
        rest = scores[left]
        top = rest.max()
        log += scores[document] - top - np.log(np.exp(rest - top).sum())
        left[document] = False
    return float(log)


def next_plackett_luce(scores: Floats, lists: Ints, shown: Ints) -> Floats:
    """How probable `shown` (m,) is at each position, given what each of `lists` (S, m) has above it, (S, m)."""
    odds = np.exp(scores - scores.max())
    placed = odds[lists]
    is_left = np.ones((len(lists), len(scores)), dtype=np.bool_)
    np.put_along_axis(is_left, lists, False, axis=1)
    # Summed from below: taking what dominates out of a sum of all would leave nothing of the rest.
    tails = np.cumsum(placed[:, ::-1], axis=1)[:, ::-1] + (is_left * odds).sum(axis=1, keepdims=True)
    chances = np.divide(odds[shown], tails, out=np.zeros(lists.shape), where=tails > 0.0)
    return np.where(_is_above(lists, shown), 0.0, np.minimum(chances, 1.0))


def next_respecting(certain: Bools, block: Ints, lists: Ints, shown: Ints) -> Floats:
    """The same, (S, m), for lists that are drawn as in `log_respecting`."""
    n_lists, n = len(lists), len(block)
    left, waiting_for = np.ones((n_lists, n), dtype=np.bool_), np.tile(certain.sum(axis=0), (n_lists, 1))
    chances, every = np.zeros(lists.shape), np.arange(n_lists)
    for position, document in enumerate(shown):
        best = np.where(left, block, n).min(axis=1, keepdims=True)
        ready = left & (waiting_for == 0) & (block == best)
        chances[:, position] = ready[:, document] / ready.sum(axis=1)
        left[every, lists[:, position]] = False
        waiting_for -= certain[lists[:, position]]
    return chances


def _is_above(lists: Ints, shown: Ints) -> Bools:
    """Whether each of `lists` (S, m) has `shown[p]` above position p."""
    same = lists[:, :, None] == shown
    before = np.arange(len(shown))[:, None] < np.arange(len(shown))
    return np.asarray((same & before).any(axis=1))
