"""Scores of a linear model, and the best few documents by score.

Both are written so that identical documents get identical scores: a matrix product from a linear algebra library
may round equal rows differently, and a tie that should be broken at random would then always fall the same way.
Sums run in eight lanes, which vectorises, and in the same way for every row and at every level of instructions.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.numbers import ConstFloat
from cython.cimports.libc.math import sqrt
from cython.cimports.libc.stdint import int64_t


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _add_lanes(lanes: cython.p_double) -> cython.double:
    """The sum of eight lanes."""
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _dot(a: ConstFloat[::1], b: ConstFloat[::1]) -> cython.double:
    """The sum of products of `a` and `b` (d,)."""
    lanes = cython.declare(cython.double[8])
    rest: cython.double = 0.0
    for lane in range(8):
        lanes[lane] = 0.0
    d = a.shape[0]
    whole = d - d % 8
    for j in range(0, whole, 8):
        for lane in range(8):
            lanes[lane] += a[j + lane] * b[j + lane]
    for j in range(whole, d):
        rest += a[j] * b[j]
    return _add_lanes(lanes) + rest


def linear_scores(features: ConstFloat[:, ::1], weights: ConstFloat[::1]):
    """`features @ weights` (n,), equal for equal rows."""
    result = np.empty(features.shape[0])
    scores: cython.double[::1] = result
    with cython.nogil:
        for i in range(features.shape[0]):
            scores[i] = _dot(features[i], weights)
    return result


def row_products(a: ConstFloat[:, ::1], b: ConstFloat[:, ::1]):
    """The sum of products (n,) of each row of `a` (n, d) with the same row of `b` (n, d)."""
    result = np.empty(a.shape[0])
    products: cython.double[::1] = result
    with cython.nogil:
        for i in range(a.shape[0]):
            products[i] = _dot(a[i], b[i])
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def score_duel(
    features: ConstFloat[:, ::1],
    weights: ConstFloat[::1],
    direction: ConstFloat[::1],
    step: cython.double,
    scores: cython.p_double,
    rival_scores: cython.p_double,
) -> cython.void:
    """Fill `scores` (n,) by `weights`, and `rival_scores` (n,) by `weights + step * direction`."""
    for i in range(features.shape[0]):
        scores[i] = _dot(features[i], weights)
        rival_scores[i] = scores[i] + step * _dot(features[i], direction)


def duel_scores(
    features: ConstFloat[:, ::1], weights: ConstFloat[::1], direction: ConstFloat[::1], step: cython.double
) -> tuple:
    """Scores (n,) by `weights`, and by `weights + step * direction`."""
    scores, rival_scores = np.empty(features.shape[0]), np.empty(features.shape[0])
    to: cython.double[::1] = scores
    rival_to: cython.double[::1] = rival_scores
    if features.shape[0] > 0:
        with cython.nogil:
            score_duel(features, weights, direction, step, cython.address(to[0]), cython.address(rival_to[0]))
    return scores, rival_scores


@cython.ccall
@cython.exceptval(check=False)
def scale_to_unit(vector: cython.double[::1]) -> cython.bint:
    """Divide `vector` (d,) by its length; False, and nothing done, where that is 0."""
    square: cython.double = 0.0
    for j in range(vector.shape[0]):
        square += vector[j] * vector[j]
    if square == 0.0:
        return False
    length = sqrt(square)
    for j in range(vector.shape[0]):
        vector[j] /= length
    return True


def bounded_scores(features: ConstFloat[:, ::1], weights: ConstFloat[::1], max_norm: cython.double):
    """`features @ weights` (n,) with every row of `features` shortened to a length of at most `max_norm`."""
    result = np.empty(features.shape[0])
    scores: cython.double[::1] = result
    total: cython.double
    squares: cython.double
    with cython.nogil:
        for i in range(features.shape[0]):
            total = _dot(features[i], weights)
            squares = _dot(features[i], features[i])
            if squares > max_norm * max_norm:
                total *= max_norm / sqrt(squares)
            scores[i] = total
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pick_top(
    scores: cython.p_const_double,
    keys: ConstFloat[::1],
    n: cython.Py_ssize_t,
    best: cython.pointer[int64_t],
    k: cython.Py_ssize_t,
) -> cython.void:
    """Fill `best` (k,) with the documents of highest `scores` (n,), as `top_documents` says; k is 1 to n."""
    filled: cython.Py_ssize_t = 0
    score: cython.double
    key: cython.double
    for i in range(n):
        score, key = scores[i], keys[i]
        at = filled
        if filled == k:
            last = best[at - 1]
            if score < scores[last] or (score == scores[last] and key >= keys[last]):
                continue
            at -= 1
        else:
            filled += 1
        while at > 0:
            above = best[at - 1]
            if scores[above] > score or (scores[above] == score and keys[above] <= key):
                break
            best[at] = above
            at -= 1
        best[at] = i


def top_documents(scores: ConstFloat[::1], keys: ConstFloat[::1], k: cython.Py_ssize_t):
    """The min(k, n) documents of highest `scores` (n,), best first; equal scores go by the smaller of `keys` (n,)."""
    n = scores.shape[0]
    result = np.empty(min(k, n), dtype=np.int64)
    best: int64_t[::1] = result
    if best.shape[0] > 0:
        with cython.nogil:
            pick_top(cython.address(scores[0]), keys, n, cython.address(best[0]), best.shape[0])
    return result
