"""Normalised discounted cumulative gain: of one shown ranking, of a whole data set, and over an online run."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.kernels.measures.ndcg import ndcg_by_query
from fairexp.lab.metrics.grades import as_grades
from fairexp.validation import check_count, check_number

GAMMA = 0.9995
"""What each round of an online run counts for, relative to the one before; as in Oosterhuis and de Rijke, CIKM 2018."""


def ndcg(shown_relevance: ArrayLike, all_relevance: ArrayLike, *, k: int = 10) -> float:
    """NDCG@k of one ranking: sum over its first k positions p of (2^rel - 1) / log2(p + 1), over the best such sum.

    `shown_relevance` (m,) are the grades from the top position down, `all_relevance` (n,) those of every candidate of
    the query: the ideal is over all of them. 0 where no candidate is relevant.

    Jarvelin and Kekalainen, TOIS 2002; gains as in Burges et al., ICML 2005.

    >>> round(ndcg([3, 2, 3, 0, 1, 2], [3, 2, 3, 0, 1, 2], k=6), 5)
    0.94881
    """
    shown = as_grades(shown_relevance, name="shown_relevance")
    every = as_grades(all_relevance, name="all_relevance")
    n_grades = int(max(shown.max(initial=0), every.max(initial=0))) + 1
    if (np.bincount(shown, minlength=n_grades) > np.bincount(every, minlength=n_grades)).any():
        given = f"{every.tolist()} where {shown.tolist()} are shown"
        raise ArgumentError("all_relevance", given, "the grades of all candidates, shown or not")
    discount = discounts(check_count("k", k))
    ideal = _dcg(-np.sort(-every), discount)
    return _dcg(shown, discount) / ideal if ideal > 0 else 0.0


def dataset_ndcg(scores: ArrayLike, grades: ArrayLike, offsets: ArrayLike, *, k: int = 10) -> Floats:
    """NDCG@k (Q,) of each query when its documents are ranked by `scores` (N,), the highest first.

    `grades` (N,) are the documents' relevance; the documents of query q are rows `offsets[q]` to `offsets[q + 1]`.
    Documents with equal scores share the discounts of the positions that they take together: the result is exactly the
    expected NDCG when ties are broken at random (McSherry and Najork, ECIR 2008). 0 where no document is relevant.

    >>> dataset_ndcg([1.0, 1.0, 0.5, 2.0], [1, 0, 0, 2], [0, 2, 4]).round(4).tolist()
    [0.8155, 1.0]
    """
    checked = as_grades(grades, name="grades")
    given = np.asarray(scores)
    if given.shape != checked.shape or given.dtype.kind not in "iuf":
        received = f"shape {given.shape} and dtype {given.dtype}"
        raise ArgumentError("scores", received, f"shape {checked.shape} of numbers, one per document")
    values = np.ascontiguousarray(given, dtype=np.float64)
    if np.isnan(values).any():
        raise ArgumentError("scores", f"NaN at index {int(np.isnan(values).argmax())}", "numbers")
    gain = np.exp2(np.arange(int(checked.max(initial=0)) + 1)) - 1.0
    return np.asarray(ndcg_by_query(values, checked, _as_offsets(offsets, len(checked)), gain, discounts(k)))


def discounted(values: ArrayLike, *, gamma: float = GAMMA) -> Floats:
    """Discounted cumulative performance (T,) of an online run: after round t, sum over s <= t of gamma^(s-1) values[s].

    Hofmann et al., Information Retrieval 16, 2013.

    >>> discounted([1.0, 0.5, 1.0], gamma=0.5).tolist()
    [1.0, 1.25, 1.5]
    """
    if not 0 < check_number("gamma", gamma) <= 1:
        raise ArgumentError("gamma", gamma, "a number above 0 and at most 1")
    given = np.asarray(values, dtype=np.float64)
    if given.ndim != 1:
        raise ArgumentError("values", f"shape {given.shape}", "one value per round (T,)")
    return np.cumsum(given * gamma ** np.arange(len(given)))


def total_discount(last: int, *, first: int = 0, gamma: float = GAMMA) -> float:
    """What rounds `first` + 1 to `last` count for together: `discounted` performance over this is their mean.

    >>> total_discount(3, gamma=0.5), total_discount(3, first=1, gamma=0.5)
    (1.75, 0.75)
    """
    return float((gamma**first - gamma**last) / (1 - gamma))


def discounts(k: int) -> Floats:
    """1 / log2(p + 1) for positions p = 1..k, (k,)."""
    return 1.0 / np.log2(np.arange(2, check_count("k", k) + 2))


def _dcg(grades: Ints, discount: Floats) -> float:
    top = grades[: len(discount)]
    return float((np.exp2(top) - 1.0) @ discount[: len(top)])


def _as_offsets(offsets: ArrayLike, n_documents: int) -> Ints:
    given = np.asarray(offsets)
    if given.ndim != 1 or given.dtype.kind not in "iu" or given.size == 0:
        raise ArgumentError("offsets", f"shape {given.shape} and dtype {given.dtype}", "whole numbers (Q + 1,)")
    starts = np.ascontiguousarray(given, dtype=np.int64)
    if starts[0] != 0 or starts[-1] != n_documents or (np.diff(starts) < 0).any():
        given_ends = f"numbers from {starts[0]} to {starts[-1]}"
        raise ArgumentError("offsets", given_ends, f"numbers that rise from 0 to {n_documents}, the documents")
    return starts
