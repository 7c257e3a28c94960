"""Document space projection: of a winning direction keep what the documents that users saw can tell about."""

from __future__ import annotations

from math import sqrt
from typing import Any, Unpack

import numpy as np

from fairexp.arrays import Bools, Floats, Ints, State
from fairexp.kernels.algebra.linear import project
from fairexp.rankers.gradient.challengers import RivalArguments, directions_of, mean_of
from fairexp.rankers.gradient.mgd import MGD
from fairexp.rankers.gradient.recent import Recent
from fairexp.remap import Remap
from fairexp.scaling import shortened
from fairexp.types import Ranking
from fairexp.validation import check_count

BELOW_LAST_CLICK = 2
"""Documents down to so many below the last click are taken to have been seen."""

SMALLEST = 1e-10
"""What is left of a document beyond others, and is less than this share of the longest, is left to rounding."""


class DSP(MGD):
    """A linear ranker that duels as DBGD does, and projects the winning direction onto the documents seen.

    Clicks say nothing of directions in which no document that was seen has a component. So the winning direction is
    projected onto the span of the features of documents down to two below the last click and of `viewed` documents seen
    before, and scaled back to length 1: the same expected move with less variance. With more than one of `candidates`
    their winners' mean is projected.

    Wang, Kim, McCord-Snook, Wu and Wang, "Variance reduction in gradient exploration for online learning to rank",
    SIGIR 2019.
    """

    relative_cost = 1.5
    rescaling = "factor"

    def __init__(
        self, n_features: int, *, candidates: int = 1, viewed: int = 10, **others: Unpack[RivalArguments]
    ) -> None:
        super().__init__(n_features, candidates=candidates, **others)
        self.viewed = check_count("viewed", viewed)
        self._seen = Recent(self.viewed, self.n_features)

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        super()._update(ranking, clicks)
        if clicks.any():
            self._seen.add(_seen_rows(ranking, clicks))

    def _learn(self, ranking: Ranking, clicks: Bools, winners: Ints) -> None:
        documents = np.concatenate([_seen_rows(ranking, clicks), self._seen.rows])
        projected = projection(mean_of(directions_of(ranking), winners), documents)
        if projected.any():
            self._move(projected)

    def _take_over(self, before: Any, remap: Remap) -> None:
        super()._take_over(before, remap)
        self._seen.add(remap.rows(before._seen.rows))

    def _state(self) -> State:
        return {**super()._state(), "seen": self._seen.table.copy(), "n_seen": np.array(self._seen.count)}

    def _restore(self, arrays: State) -> None:
        super()._restore(arrays)
        self._seen.put(np.asarray(arrays["seen"]), int(arrays["n_seen"]))


def _seen_rows(ranking: Ranking, clicks: Bools) -> Floats:
    last = int(np.flatnonzero(clicks)[-1])
    return shortened(ranking.features[: last + 1 + BELOW_LAST_CLICK])


def projection(direction: Floats, documents: Floats) -> Floats:
    """`direction` (d,) projected onto the span of the rows of `documents` (m, d), of length 1; 0 where nothing is left.

    >>> projection(np.array([3.0, 4.0, 5.0]), np.array([[2.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    array([1., 0., 0.])
    """
    projected = project(direction, documents, SMALLEST)
    length = sqrt(float(projected @ projected))
    return projected / length if length > SMALLEST else np.zeros_like(projected)
