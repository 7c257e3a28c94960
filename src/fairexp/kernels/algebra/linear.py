"""Scores of a linear model, and the best few documents by score.

Both are written so that identical documents get identical scores: a matrix product from a linear algebra library
may round equal rows differently, and a tie that should be broken at random would then always fall the same way.
Sums run in eight lanes, which vectorises, and in the same way for every row and at every level of instructions.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.algebra.lanes import add_four_rows, add_two_rows
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
def _row(matrix: ConstFloat[:, ::1], i: cython.Py_ssize_t) -> cython.p_const_double:
    """Where row i begins; a view of each row would cost as much as its sum."""
    return cython.address(matrix[i, 0]) if matrix.shape[1] > 0 else cython.NULL


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _begin(vector: ConstFloat[::1]) -> cython.p_const_double:
    """Where `vector` begins."""
    return cython.address(vector[0]) if vector.shape[0] > 0 else cython.NULL


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _dot(a: cython.p_const_double, b: cython.p_const_double, d: cython.Py_ssize_t) -> cython.double:
    """The sum of products of `a` and `b` (d,)."""
    lanes = cython.declare(cython.double[8])
    rest: cython.double = 0.0
    for lane in range(8):
        lanes[lane] = 0.0
    whole = d - d % 8
    for j in range(0, whole, 8):
        for lane in range(8):
            lanes[lane] += a[j + lane] * b[j + lane]
    for j in range(whole, d):
        rest += a[j] * b[j]
    return _add_lanes(lanes) + rest


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _two_dots(
    a0: cython.p_const_double,
    b0: cython.p_const_double,
    a1: cython.p_const_double,
    b1: cython.p_const_double,
    c: cython.p_const_double,
    d: cython.Py_ssize_t,
    sums: cython.p_double,
) -> cython.void:
    """Put `_dot` of `a0` and `c`, `a0` and `b0`, `a1` and `c`, `a1` and `b1` (d,) into `sums` (4,)."""
    lanes = cython.declare(cython.double[32])
    rest = cython.declare(cython.double[4])
    rest[0] = rest[1] = rest[2] = rest[3] = 0.0
    whole = d - d % 8
    add_two_rows(a0, b0, a1, b1, c, whole, lanes)
    for j in range(whole, d):
        rest[0] += a0[j] * c[j]
        rest[1] += a0[j] * b0[j]
        rest[2] += a1[j] * c[j]
        rest[3] += a1[j] * b1[j]
    for k in range(4):
        sums[k] = _add_lanes(lanes + 8 * k) + rest[k]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def score_rows(
    features: ConstFloat[:, ::1],
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    weights: cython.p_const_double,
    d: cython.Py_ssize_t,
    scores: cython.p_double,
) -> cython.void:
    """Fill `scores` (end - first,) with `_dot` of each of those rows and `weights` (d,), four rows in one pass."""
    lanes = cython.declare(cython.double[32])
    rows = cython.declare(cython.p_const_double[4])
    rest: cython.double
    whole = d - d % 8
    for top in range(first, end, 4):
        for k in range(4):
            rows[k] = _row(features, min(top + k, end - 1))  # the last row once more where fewer are left
        add_four_rows(rows[0], rows[1], rows[2], rows[3], weights, whole, lanes)
        for k in range(min(4, end - top)):
            rest = 0.0
            for j in range(whole, d):
                rest += rows[k][j] * weights[j]
            scores[top - first + k] = _add_lanes(lanes + 8 * k) + rest


def linear_scores(features: ConstFloat[:, ::1], weights: ConstFloat[::1]):
    """`features @ weights` (n,), equal for equal rows."""
    n, d = features.shape[0], features.shape[1]
    result = np.empty(n)
    scores: cython.double[::1] = result
    with cython.nogil:
        if n > 0:
            score_rows(features, 0, n, _begin(weights), d, cython.address(scores[0]))
    return result


def row_products(a: ConstFloat[:, ::1], b: ConstFloat[:, ::1]):
    """The sum of products (n,) of each row of `a` (n, d) with the same row of `b` (n, d)."""
    result = np.empty(a.shape[0])
    products: cython.double[::1] = result
    with cython.nogil:
        for i in range(a.shape[0]):
            products[i] = _dot(_row(a, i), _row(b, i), a.shape[1])
    return result


def rival_scores(
    features: ConstFloat[:, ::1], weights: ConstFloat[::1], directions: ConstFloat[:, ::1], step: cython.double
):
    """Scores (1 + c, n) by `weights`, and by `weights + step * direction` for each of `directions` (c, d)."""
    n, d, c = features.shape[0], features.shape[1], directions.shape[0]
    result = np.empty((1 + c, n))
    scores: cython.double[:, ::1] = result
    with cython.nogil:
        for top in range(0, n, 16):  # so that their features stay in the nearest memory while all models score them
            end = min(top + 16, n)
            for model in range(1 + c):
                weighing = _begin(weights) if model == 0 else _row(directions, model - 1)
                score_rows(features, top, end, weighing, d, cython.address(scores[model, top]))
            for model in range(1, 1 + c):
                for i in range(top, end):
                    scores[model, i] = scores[0, i] + step * scores[model, i]
    return result


def scale_to_unit(vectors: cython.double[:, ::1]) -> None:
    """Divide each of `vectors` (c, d) by its length; one of length 0 stays as it is."""
    square: cython.double
    for i in range(vectors.shape[0]):
        square = 0.0
        for j in range(vectors.shape[1]):
            square += vectors[i, j] * vectors[i, j]
        if square > 0.0:
            length = sqrt(square)
            for j in range(vectors.shape[1]):
                vectors[i, j] /= length


def project(direction: ConstFloat[::1], documents: ConstFloat[:, ::1], smallest: cython.double):
    """`direction` (d,) projected onto the span of `documents` (m, d).

    Rows are made orthogonal to those before them, twice, because rounding leaves something the first time. One of which
    less than `smallest` times the longest row's length is left adds nothing to the span.
    """
    m, d = documents.shape[0], documents.shape[1]
    basis: cython.double[:, ::1] = np.array(documents)
    result = np.zeros(d)
    projected: cython.double[::1] = result
    longest: cython.double = 0.0
    along: cython.double
    length: cython.double
    with cython.nogil:
        for i in range(m):
            longest = max(longest, sqrt(_dot(_row(basis, i), _row(basis, i), d)))
        for i in range(m):
            for _ in range(2):
                for before in range(i):
                    along = _dot(_row(basis, i), _row(basis, before), d)
                    for j in range(d):
                        basis[i, j] -= along * basis[before, j]
            length = sqrt(_dot(_row(basis, i), _row(basis, i), d))
            length = 1.0 / length if length > smallest * longest else 0.0
            for j in range(d):
                basis[i, j] *= length
            along = _dot(_begin(direction), _row(basis, i), d)
            for j in range(d):
                projected[j] += along * basis[i, j]
    return result


def bounded_scores(features: ConstFloat[:, ::1], weights: ConstFloat[::1], max_norm: cython.double):
    """`features @ weights` (n,) with every row of `features` shortened to a length of at most `max_norm`."""
    n, d = features.shape[0], features.shape[1]
    result = np.empty(n)
    scores: cython.double[::1] = result
    squares = cython.declare(cython.double[64])
    sums = cython.declare(cython.double[4])
    with cython.nogil:
        for top in range(0, n, 64):
            end = min(top + 64, n)
            for i in range(top, end, 2):
                other = min(i + 1, end - 1)
                row, next_row = _row(features, i), _row(features, other)
                _two_dots(row, row, next_row, next_row, _begin(weights), d, sums)
                scores[i], squares[i - top] = sums[0], sums[1]
                scores[other], squares[other - top] = sums[2], sums[3]
            for i in range(top, end):  # apart, because no row's sums should wait for a root
                if squares[i - top] > max_norm * max_norm:
                    scores[i] *= max_norm / sqrt(squares[i - top])
    return result


def shorten(features: ConstFloat[:, ::1], max_norm: cython.double):
    """`features` (n, d) with every row shortened to a length of at most `max_norm`; None where no row is longer."""
    n, d = features.shape[0], features.shape[1]
    factors: cython.double[::1] = np.empty(n)
    is_longer: cython.bint = False
    with cython.nogil:
        for i in range(n):
            length = sqrt(_dot(_row(features, i), _row(features, i), d))
            factors[i] = max_norm / length if length > max_norm else 1.0
            is_longer = is_longer or length > max_norm
    if not is_longer:
        return None
    result = np.empty((n, d))
    shorter: cython.double[:, ::1] = result
    with cython.nogil:
        for i in range(n):
            for j in range(d):
                shorter[i, j] = features[i, j] * factors[i]
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
