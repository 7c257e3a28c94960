"""What one shown ranking is worth, in one pass: for loops that measure every round.

`fairexp.metrics.ndcg` and `misordered_pairs` say the same about one ranking, with every argument checked. Symbols: k
positions count; `gain[g]` is 2^g - 1; `discount[p]` is 1 / log2(p + 2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairexp.kernels.compiling import kernel


@kernel
def shown_quality(
    shown: NDArray[np.int64], grades: NDArray[np.int64], gain: NDArray[np.float64], discount: NDArray[np.float64]
) -> tuple[float, int]:
    """NDCG@k of the documents `shown` (m,) of a query with these `grades` (n,), and how many pairs are misordered.

    The second is -1 where `shown` is not made of distinct documents, or a grade has no `gain`.
    """
    n, n_grades, k = grades.shape[0], gain.shape[0], discount.shape[0]
    waiting = np.zeros(n_grades, dtype=np.int64)
    for grade in grades:
        if grade < 0 or grade >= n_grades:
            return np.nan, -1
        waiting[grade] += 1
    ideal, position = 0.0, 0
    for grade in range(n_grades - 1, 0, -1):
        for _ in range(min(waiting[grade], k - position)):
            ideal += gain[grade] * discount[position]
            position += 1
    used = np.zeros(n, dtype=np.bool_)
    reached, misordered = 0.0, 0
    for p in range(shown.shape[0]):
        document = shown[p]
        if document < 0 or document >= n or used[document]:
            return np.nan, -1
        used[document] = True
        grade = grades[document]
        if p < k:
            reached += gain[grade] * discount[p]
        waiting[grade] -= 1
        for better in range(grade + 1, n_grades):
            misordered += waiting[better]
    return (reached / ideal if ideal > 0.0 else 0.0), misordered
