"""Recent rankings whose clicks were far down: by them NSGD chooses among directions that won alike."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Bools, Floats, State
from fairexp.remap import Remap
from fairexp.types import Ranking

KEPT = 10
WINDOW = 50
"""At most so many rankings are kept, each while so many more with clicks come."""


class HardQueries:
    """Up to `KEPT` of the last `WINDOW` rankings with clicks, those whose clicks were lowest.

    `features` (KEPT, k, d) and `clicks` (KEPT, k) are by position, `size` (KEPT,) is how many positions were shown (0:
    none kept), `found` (KEPT,) is how well it ranked its clicked documents, `at` (KEPT,) counts rankings with clicks.
    """

    def __init__(self, length: int, n_features: int) -> None:
        self.features: Floats = np.zeros((KEPT, length, n_features))
        self.clicks = np.zeros((KEPT, length), dtype=np.bool_)
        self.size = np.zeros(KEPT, dtype=np.int64)
        self.found = np.zeros(KEPT)
        self.at = np.zeros(KEPT, dtype=np.int64)
        self.now = 0

    @property
    def count(self) -> int:
        """How many are kept."""
        return int((self.size > 0).sum())

    def add(self, ranking: Ranking, clicks: Bools) -> None:
        """Keep `ranking` in place of one that is out of the window, or else of the easiest if it is harder."""
        self.now += 1
        self.size[self.at <= self.now - WINDOW] = 0
        clicked = np.flatnonzero(clicks).tolist()
        found = sum(1.0 / (1.0 + position) for position in clicked) / len(clicked)
        free = np.flatnonzero(self.size == 0)
        place = int(free[0]) if free.size else int(np.argmax(self.found))
        if not free.size and self.found[place] <= found:
            return
        m = len(ranking)
        self.features[place], self.clicks[place] = 0.0, False
        self.features[place, :m], self.clicks[place, :m] = ranking.features, clicks
        self.size[place], self.found[place], self.at[place] = m, found, self.now

    def found_by(self, models: Floats) -> Floats:
        """How high each linear model (c, d) ranks the documents that were clicked: the sum of 1/rank (c,)."""
        kept = np.flatnonzero(self.size)
        scores = self.features[kept] @ models.T
        scores[np.arange(self.features.shape[1]) >= self.size[kept, None]] = -np.inf
        ranks = 1 + (scores[:, None, :, :] > scores[:, :, None, :]).sum(axis=2)
        return np.asarray((self.clicks[kept][:, :, None] / ranks).sum(axis=(0, 1)))

    def take_over(self, before: HardQueries, remap: Remap) -> None:
        """Be what `before` is, where lists are as long, with the present features."""
        if before.clicks.shape != self.clicks.shape:
            return
        rows = remap.rows(before.features.reshape(-1, before.features.shape[2]))
        self.features = rows.reshape(*before.clicks.shape, -1)
        self.clicks, self.size = before.clicks.copy(), before.size.copy()
        self.found, self.at, self.now = before.found.copy(), before.at.copy(), before.now

    def state(self) -> State:
        """All of it, as arrays."""
        names = ("features", "clicks", "size", "found", "at")
        return {**{f"hard.{name}": getattr(self, name).copy() for name in names}, "hard.now": np.array(self.now)}

    def restore(self, arrays: State) -> None:
        """Be what `state` returned elsewhere."""
        self.features = np.array(arrays["hard.features"], dtype=np.float64)
        self.clicks = np.array(arrays["hard.clicks"], dtype=np.bool_)
        self.size = np.array(arrays["hard.size"], dtype=np.int64)
        self.found = np.array(arrays["hard.found"], dtype=np.float64)
        self.at = np.array(arrays["hard.at"], dtype=np.int64)
        self.now = int(arrays["hard.now"])
