"""Slow, obvious NDCG: by definition, and with ties by averaging over every order."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np


def dcg(grades, k):
    """Discounted cumulative gain of grades in shown order."""
    return sum((2.0**grade - 1.0) / np.log2(position + 1) for position, grade in enumerate(grades[:k], start=1))


def ndcg(shown, every, k):
    """DCG over the DCG of the best order of all candidates; 0 where nothing is relevant."""
    ideal = dcg(sorted(every, reverse=True), k)
    return dcg(shown, k) / ideal if ideal > 0 else 0.0


def expected_ndcg(scores, grades, k):
    """The mean NDCG over all orders that the scores allow (for a handful of documents)."""
    allowed = [
        order for order in permutations(range(len(scores))) if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]
    return float(np.mean([ndcg([grades[i] for i in order], grades, k) for order in allowed]))


def tied_dataset_ndcg(scores, grades, offsets, k):
    """A NumPy loop over queries, ties shared by level of score: what one would write without a kernel."""
    result = []
    for begin, end in pairwise(offsets):
        gains = np.exp2(grades[begin:end]) - 1.0
        discount = np.where(np.arange(end - begin) < k, 1.0 / np.log2(np.arange(2, end - begin + 2)), 0.0)
        _, level, size = np.unique(-scores[begin:end], return_inverse=True, return_counts=True)
        mean_gain = np.bincount(level, weights=gains) / size
        ideal = np.sort(gains)[::-1] @ discount
        result.append(np.repeat(mean_gain, size) @ discount / ideal if ideal > 0 else 0.0)
    return np.array(result)


def dataset_ndcg(scores, grades, offsets, k):
    """The same for scores without ties, simpler still."""
    result = []
    discount = 1.0 / np.log2(np.arange(2, k + 2))
    for begin, end in pairwise(offsets):
        gains = np.exp2(grades[begin:end]) - 1.0
        top = gains[np.argsort(-scores[begin:end], kind="stable")[:k]]
        best = np.sort(gains)[::-1][:k]
        ideal = best @ discount[: len(best)]
        result.append(top @ discount[: len(top)] / ideal if ideal > 0 else 0.0)
    return np.array(result)
