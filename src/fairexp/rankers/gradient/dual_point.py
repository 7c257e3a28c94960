"""Dual-point dueling bandit gradient descent: two opposite steps duel with each other."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Bools, Floats
from fairexp.rankers.gradient.challengers import RivalRanker, directions_of, unit_vectors
from fairexp.types import Query, Ranking


class DPDBGD(RivalRanker):
    """A linear ranker that sends two neighbours in opposite directions into a duel, and follows the winner.

    They lie `step` away, one in a direction drawn uniformly from the sphere, the other the opposite way, and their
    lists are mixed by team draft. Every duel with a winner moves the weights (d,) by `learning_rate`, where a duel
    against the current ranker would teach nothing when that one wins; the rate is multiplied by `decay`.

    Made from the idea as the paper's abstract tells it.

    Zhao and King, "Constructing reliable gradient exploration for online learning to rank", CIKM 2016.
    """

    first_contestant = 1

    def _directions(self, query: Query, rng: np.random.Generator) -> Floats:
        one = unit_vectors(1, self.n_features, rng)
        return np.concatenate([one, -one])

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        lead = self._lead(ranking, clicks)[1]
        if lead != 0.0:
            self._move(directions_of(ranking)[int(lead > 0.0)])
