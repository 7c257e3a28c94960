"""Simulated sessions, many at once: who looks where, and what is clicked. Coins come from outside.

Symbols: `click[g]` and `stop[g]` are probabilities for a document of grade g; `coins[s, 0, p]` decides the click and
`coins[s, 1, p]` the leaving of session s at position p.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairexp.kernels.compiling import kernel


@kernel
def extremes(values: NDArray[np.int64]) -> tuple[int, int]:
    """The lowest and the highest of `values` (n,); 0 and 0 where there are none. For few values, faster than NumPy."""
    lowest = highest = 0
    for i in range(values.shape[0]):
        if i == 0 or values[i] < lowest:
            lowest = values[i]
        if i == 0 or values[i] > highest:
            highest = values[i]
    return lowest, highest


@kernel
def dependent_visits(
    grades: NDArray[np.int64],
    click: NDArray[np.float64],
    stop: NDArray[np.float64],
    only_after_click: bool,
    coins: NDArray[np.float64],
    clicks: NDArray[np.bool_],
    examined: NDArray[np.bool_],
) -> None:
    """Walk each list of `grades` (S, m) from the top; fills `clicks` and `examined` (S, m), given as all False."""
    n_sessions, length = grades.shape
    for session in range(n_sessions):
        for position in range(length):
            grade = grades[session, position]
            clicked = coins[session, 0, position] < click[grade]
            examined[session, position] = True
            clicks[session, position] = clicked
            may_leave = clicked or not only_after_click
            if may_leave and coins[session, 1, position] < stop[grade]:
                break


@kernel
def shuffled_tops(sizes: NDArray[np.int64], coins: NDArray[np.float64]) -> NDArray[np.int64]:
    """The first m entries (S, m) of a uniform shuffle of range(sizes[s]), from `coins` (S, m); all sizes >= m.

    A Fisher-Yates shuffle that stops after m steps.
    """
    n_sessions, length = coins.shape
    tops = np.empty((n_sessions, length), dtype=np.int64)
    pool = np.empty(sizes.max(), dtype=np.int64)
    for session in range(n_sessions):
        size = sizes[session]
        for document in range(size):
            pool[document] = document
        for position in range(length):
            pick = position + int(coins[session, position] * (size - position))
            tops[session, position] = pool[pick]
            pool[pick] = pool[position]
    return tops
