"""The last few rows of something."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Floats


class Recent:
    """The last `capacity` vectors (d,) that were added, newest last; `table` (capacity, d) is 0 where none is yet.

    >>> recent = Recent(2, 1)
    >>> for number in (1.0, 2.0, 3.0):
    ...     recent.add(np.array([[number]]))
    >>> recent.rows
    array([[2.],
           [3.]])
    """

    def __init__(self, capacity: int, width: int) -> None:
        self.table: Floats = np.zeros((capacity, width))
        self.count = 0

    @property
    def rows(self) -> Floats:
        """What there is (count, d)."""
        return self.table[len(self.table) - self.count :]

    @property
    def is_full(self) -> bool:
        return self.count == len(self.table)

    def add(self, rows: Floats) -> None:
        """Add `rows` (c, d) in their order; the oldest make room."""
        capacity = len(self.table)
        self.table = np.concatenate([self.table[len(rows) :], rows[-capacity:]])
        self.count = min(self.count + len(rows), capacity)

    def put(self, table: Floats, count: int) -> None:
        """Be what was `table` and `count` elsewhere."""
        self.table, self.count = np.array(table, dtype=np.float64), int(count)
