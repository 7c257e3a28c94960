"""NDCG of many queries in one pass, with the expectation over random orders of equal scores.

Symbols: `gain[g]` = 2^g - 1, `discount[p]` = 1 / log2(p + 2) for p = 0, 1, ...; a group of n equal scores that takes
positions a .. a+n-1 contributes its mean gain times the sum of those of its discounts that lie within the top k
(McSherry and Najork, ECIR 2008).
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.numbers import ConstFloat, ConstInt
from cython.cimports.libc.math import INFINITY, NAN
from cython.cimports.libc.stdint import int64_t
from cython.cimports.libc.stdlib import qsort

COUNTING_LIMIT = 400
"""Up to this many candidates, comparing all with all (which vectorises) beats sorting them."""

_COUNTING_LIMIT = cython.declare(cython.Py_ssize_t, COUNTING_LIMIT)
_LANES = cython.declare(cython.Py_ssize_t, 16)
"""Candidates are padded to a multiple of this, so that vectorised loops over them leave no remainder."""


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _gather(
    scores: ConstFloat[::1], k: cython.Py_ssize_t, who: int64_t[::1], values: cython.double[::1]
) -> cython.Py_ssize_t:
    """Fill `who` and `values` (n + LANES,) with documents that include all that can be in the top k; returns how many.

    The smallest of k maxima over disjoint parts of the query is a lower bound on the k-th largest score. Finding it and
    what is not below it takes no branch that depends on scores: a mispredicted one would cost as much as ten documents.
    """
    n = scores.shape[0]
    size = n // k
    bound: cython.double = INFINITY if size > 1 else -INFINITY
    largest: cython.double
    for part in range(k if size > 1 else 0):
        largest = scores[part * size]
        for document in range(part * size + 1, (part + 1) * size):
            largest = max(scores[document], largest)
        bound = min(largest, bound)
    n_found: cython.Py_ssize_t = 0
    for document in range(n):
        who[n_found] = document
        values[n_found] = scores[document]
        n_found += scores[document] >= bound
    for lane in range(_LANES):
        values[n_found + lane] = NAN  # neither above nor equal to anything
    return n_found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _by_value(a: cython.pointer[cython.const[cython.void]], b: cython.pointer[cython.const[cython.void]]) -> cython.int:
    """The order in which `qsort` puts numbers."""
    x, y = cython.cast(cython.p_const_double, a)[0], cython.cast(cython.p_const_double, b)[0]
    return (x > y) - (x < y)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_below(
    ascending: cython.double[::1], n: cython.Py_ssize_t, score: cython.double, equal: cython.bint
) -> cython.Py_ssize_t:
    """How many of the first n are below `score`, or at most `score` if `equal`."""
    low: cython.Py_ssize_t = 0
    high = n
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < score or (equal and ascending[middle] == score):
            low = middle + 1
        else:
            high = middle
    return low


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _expected_dcg(
    n: cython.Py_ssize_t,
    values: cython.double[::1],
    who: int64_t[::1],
    ascending: cython.double[::1],
    grades: ConstInt[::1],
    gain: ConstFloat[::1],
    discount_sums: cython.double[::1],
) -> cython.double:
    """DCG of the first n candidates, with scores `values`: `above` are better, `tied` are equal, itself included."""
    k = discount_sums.shape[0] - 1
    padded = (n + _LANES - 1) // _LANES * _LANES
    n_sorted: cython.Py_ssize_t = 0
    lowest: cython.double = INFINITY
    if n > _COUNTING_LIMIT:
        for candidate in range(n):
            lowest = min(lowest, values[candidate])
        for candidate in range(n):  # ties at the lowest need no sorting, and large ones are there
            ascending[n_sorted] = values[candidate]
            n_sorted += values[candidate] > lowest
        if n_sorted > 1:
            qsort(cython.address(ascending[0]), n_sorted, cython.sizeof(cython.double), _by_value)
    dcg: cython.double = 0.0
    above: int64_t
    tied: int64_t
    for candidate in range(n):
        score = values[candidate]
        above = tied = 0
        if n <= _COUNTING_LIMIT:
            for other in range(padded):
                above += values[other] > score
                tied += values[other] == score
        elif score == lowest:
            above, tied = n_sorted, n - n_sorted
        else:
            above = n_sorted - _count_below(ascending, n_sorted, score, True)
            tied = n_sorted - above - _count_below(ascending, n_sorted, score, False)
        shared = discount_sums[min(k, above + tied)] - discount_sums[min(k, above)]
        dcg += gain[grades[who[candidate]]] * shared / tied
    return dcg


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _ideal_dcg(grades: ConstInt[::1], gain: ConstFloat[::1], discount: ConstFloat[::1]) -> cython.double:
    """DCG of one query in the best order; grades are few, so counting each in turn beats sorting."""
    dcg: cython.double = 0.0
    position: cython.Py_ssize_t = 0
    count: int64_t
    for grade in range(gain.shape[0] - 1, 0, -1):
        count = 0
        for document in range(grades.shape[0]):
            count += grades[document] == grade
        for _ in range(min(count, discount.shape[0] - position)):
            dcg += gain[grade] * discount[position]
            position += 1
        if position == discount.shape[0]:
            break
    return dcg


def ndcg_by_query(
    scores: ConstFloat[::1],
    grades: ConstInt[::1],
    offsets: ConstInt[::1],
    gain: ConstFloat[::1],
    discount: ConstFloat[::1],
):
    """Expected NDCG (Q,) of queries `offsets` (Q + 1,) over `scores` and `grades` (N,); 0 where nothing is relevant."""
    k = discount.shape[0]
    most: int64_t = 0
    for query in range(offsets.shape[0] - 1):
        most = max(most, offsets[query + 1] - offsets[query])
    discount_sums: cython.double[::1] = np.zeros(k + 1)
    for p in range(k):
        discount_sums[p + 1] = discount_sums[p] + discount[p]
    who: int64_t[::1] = np.empty(most + _LANES, dtype=np.int64)
    values: cython.double[::1] = np.empty(most + _LANES)
    ascending: cython.double[::1] = np.empty(most)
    result = np.zeros(offsets.shape[0] - 1)
    ndcg: cython.double[::1] = result
    begin: cython.Py_ssize_t
    end: cython.Py_ssize_t
    with cython.nogil:
        for query in range(ndcg.shape[0]):
            begin, end = offsets[query], offsets[query + 1]
            ideal = _ideal_dcg(grades[begin:end], gain, discount)
            if ideal > 0.0:
                n = _gather(scores[begin:end], k, who, values)
                dcg = _expected_dcg(n, values, who, ascending, grades[begin:end], gain, discount_sums)
                ndcg[query] = min(1.0, dcg / ideal)  # beyond 1 by rounding only
    return result
