"""Ranked lists of several rankers mixed into one, and what the clicks on the mix say about the rankers.

The lists of r rankers are given as their scores (r, n) of the same documents. Minus infinity means that a document is
not on a ranker's list. Equal scores go by the smaller of random keys, alike for all rankers.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.algebra.linear import pick_top
from cython.cimports.fairexp.kernels.numbers import ConstFloat
from cython.cimports.libc.math import INFINITY, pow
from cython.cimports.libc.stdint import int64_t
from cython.cimports.libc.stdlib import calloc, free

NOBODY = cython.declare(cython.long, -1)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _shared(
    tops: cython.pointer[int64_t], r: cython.Py_ssize_t, m: cython.Py_ssize_t, scores: ConstFloat[:, ::1]
) -> cython.Py_ssize_t:
    """How many positions from the top all lists `tops` (r, m) have alike."""
    for at in range(m):
        for ranker in range(r):
            if tops[ranker * m + at] != tops[at] or scores[ranker, tops[at]] == -INFINITY:
                return at
    return m


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _draft(
    tops: cython.pointer[int64_t],
    waiting: cython.pointer[int64_t],
    following: cython.pointer[int64_t],
    used: cython.p_char,
    scores: ConstFloat[:, ::1],
    coins: ConstFloat[::1],
    shown: int64_t[::1],
    team: int64_t[::1],
) -> cython.void:
    """Fill `shown` and `team` (m,) from lists `tops` (r, m), as `draft` says; `following` (r,), `used` (n,) are 0."""
    r, m = scores.shape[0], shown.shape[0]
    at = _shared(tops, r, m, scores)
    for position in range(at):
        shown[position], team[position] = tops[position], NOBODY
        used[tops[position]] = True
    left: cython.Py_ssize_t = 0
    ranker: cython.Py_ssize_t
    chosen: cython.Py_ssize_t
    part: cython.double
    while at < m:
        part = coins[at]
        while True:
            if left == 0:  # a new turn
                for ranker in range(r):
                    waiting[ranker] = ranker
                left = r
            part *= left
            chosen = min(cython.cast(cython.Py_ssize_t, part), left - 1)
            part -= chosen
            ranker = waiting[chosen]
            left -= 1
            waiting[chosen] = waiting[left]
            while following[ranker] < m and used[tops[ranker * m + following[ranker]]]:
                following[ranker] += 1
            if following[ranker] < m and scores[ranker, tops[ranker * m + following[ranker]]] > -INFINITY:
                break  # others have come to the end of their lists
        shown[at], team[at] = tops[ranker * m + following[ranker]], ranker
        used[shown[at]] = True
        at += 1


def draft(scores: ConstFloat[:, ::1], uniforms: ConstFloat[::1], shown: int64_t[::1], team: int64_t[::1]) -> None:
    """Team draft: fills `shown` and `team` (m,) with documents and who picked each, from `scores` (r, n).

    What all lists have at the top alike belongs to nobody (-1). After it the rankers pick in turn, each its best
    document that is left, in an order drawn for each turn. `uniforms` (n + m,) are the keys of ties, and then say at
    each position who picks of those whose turn is to come. At least m documents must be on a list.
    """
    r, n, m = scores.shape[0], scores.shape[1], shown.shape[0]
    if m == 0:
        return
    tops = cython.cast(cython.pointer[int64_t], calloc((r * m + 2 * r) * cython.sizeof(int64_t) + n, 1))
    if tops == cython.NULL:
        raise MemoryError
    with cython.nogil:
        for ranker in range(r):
            pick_top(cython.address(scores[ranker, 0]), uniforms, n, tops + ranker * m, m)
        waiting = tops + r * m
        used = cython.cast(cython.p_char, waiting + 2 * r)
        _draft(tops, waiting, waiting + r, used, scores, uniforms[n:], shown, team)
        free(tops)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def rank_of(
    scores: cython.p_const_double, keys: ConstFloat[::1], n: cython.Py_ssize_t, document: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """How many documents stand above `document` on the list by `scores` (n,)."""
    above: int64_t = 0
    equal: int64_t = 0
    score = scores[document]
    for other in range(n):
        above += scores[other] > score
        equal += scores[other] == score
    if equal > 1:
        for other in range(n):
            if scores[other] == score and (
                keys[other] < keys[document] or (keys[other] == keys[document] and other < document)
            ):
                above += 1
    return above


@cython.cclass
class _Lists:
    """Lists by `scores` (r, n) from which documents are taken, one after the other.

    `share` (n,) is 1/rank^power of each rank, `rest` (r,) what the ranks add up to that are left on each list, `left`
    (r,) how many these are, and `gone` (r, n) which ranks are not among them.
    """

    scores: ConstFloat[:, ::1]
    keys: ConstFloat[::1]
    share: cython.double[::1]
    rest: cython.double[::1]
    left: int64_t[::1]
    gone: cython.char[:, ::1]
    best: int64_t[::1]

    def __init__(self, scores: ConstFloat[:, ::1], keys: ConstFloat[::1], power: cython.double) -> None:
        r, n = scores.shape[0], scores.shape[1]
        self.scores, self.keys = scores, keys
        self.share, self.rest, self.left = np.empty(n), np.zeros(r), np.zeros(r, dtype=np.int64)
        self.gone, self.best = np.zeros((r, n), dtype=np.int8), np.empty(n, dtype=np.int64)
        for rank in range(n):
            self.share[rank] = pow(rank + 1.0, -power)
        for ranker in range(r):
            for d in range(n):
                if scores[ranker, d] > -INFINITY:
                    self.rest[ranker] += self.share[self.left[ranker]]
                    self.left[ranker] += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def take(self, document: cython.Py_ssize_t, chances: cython.double[::1]) -> cython.void:
        """Take `document` off all lists; `chances` (r,) that each ranker would have drawn it of what was left."""
        for ranker in range(self.scores.shape[0]):
            chances[ranker] = 0.0
            if self.scores[ranker, document] == -INFINITY:
                continue
            rank = rank_of(cython.address(self.scores[ranker, 0]), self.keys, self.scores.shape[1], document)
            share = self.share[rank]
            chances[ranker] = 1.0 if self.left[ranker] == 1 else min(share / self.rest[ranker], 1.0)
            self.rest[ranker] = max(self.rest[ranker] - share, 0.0)
            self.left[ranker] -= 1
            self.gone[ranker, rank] = True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def draw(self, uniform: cython.double) -> cython.Py_ssize_t:
        """A document: by lot a ranker whose list has some left, and of that list one by 1/rank^power."""
        active: cython.Py_ssize_t = 0
        ranker: cython.Py_ssize_t
        chosen: cython.Py_ssize_t
        for ranker in range(self.left.shape[0]):
            active += self.left[ranker] > 0
        part: cython.double = uniform * active
        chosen = min(cython.cast(cython.Py_ssize_t, part), active - 1)
        target = (part - chosen) * self.rest_of(chosen, cython.address(ranker))
        found: cython.Py_ssize_t = 0
        reached: cython.double = 0.0
        passed: int64_t = 0
        for rank in range(self.share.shape[0]):
            if not self.gone[ranker, rank]:
                found = rank
                reached += self.share[rank]
                passed += 1
                if reached > target or passed == self.left[ranker]:
                    break
        pick_top(
            cython.address(self.scores[ranker, 0]),
            self.keys,
            self.scores.shape[1],
            cython.address(self.best[0]),
            found + 1,
        )
        return self.best[found]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def rest_of(self, chosen: cython.Py_ssize_t, ranker: cython.pointer[cython.Py_ssize_t]) -> cython.double:
        """`rest` of the ranker that is number `chosen` of those with documents left; `ranker` is filled in."""
        at: cython.Py_ssize_t = 0
        while chosen > 0 or self.left[at] == 0:
            if self.left[at] > 0:
                chosen -= 1
            at += 1
        ranker[0] = at
        return self.rest[at]


def draw(
    scores: ConstFloat[:, ::1],
    keys: ConstFloat[::1],
    uniforms: ConstFloat[::1],
    power: cython.double,
    shown: int64_t[::1],
    chances: cython.double[:, ::1],
) -> None:
    """Probabilistic mix: fills `shown` (m,), and `chances` (m, r) with which each ranker would have placed each.

    A ranker draws among the documents that are left on its list, in proportion to 1/rank^power; a fair lot says at each
    position which ranker does. `uniforms` (m,) lie in [0, 1), `keys` (n,) settle ties. At least m documents must be on
    a list.
    """
    lists = _Lists(scores, keys, power)
    with cython.nogil:
        for at in range(shown.shape[0]):
            shown[at] = lists.draw(uniforms[at])
            lists.take(shown[at], chances[at])


def expected_signs(chances: ConstFloat[:, ::1], base: cython.Py_ssize_t):
    """Of each ranker (r,): P(more clicks are its than ranker `base`'s) - P(fewer are), over who placed what.

    `chances` (c, r) are those with which each ranker would have placed the clicked documents. Given the list, who
    placed one document does not depend on who placed another.
    """
    c, r = chances.shape[0], chances.shape[1]
    result = np.zeros(r)
    signs: cython.double[::1] = result
    scratch: cython.double[:, ::1] = np.empty((4, 2 * c + 3))
    steps: cython.double[:, ::1] = scratch[:2]
    odds: cython.double[:, ::1] = scratch[2:]
    total: cython.double
    with cython.nogil:
        for ranker in range(r):
            if ranker == base:
                continue
            for i in range(c):
                total = 0.0
                for each in range(r):
                    total += chances[i, each]
                steps[0, i], steps[1, i] = chances[i, ranker] / total, chances[i, base] / total
            signs[ranker] = sign_of_sum(steps, c, odds)
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sign_of_sum(steps: cython.double[:, ::1], c: cython.Py_ssize_t, odds: cython.double[:, ::1]) -> cython.double:
    """The expected sign of a sum of `c` independent steps: 1 with probability `steps[0]`, -1 with `steps[1]`, else 0.

    The distribution of the sum is built step by step; `odds` has two rows of at least 2c + 3.
    """
    now: cython.Py_ssize_t = 0
    for k in range(2 * c + 3):
        odds[0, k] = odds[1, k] = 0.0
    odds[0, c + 1] = 1.0
    for i in range(c):
        up, down = steps[0, i], steps[1, i]
        for k in range(c - i, c + i + 3):
            odds[1 - now, k] = odds[now, k] * (1.0 - up - down) + odds[now, k - 1] * up + odds[now, k + 1] * down
        now = 1 - now
    sign: cython.double = 0.0
    for k in range(c):
        sign += odds[now, c + 2 + k] - odds[now, c - k]
    return sign
