"""Clicks of different worth as rewards between 0 and 1, for rankers whose bounds hold for all of those."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.errors import StateError
from fairexp.ranker import Ranker
from fairexp.remap import Remap
from fairexp.types import Ranking


def as_rewards(grades: Ints, top_grade: int) -> Floats:
    """Each grade (m,) as a share of `top_grade`, beyond which it counts no more.

    >>> as_rewards(np.array([0, 1, 2, 5]), 2)
    array([0. , 0.5, 1. , 1. ])
    """
    return np.asarray(np.minimum(grades / top_grade, 1.0))


class Rewarded(Ranker):
    """Learns from rewards: a click of grade g is worth g / `top_grade`, and one without a grade has grade 1.

    What is estimated, and certain, is then the mean reward of a document where it was examined: the probability of a
    click times its mean worth. Hoeffding's, Kullback-Leibler and self-normalised bounds hold for any reward from 0 to 1
    as they do for clicks. Who was examined is a matter of clicks alone, whatever they are worth.
    """

    uses_grades = True
    top_grade: int

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        self._update_graded(ranking, clicks.astype(np.int64))

    def _update_graded(self, ranking: Ranking, grades: Ints) -> None:
        self._reward(ranking, as_rewards(grades, self.top_grade))

    @abstractmethod
    def _reward(self, ranking: Ranking, rewards: Floats) -> None:
        """Learn from checked rewards (m,), above 0 where there was a click; deterministic."""

    def _take_over(self, before: Any, remap: Remap) -> None:
        self._check_unit(before)
        super()._take_over(before, remap)

    def _check_unit(self, before: Any) -> None:
        """Sums of rewards go on only in their own unit."""
        if before.top_grade != self.top_grade:
            raise StateError(
                f"ranker: rewards by the top grade {before.top_grade} cannot go on with the top grade {self.top_grade}"
            )
