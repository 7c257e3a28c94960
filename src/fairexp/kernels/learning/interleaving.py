"""Ranked lists of several rankers mixed into one, and what the clicks on the mix say about the rankers.

The lists of r rankers are given as their scores (r, n) of the same documents. Minus infinity means that a document is
not on a ranker's list. Equal scores go by the smaller of random keys, alike for all rankers.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.learning.linear import pick_top
from cython.cimports.fairexp.kernels.numbers import ConstFloat, ConstInt
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
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _above(
    scores: ConstFloat[::1], keys: ConstFloat[::1], one: cython.Py_ssize_t, other: cython.Py_ssize_t
) -> cython.bint:
    """Whether document `one` stands above `other` on the list by `scores` (n,)."""
    higher: cython.int = scores[one] > scores[other]
    equal: cython.int = scores[one] == scores[other]
    earlier: cython.int = keys[one] < keys[other]
    alike: cython.int = keys[one] == keys[other]
    first: cython.int = one < other
    return higher | (equal & (earlier | (alike & first)))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _walk(
    scores: ConstFloat[::1],
    keys: ConstFloat[::1],
    used: cython.p_char,
    power: cython.double,
    target: cython.double,
) -> cython.Py_ssize_t:
    """The document, from the top of the list down, at which 1/rank^power of those left add up to more than `target`."""
    reached: cython.double = 0.0
    last: cython.Py_ssize_t = -1
    found: cython.Py_ssize_t = -1
    best: cython.Py_ssize_t
    for rank in range(scores.shape[0]):
        best = -1
        for d in range(scores.shape[0]):
            if (last < 0 or _above(scores, keys, last, d)) and (best < 0 or _above(scores, keys, d, best)):
                best = d
        if best < 0 or scores[best] == -INFINITY:
            break
        last = best
        if not used[best]:
            found = best
            reached += pow(rank + 1.0, -power)
            if reached > target:
                break
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _place(
    document: cython.Py_ssize_t,
    scores: ConstFloat[:, ::1],
    keys: ConstFloat[::1],
    power: cython.double,
    rest: cython.p_double,
    left: cython.pointer[int64_t],
    chances: cython.double[::1],
) -> cython.void:
    """Take `document` off all lists, of which `rest` and `left` (r,) tell; `chances` (r,) that each ranker draws it."""
    for ranker in range(scores.shape[0]):
        chances[ranker] = 0.0
        if scores[ranker, document] == -INFINITY:
            continue
        rank: cython.Py_ssize_t = 1
        for other in range(scores.shape[1]):
            rank += _above(scores[ranker], keys, other, document)
        share = pow(rank, -power)
        chances[ranker] = 1.0 if left[ranker] == 1 else min(share / rest[ranker], 1.0)
        rest[ranker] = max(rest[ranker] - share, 0.0)
        left[ranker] -= 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin(
    scores: ConstFloat[:, ::1], power: cython.double, rest: cython.p_double, left: cython.pointer[int64_t]
) -> cython.void:
    """Of each list the sum `rest` (r,) of 1/rank^power, and the number `left` (r,) of documents."""
    for ranker in range(scores.shape[0]):
        rest[ranker], left[ranker] = 0.0, 0
        for d in range(scores.shape[1]):
            left[ranker] += scores[ranker, d] > -INFINITY
        for rank in range(left[ranker], 0, -1):
            rest[ranker] += pow(rank, -power)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _draw(
    scores: ConstFloat[:, ::1],
    keys: ConstFloat[::1],
    uniform: cython.double,
    power: cython.double,
    rest: cython.p_double,
    left: cython.pointer[int64_t],
    used: cython.p_char,
) -> cython.Py_ssize_t:
    """A ranker by lot among those whose lists have documents left, and of that a document by 1/rank^power."""
    active: cython.Py_ssize_t = 0
    ranker: cython.Py_ssize_t
    chosen: cython.Py_ssize_t
    for ranker in range(scores.shape[0]):
        active += left[ranker] > 0
    part: cython.double = uniform * active
    chosen = min(cython.cast(cython.Py_ssize_t, part), active - 1)
    part -= chosen
    ranker = 0
    while chosen > 0 or left[ranker] == 0:
        if left[ranker] > 0:
            chosen -= 1
        ranker += 1
    return _walk(scores[ranker], keys, used, power, part * rest[ranker])


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
    r, n, m = scores.shape[0], scores.shape[1], shown.shape[0]
    rest = cython.cast(cython.p_double, calloc(r * (cython.sizeof(cython.double) + cython.sizeof(int64_t)) + n, 1))
    if rest == cython.NULL:
        raise MemoryError
    with cython.nogil:
        left = cython.cast(cython.pointer[int64_t], rest + r)
        used = cython.cast(cython.p_char, left + r)
        _begin(scores, power, rest, left)
        for at in range(m):
            document = _draw(scores, keys, uniforms[at], power, rest, left, used)
            _place(document, scores, keys, power, rest, left, chances[at])
            shown[at] = document
            used[document] = True
        free(rest)


def replay(
    scores: ConstFloat[:, ::1],
    keys: ConstFloat[::1],
    shown: ConstInt[::1],
    power: cython.double,
    chances: cython.double[:, ::1],
) -> None:
    """Fills `chances` (m, r) as `draw` does, for documents `shown` (m,) that others have chosen."""
    r, m = scores.shape[0], shown.shape[0]
    rest = cython.cast(cython.p_double, calloc(r, cython.sizeof(cython.double) + cython.sizeof(int64_t)))
    if rest == cython.NULL:
        raise MemoryError
    with cython.nogil:
        left = cython.cast(cython.pointer[int64_t], rest + r)
        _begin(scores, power, rest, left)
        for at in range(m):
            _place(shown[at], scores, keys, power, rest, left, chances[at])
        free(rest)


def expected_signs(chances: ConstFloat[:, ::1], base: cython.Py_ssize_t):
    """Of each ranker (r,): P(more clicks are its than ranker `base`'s) - P(fewer are), over who placed what.

    `chances` (c, r) are those with which each ranker would have placed the clicked documents. Given the list, who
    placed one document does not depend on who placed another: the difference is a sum of independent steps of 1 (its),
    -1 (the base's) and 0, and its distribution is built step by step.
    """
    c, r = chances.shape[0], chances.shape[1]
    result = np.zeros(r)
    signs: cython.double[::1] = result
    odds = cython.cast(cython.p_double, calloc(2 * (2 * c + 3), cython.sizeof(cython.double)))
    if odds == cython.NULL:
        raise MemoryError
    with cython.nogil:
        for ranker in range(r):
            if ranker != base:
                signs[ranker] = _expected_sign(chances, ranker, base, odds + 1, odds + 2 * c + 4)
        free(odds)
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _expected_sign(
    chances: ConstFloat[:, ::1],
    ranker: cython.Py_ssize_t,
    base: cython.Py_ssize_t,
    odds: cython.p_double,
    after: cython.p_double,
) -> cython.double:
    """`expected_signs` of one ranker; `odds` and `after` have room for -1 to 2c + 1."""
    c = chances.shape[0]
    total: cython.double
    for k in range(-1, 2 * c + 2):
        odds[k] = after[k] = 0.0
    odds[c] = 1.0
    for i in range(c):
        total = 0.0
        for each in range(chances.shape[1]):
            total += chances[i, each]
        up, down = chances[i, ranker] / total, chances[i, base] / total
        for k in range(c - i - 1, c + i + 2):
            after[k] = odds[k] * (1.0 - up - down) + odds[k - 1] * up + odds[k + 1] * down
        odds, after = after, odds
    sign: cython.double = 0.0
    for k in range(c):
        sign += odds[c + 1 + k] - odds[c - 1 - k]
    return sign
