"""Pairs of documents that a ranking shows in the wrong order, by counting the grades still to come."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairexp.kernels.compiling import kernel


@kernel
def count_misordered(shown: NDArray[np.int64], grades: NDArray[np.int64], n_grades: int) -> int:
    """Pairs (i, j) with grades[i] > grades[j] and j above i; what is not shown stands below all of `shown`."""
    waiting = np.zeros(n_grades, dtype=np.int64)
    for grade in grades:
        waiting[grade] += 1
    pairs = 0
    for document in shown:
        grade = grades[document]
        waiting[grade] -= 1
        for better in range(grade + 1, n_grades):
            pairs += waiting[better]
    return pairs
