"""What folds of a collection have in common, and what that does to their spread.

Fold f of a LETOR collection serves three of five parts, so that any two folds share one or two of them: their values
are alike because their queries are the same, and their spread tells too little of how other collections would differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any

TRAINED = 0.5
"""The part of the variance of held-out values between folds that is put down to training queries, which folds share;
the rest is of the test queries, which they do not. With LETOR's folds any two are then correlated by a quarter on
average, which is the part of the queries that is tested on, as Nadeau and Bengio (2003) have it."""


@dataclass(frozen=True)
class Sharing:
    """For every two folds, the part of the queries served that they have in common: 1 for a fold and itself.

    >>> letor = Sharing.of([{1, 2, 3}, {2, 3, 4}, {3, 4, 5}])
    >>> [round(common, 2) for common in letor.common[0]]
    [1.0, 0.67, 0.33]
    """

    folds: tuple[int, ...]
    common: tuple[tuple[float, ...], ...]

    @staticmethod
    def of(served: Sequence[Set[Any]], folds: Iterable[int] | None = None) -> Sharing:
        """From the queries that each fold serves; folds are numbered from 0 unless told."""
        common = tuple(
            tuple(len(one & other) / math.sqrt(max(len(one) * len(other), 1)) for other in served) for one in served
        )
        return Sharing(tuple(range(len(served)) if folds is None else folds), common)

    def correlation(self, folds: Sequence[int], *, held_out: bool = False) -> list[list[float]]:
        """How the values of `folds` go together (F, F), as far as that follows from the queries that they share.

        `held_out` is for values on test queries of each fold's own, with what was learned from shared ones.
        """
        at = [self.folds.index(fold) for fold in folds]
        part = TRAINED if held_out else 1.0
        return [[1.0 if i == j else part * self.common[i][j] for j in at] for i in at]
