"""Rankers around which others can be put: what they believe of a query, and what they learn from any ranking."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints
from fairexp.rankers.base import Ranker
from fairexp.types import Belief, Query, Ranking


class Explorer(Ranker):
    """A ranker whose exploration is explicit, so that another can be put around it, such as `FairExp`.

    Whoever is around it asks it what to `believe` of a query, chooses what to show, has it say what to remember of that
    (`memory`) and take note of it (`note`), and hands on clicks to `learn`. Input has been checked by then.
    """

    templated: bool = False
    """Whether templates decide which group has which position: `FairExp` says so to its host, unless its tolerance is
    infinite. Documents of different groups are then not exchangeable, and what is shown depends on the draw inside each
    group alone."""

    remembers_positions: bool = True
    """Whether arrays of its `memory` that are as long as the ranking are by position; else all are by candidate."""

    @abstractmethod
    def believe(self, query: Query, rng: np.random.Generator | None = None) -> Belief:
        """Scores, certain orders, blocks, and one exploration draw (from `rng`, or from the ranker's own)."""

    def memory(
        self, query: Query, belief: Belief, shown: Ints, rng: np.random.Generator
    ) -> dict[str, NDArray[np.generic]]:
        """What learning must remember of a ranking that shows documents `shown` (m,), beyond their features.

        Arrays whose first axis is as long as the ranking are by position, and are cut where positions are left out.
        """
        return {}

    def note(self, ranking: Ranking) -> None:
        """Take note of what was shown, whoever chose it."""
        self._shown(ranking)

    def learn(self, ranking: Ranking, clicks: Bools) -> None:
        """Learn from clicks (m,) on a ranking, whoever chose it."""
        self._update(ranking, clicks)

    def learn_graded(self, ranking: Ranking, grades: Ints) -> None:
        """Learn from graded clicks (m,) on a ranking, whoever chose it."""
        self._update_graded(ranking, grades)

    def estimate(self, features: Floats) -> Floats:
        """`score` of features that have been checked."""
        return self._score(features)

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        belief = self.believe(query, rng)
        shown = belief.draw[: self.length]
        return self._show(query, shown, belief.scores, belief=belief, memory=self.memory(query, belief, shown, rng))
