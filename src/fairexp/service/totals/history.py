"""A history in bounded memory: the latest rounds one by one, and earlier ones ever more rarely."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Floats

LENGTH = 256
"""Rows of each level."""

STEP = 4
"""A row of a level stands for so many of the level below it."""

ROUND, AT = 0, 1
"""The columns of the round's number and of its time, neither of which ever falls."""


class History:
    """Rows of numbers by round, one after the other, with round and time first.

    Level 0 has the latest `LENGTH` rounds one by one, level 1 every fourth of four times as many, and so on: one more
    level whenever the last is full. So any range, an hour or all of it, has between a quarter of `LENGTH` rows and
    that many, or one for each of its rounds. The columns in `peaks` are the largest value since the row before, so
    that no excursion is lost.

    >>> history = History(3, slice(2, 3))
    >>> for number in range(1, 1001):
    ...     history.add(np.array([number, 10.0 * number, number == 700]))
    >>> before, rows = history.since(ROUND, 601)
    >>> before[ROUND], rows[0, ROUND], rows[-1, ROUND], len(rows), rows[:, 2].sum()
    (np.float64(600.0), np.float64(604.0), np.float64(1000.0), 100, np.float64(1.0))
    """

    def __init__(self, width: int, peaks: slice) -> None:
        self.peaks = peaks
        self.levels: Floats = np.zeros((1, LENGTH, width))
        self.rounds = 0

    def add(self, row: Floats) -> None:
        """Add the row (w,) of the next round."""
        self.levels[0, self.rounds % LENGTH] = row
        self.rounds += 1
        for level in range(1, len(self.levels)):
            if self.rounds % STEP**level:
                break
            number = self.rounds // STEP**level  # rows of this level, with the one to come
            parts = self.levels[level - 1, np.arange(STEP * (number - 1), STEP * number) % LENGTH]
            self.levels[level, (number - 1) % LENGTH] = self._merged(parts[None])[0]
        if self.rounds == LENGTH * STEP ** (len(self.levels) - 1):  # the last level is full for the first time
            wider = np.zeros_like(self.levels[0])
            wider[: LENGTH // STEP] = self._merged(self.levels[-1].reshape(LENGTH // STEP, STEP, -1))
            self.levels = np.concatenate([self.levels, wider[None]])

    def since(self, column: int, value: float) -> tuple[Floats, Floats]:
        """The rows (r, w) with at least `value` in `column` (`ROUND` or `AT`), and the one before them.

        That one is zeros where they begin with the first round.
        """
        level = 0
        while level < len(self.levels) - 1 and self._kept(level)[0, column] >= value:
            level += 1
        rows = self._kept(level)
        for finer in reversed(range(level)):  # what came after the last row of this level
            later = self._kept(finer)
            last = rows[-1, ROUND] if len(rows) else 0.0
            rows = np.concatenate([rows, later[later[:, ROUND] > last]])
        first = int(np.searchsorted(rows[:, column], value))
        before = rows[first - 1] if first else np.zeros(rows.shape[1])
        return before, rows[first:]

    def thinned(self, rows: Floats, points: int) -> Floats:
        """At most so many of these rows (r, w), the last one among them."""
        if len(rows) <= points:
            return rows
        bounds = np.linspace(0, len(rows), points + 1).astype(np.int64)
        fewer = rows[bounds[1:] - 1]
        fewer[:, self.peaks] = np.fmax.reduceat(rows[:, self.peaks], bounds[:-1], axis=0)
        return fewer

    def _merged(self, rows: Floats) -> Floats:
        """One row for every few (r, few, w)."""
        merged = rows[:, -1].copy()
        merged[:, self.peaks] = np.fmax.reduce(rows[:, :, self.peaks], axis=1)
        return merged

    def _kept(self, level: int) -> Floats:
        """The rows (r, w) of a level, in their order."""
        number = self.rounds // STEP**level
        return np.asarray(self.levels[level, np.arange(max(number - LENGTH, 0), number) % LENGTH])
