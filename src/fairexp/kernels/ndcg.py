"""NDCG of many queries in one pass, with the expectation over random orders of equal scores.

Symbols: `gain[g]` = 2^g - 1, `discount[p]` = 1 / log2(p + 2) for p = 0, 1, ...; a group of n equal scores that takes
positions a .. a+n-1 contributes its mean gain times the sum of those of its discounts that lie within the top k
(McSherry and Najork, ECIR 2008).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

INSERTION_LIMIT = 48
"""Up to this k a sorted buffer of the k best beats sorting the whole query."""


@njit(cache=True)
def _top_scores(scores: NDArray[np.float64], k: int, top: NDArray[np.float64]) -> int:
    """Fill `top` with the min(k, n) largest scores, descending; returns how many."""
    n = len(scores)
    if k > INSERTION_LIMIT:
        ordered = np.sort(scores)
        filled = min(k, n)
        for position in range(filled):
            top[position] = ordered[n - 1 - position]
        return filled
    filled = 0
    for document in range(n):
        score = scores[document]
        if filled == k and score <= top[k - 1]:
            continue
        position = filled if filled < k else k - 1
        while position > 0 and top[position - 1] < score:
            top[position] = top[position - 1]
            position -= 1
        top[position] = score
        if filled < k:
            filled += 1
    return filled


@njit(cache=True)
def _level_of(score: float, levels: NDArray[np.float64], n_levels: int) -> int:
    """The index of `score` in the first `n_levels` of the descending `levels`, which hold it."""
    low, high = 0, n_levels - 1
    while low < high:
        middle = (low + high) // 2
        if levels[middle] > score:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def _expected_dcg(
    scores: NDArray[np.float64],
    grades: NDArray[np.int64],
    gain: NDArray[np.float64],
    discount: NDArray[np.float64],
    levels: NDArray[np.float64],
    sums: NDArray[np.float64],
    sizes: NDArray[np.int64],
) -> float:
    """DCG of one query; `levels`, `sums` and `sizes` (k,) are scratch."""
    k = discount.shape[0]
    filled = _top_scores(scores, k, levels)
    threshold = levels[filled - 1]
    n_levels = 0
    for position in range(filled):  # keep each distinct score once
        if position == 0 or levels[position] != levels[n_levels - 1]:
            levels[n_levels] = levels[position]
            sums[n_levels] = 0.0
            sizes[n_levels] = 0
            n_levels += 1
    for document in range(scores.shape[0]):
        if scores[document] >= threshold:
            level = _level_of(scores[document], levels, n_levels)
            sums[level] += gain[grades[document]]
            sizes[level] += 1
    dcg = 0.0
    begin = 0
    for level in range(n_levels):
        end = begin + sizes[level]
        shared = 0.0
        for position in range(begin, min(end, k)):
            shared += discount[position]
        dcg += shared * sums[level] / sizes[level]
        begin = end
    return dcg


@njit(cache=True)
def _ideal_dcg(
    grades: NDArray[np.int64], gain: NDArray[np.float64], discount: NDArray[np.float64], counts: NDArray[np.int64]
) -> float:
    """DCG of one query in the best order; `counts` (n_grades,) is scratch."""
    counts[:] = 0
    for grade in grades:
        counts[grade] += 1
    dcg = 0.0
    position = 0
    for grade in range(counts.shape[0] - 1, 0, -1):
        for _ in range(counts[grade]):
            if position == discount.shape[0]:
                return dcg
            dcg += gain[grade] * discount[position]
            position += 1
    return dcg


@njit(cache=True)
def ndcg_by_query(
    scores: NDArray[np.float64],
    grades: NDArray[np.int64],
    offsets: NDArray[np.int64],
    gain: NDArray[np.float64],
    discount: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Expected NDCG (Q,) of queries `offsets` (Q + 1,) over `scores` and `grades` (N,); 0 where nothing is relevant."""
    n_queries = offsets.shape[0] - 1
    k = discount.shape[0]
    levels = np.empty(k)
    sums = np.empty(k)
    sizes = np.empty(k, dtype=np.int64)
    counts = np.empty(gain.shape[0], dtype=np.int64)
    result = np.zeros(n_queries)
    for query in range(n_queries):
        begin, end = offsets[query], offsets[query + 1]
        ideal = _ideal_dcg(grades[begin:end], gain, discount, counts)
        if ideal > 0.0:
            dcg = _expected_dcg(scores[begin:end], grades[begin:end], gain, discount, levels, sums, sizes)
            result[query] = min(1.0, dcg / ideal)  # beyond 1 by rounding only
    return result
