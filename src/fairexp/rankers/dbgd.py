"""Dueling bandit gradient descent: try a random step, keep it if users prefer its results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints
from fairexp.kernels.learning.interleaving import draft_duel
from fairexp.kernels.learning.linear import duel_scores, linear_scores, scale_to_unit
from fairexp.randomness import Seed
from fairexp.rankers.climbing import Climber
from fairexp.rankers.interleaving import probabilistic, probabilistic_preference, team_draft_preference
from fairexp.rankers.matching import Matching
from fairexp.types import Query, Ranking
from fairexp.validation import check_choice, check_number


class DBGD(Climber):
    """A linear ranker that duels with a random neighbour in every round and moves towards it when it loses.

    The neighbour lies `step` away in a direction drawn uniformly from the sphere. The lists of both are
    interleaved ("team-draft" or "probabilistic"); if the clicks prefer the neighbour, the weights (d,) move by
    `learning_rate` along that direction, and the rate is multiplied by `decay`.

    Moves do not depend on the features' size, so no feature can make the weights overflow.

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
        length: int = 10,
        interleaving: Literal["team-draft", "probabilistic"] = "team-draft",
        step: float = 1.0,
        learning_rate: float = 0.01,
        decay: float = 1.0,
        seed: Seed = None,
    ) -> None:
        super().__init__(n_features, length=length, learning_rate=learning_rate, decay=decay, seed=seed)
        self.interleaving = check_choice("interleaving", interleaving, ("team-draft", "probabilistic"))
        self.uses_grades = self.interleaving == "team-draft"
        self.step = check_number("step", step, above=0.0)

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        if self.interleaving == "team-draft":
            n = len(query.features)
            m = min(self.length, n)
            direction = rng.standard_normal(self.n_features)
            scores, shown, credit = np.empty(n), np.empty(m, dtype=np.int64), np.empty(m)
            draft_duel(
                query.features, self.weights, direction, self.step, rng.random(n + m), scores, shown, credit
            )  # fmt: skip
        else:
            direction = unit_vector(self.n_features, rng)
            scores, rival_scores = duel_scores(query.features, self.weights, direction, self.step)
            shown, credit = probabilistic(scores, rival_scores, length=self.length, rng=rng)
        return self._show(query, shown, scores, memory={"direction": direction, "credit": credit})

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        prefer = team_draft_preference if self.interleaving == "team-draft" else probabilistic_preference
        credit = np.asarray(ranking.memory["credit"], dtype=np.float64)
        if prefer(credit, clicks) > 0.0:
            self._move(np.asarray(ranking.memory["direction"], dtype=np.float64))

    def _update_graded(self, ranking: Ranking, grades: Ints) -> None:
        credit = np.asarray(ranking.memory["credit"], dtype=np.float64)
        if team_draft_preference(credit, grades) > 0.0:
            self._move(np.asarray(ranking.memory["direction"], dtype=np.float64))

    def translated_memory(
        self, memory: Mapping[str, NDArray[np.generic]], matching: Matching
    ) -> Mapping[str, NDArray[np.generic]]:
        return {**memory, "direction": matching.weights(np.asarray(memory["direction"], dtype=np.float64))}

    def _score(self, features: Floats) -> Floats:
        scores: Floats = linear_scores(features, self.weights)
        return scores


def unit_vector(n_features: int, rng: np.random.Generator) -> Floats:
    """A direction (n_features,), uniform on the sphere."""
    vector = rng.standard_normal(n_features)
    while not scale_to_unit(vector):  # the zero vector has no direction
        vector = rng.standard_normal(n_features)
    return vector
