"""Simulated sessions, many at once: who looks where, and what is clicked. Coins come from outside.

Symbols: `click[g]` and `stop[g]` are probabilities for a document of grade g; `coins[s, 0, p]` decides the click and
`coins[s, 1, p]` the leaving of session s at position p.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.numbers import Bool, ConstFloat, ConstInt
from cython.cimports.libc.stdint import int64_t


def extremes(values: ConstInt[::1]) -> tuple:
    """The lowest and the highest of `values` (n,); 0 and 0 where there are none. For few values, faster than NumPy."""
    n = values.shape[0]
    half = n // 2
    lowest: int64_t = values[n - 1] if n else 0
    highest = low = high = lowest
    with cython.nogil:
        for i in range(half):  # two halves at once: neither has to wait for the other's comparisons
            lowest, highest = min(lowest, values[i]), max(highest, values[i])
            low, high = min(low, values[half + i]), max(high, values[half + i])
    return min(lowest, low), max(highest, high)


def dependent_visits(
    grades: ConstInt[:, ::1],
    click: ConstFloat[::1],
    stop: ConstFloat[::1],
    only_after_click: cython.bint,
    coins: ConstFloat[:, :, ::1],
    clicks: Bool[:, ::1],
    examined: Bool[:, ::1],
) -> None:
    """Walk each list of `grades` (S, m) from the top; fills `clicks` and `examined` (S, m), given as all False."""
    grade: int64_t
    clicked: cython.bint
    with cython.nogil:
        for session in range(grades.shape[0]):
            for position in range(grades.shape[1]):
                grade = grades[session, position]
                clicked = coins[session, 0, position] < click[grade]
                examined[session, position] = True
                clicks[session, position] = clicked
                if (clicked or not only_after_click) and coins[session, 1, position] < stop[grade]:
                    break


def shuffled_tops(sizes: ConstInt[::1], coins: ConstFloat[:, ::1]):
    """The first m entries (S, m) of a uniform shuffle of range(sizes[s]), from `coins` (S, m); all sizes >= m.

    A Fisher-Yates shuffle that stops after m steps; what it moved is put back for the next session.
    """
    n_sessions, length = coins.shape[0], coins.shape[1]
    result = np.empty((n_sessions, length), dtype=np.int64)
    tops: int64_t[:, ::1] = result
    most: int64_t = 0
    for session in range(n_sessions):
        most = max(most, sizes[session])
    pool: int64_t[::1] = np.arange(most, dtype=np.int64)
    picks: int64_t[::1] = np.empty(length, dtype=np.int64)
    size: int64_t
    pick: cython.Py_ssize_t
    with cython.nogil:
        for session in range(n_sessions):
            size = sizes[session]
            for position in range(length):
                pick = position + cython.cast(cython.Py_ssize_t, coins[session, position] * (size - position))
                picks[position] = pick
                tops[session, position] = pool[pick]
                pool[pick] = pool[position]
            for position in range(length):
                pool[picks[position]] = picks[position]
    return result
