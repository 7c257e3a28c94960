"""NDCG of many queries in one pass, with the expectation over random orders of equal scores.

Symbols: `gain[g]` = 2^g - 1, `discount[p]` = 1 / log2(p + 2) for p = 0, 1, ...; a group of n equal scores that takes
positions a .. a+n-1 contributes its mean gain times the sum of those of its discounts that lie within the top k
(McSherry and Najork, ECIR 2008).

Loops run over indices: the compiler vectorises those, and not loops over the elements of an array.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairexp.kernels.compiling import kernel

LANES = 16
"""Candidates are padded to a multiple of this, so that vectorised loops over them leave no remainder."""

COUNTING_LIMIT = 400
"""Up to this many candidates, comparing all with all (which vectorises) beats sorting them."""


@kernel
def _gather(scores: NDArray[np.float64], k: int, who: NDArray[np.int64], values: NDArray[np.float64]) -> int:
    """Fill `who` and `values` (n + LANES,) with documents that include all that can be in the top k; returns how many.

    The smallest of k maxima over disjoint parts of the query is a lower bound on the k-th largest score. Finding it and
    what is not below it takes no branch that depends on scores: a mispredicted one would cost as much as ten documents.
    """
    n = len(scores)
    size = n // k
    bound = np.inf if size > 1 else -np.inf
    for part in range(k if size > 1 else 0):
        largest = scores[part * size]
        for document in range(part * size + 1, (part + 1) * size):
            largest = scores[document] if scores[document] > largest else largest
        bound = largest if largest < bound else bound
    n_found = 0
    for document in range(n):
        who[n_found] = document
        values[n_found] = scores[document]
        n_found += scores[document] >= bound
    values[n_found : n_found + LANES] = np.nan  # neither above nor equal to anything
    return n_found


@kernel
def _expected_dcg(
    n: int,
    values: NDArray[np.float64],
    who: NDArray[np.int64],
    grades: NDArray[np.int64],
    gain: NDArray[np.float64],
    discount_sums: NDArray[np.float64],
) -> float:
    """DCG of the first n candidates, with scores `values`: `above` are better, `tied` are equal, itself included."""
    k = len(discount_sums) - 1
    padded = (n + LANES - 1) // LANES * LANES
    ascending = np.sort(values[:n]) if n > COUNTING_LIMIT else values
    dcg = 0.0
    for candidate in range(n):
        score = values[candidate]
        above, tied = 0, 0
        if n > COUNTING_LIMIT:
            first_above = np.searchsorted(ascending, score, side="right")
            above = n - first_above
            tied = first_above - np.searchsorted(ascending, score, side="left")
        else:
            for other in range(padded):
                above += values[other] > score
                tied += values[other] == score
        shared = discount_sums[min(k, above + tied)] - discount_sums[min(k, above)]
        dcg += gain[grades[who[candidate]]] * shared / tied
    return dcg


@kernel
def _ideal_dcg(grades: NDArray[np.int64], gain: NDArray[np.float64], discount: NDArray[np.float64]) -> float:
    """DCG of one query in the best order; grades are few, so counting each in turn beats sorting."""
    dcg = 0.0
    position = 0
    for grade in range(len(gain) - 1, 0, -1):
        count = 0
        for document in range(len(grades)):
            count += grades[document] == grade
        for _ in range(min(count, len(discount) - position)):
            dcg += gain[grade] * discount[position]
            position += 1
        if position == len(discount):
            break
    return dcg


@kernel
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
    discount_sums = np.zeros(k + 1)
    discount_sums[1:] = np.cumsum(discount)
    who = np.empty(len(scores) + LANES, dtype=np.int64)
    values = np.empty(len(scores) + LANES)
    result = np.zeros(n_queries)
    for query in range(n_queries):
        begin, end = offsets[query], offsets[query + 1]
        ideal = _ideal_dcg(grades[begin:end], gain, discount)
        if ideal > 0.0:
            n = _gather(scores[begin:end], k, who, values)
            dcg = _expected_dcg(n, values, who, grades[begin:end], gain, discount_sums)
            result[query] = min(1.0, dcg / ideal)  # beyond 1 by rounding only
    return result
