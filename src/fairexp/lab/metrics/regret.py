"""Pairwise regret against the truth: how many pairs of documents stand in the wrong order."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairexp.errors import ArgumentError
from fairexp.kernels.measures.misordered import count_misordered
from fairexp.lab.metrics.grades import as_grades


def misordered_pairs(shown: ArrayLike, relevance: ArrayLike) -> int:
    """Pairs (i, j) with grade i > grade j where j stands above i.

    `shown` (m,) are document indices from the top position down, `relevance` (n,) the grades of all candidates.
    Documents that are not shown stand below all that is shown, and in no order among themselves. This is the regret of
    one round in Jia, Wang, Guo and Wang, "PairRank", WWW 2021.

    >>> misordered_pairs([1, 0], [2, 0, 1])  # document 1 above 0 and above 2, which is left out
    2
    """
    grades = as_grades(relevance)
    documents = np.asarray(shown)
    if documents.ndim != 1 or (documents.size and documents.dtype.kind not in "iu"):
        raise ArgumentError("shown", f"shape {documents.shape}, dtype {documents.dtype}", "document indices (m,)")
    if documents.size and not 0 <= documents.min() <= documents.max() < len(grades):
        bad = documents.min() if documents.min() < 0 else documents.max()
        raise ArgumentError("shown", f"document {bad}", f"indices from 0 to {len(grades) - 1}")
    if np.unique(documents).size != documents.size:
        raise ArgumentError("shown", "a document twice", "distinct documents")
    n_grades = int(grades.max(initial=0)) + 1
    return int(count_misordered(documents.astype(np.int64), grades, n_grades))
