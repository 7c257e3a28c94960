"""Past rankings, whatever file they came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.lab.data.dataset import UNSCALED

CHUNK = 1 << 20
"""Numbers of features that are looked at together."""


@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """Rankings one after the other, each from the top: ranking i has the rows offsets[i]:offsets[i + 1].

    `features` (N, d) are called `names`. `positions` (N,) are where they were shown, from 1. `clicks` (N,) are what
    users did; where documents were graded instead, `grades` (N,) say so. `queries` (R,) and `documents` (N,) are
    numbers by which queries and documents are known again, or None. `propensity` (N,) is the probability that a
    document stood at its position, or None. `scaling` of the features is "none", or "query" where each was brought to
    [0, 1] in each ranking. `notes` say what of the file is not in the log.
    """

    features: Floats
    names: tuple[str, ...]
    offsets: Ints
    positions: Ints
    clicks: Bools | None = None
    grades: Ints | None = None
    queries: Ints | None = None
    documents: Ints | None = None
    propensity: Floats | None = None
    scaling: str = UNSCALED
    notes: tuple[str, ...] = ()

    @property
    def n_rankings(self) -> int:
        return len(self.offsets) - 1

    def chosen(self, rankings: Bools) -> Log:
        """The log of some of its rankings."""
        sizes = np.diff(self.offsets)
        rows = np.repeat(rankings, sizes)
        return replace(
            self,
            features=self.features[rows],
            offsets=np.concatenate([[0], np.cumsum(sizes[rankings])]),
            positions=self.positions[rows],
            clicks=None if self.clicks is None else self.clicks[rows],
            grades=None if self.grades is None else self.grades[rows],
            queries=None if self.queries is None else self.queries[rankings],
            documents=None if self.documents is None else self.documents[rows],
            propensity=None if self.propensity is None else self.propensity[rows],
        )

    def batches(self) -> Iterator[Ints]:
        """Rows (b, n) of rankings of one length n, a bounded number at a time; those of one document are left out."""
        sizes = np.diff(self.offsets)
        for n in np.unique(sizes[sizes > 1]).tolist():
            firsts = self.offsets[:-1][sizes == n]
            at_once = max(1, CHUNK // (n * max(n, self.features.shape[1])))
            for start in range(0, len(firsts), at_once):
                yield firsts[start : start + at_once, None] + np.arange(n)


def places(offsets: Ints) -> Ints:
    """The position (N,) of each row in its ranking, from 1, where nothing else is known.

    >>> places(np.array([0, 3, 5])).tolist()
    [1, 2, 3, 1, 2]
    """
    return np.arange(1, int(offsets[-1]) + 1) - np.repeat(offsets[:-1], np.diff(offsets))
