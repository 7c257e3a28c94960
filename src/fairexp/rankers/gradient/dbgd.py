"""Dueling bandit gradient descent: try a random step, keep it if users prefer its results."""

from __future__ import annotations

from typing import Literal, Unpack

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.rankers.gradient.challengers import RivalArguments, RivalRanker, directions_of, unit_vectors
from fairexp.types import Query, Ranking
from fairexp.validation import check_choice


class DBGD(RivalRanker):
    """A linear ranker that duels with a random neighbour in every round and moves towards it when it loses.

    The neighbour lies `step` away in a direction drawn uniformly from the sphere. The lists of both are
    interleaved ("team-draft" or "probabilistic"); if the clicks prefer the neighbour, the weights (d,) move by
    `learning_rate` along that direction, and the rate is multiplied by `decay`.

    >>> ranker = DBGD(2, length=2, learning_rate=0.5, seed=1)
    >>> for _ in range(100):
    ...     ranking = ranker.rank(Query(features=[[0.0, 1.0], [1.0, 0.0]]))
    ...     ranker.update(ranking, clicks=ranking.shown == 1)
    >>> scores = ranker.score([[0.0, 1.0], [1.0, 0.0]])
    >>> bool(scores[1] > scores[0])
    True

    Yue and Joachims, "Interactively optimizing information retrieval systems as a dueling bandits problem", ICML
    2009.
    """

    def __init__(
        self,
        n_features: int,
        *,
        interleaving: Literal["team-draft", "probabilistic"] = "team-draft",
        **others: Unpack[RivalArguments],
    ) -> None:
        super().__init__(n_features, **others)
        self.interleaving = check_choice("interleaving", interleaving, ("team-draft", "probabilistic"))
        self.uses_grades = self.interleaving == "team-draft"

    def _directions(self, query: Query, rng: np.random.Generator) -> Floats:
        return unit_vectors(1, self.n_features, rng)

    def _update_graded(self, ranking: Ranking, grades: Ints) -> None:
        if self._lead(ranking, grades)[1] > 0.0:
            self._move(directions_of(ranking)[0])
