"""Multileave gradient descent: try many random steps at once, and go the mean way of all that win."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Floats
from fairexp.randomness import Seed
from fairexp.rankers.descent.rivals import RivalRanker, unit_vectors
from fairexp.types import Query
from fairexp.validation import check_count


class MGD(RivalRanker):
    """A linear ranker that plays against `candidates` random neighbours in every round, mixed by team draft.

    The neighbours lie `step` away in directions drawn uniformly from the sphere. The weights (d,) move by
    `learning_rate` along the mean direction of all neighbours with more clicks than the current ranker, and the rate is
    multiplied by `decay`.

    Schuth, Oosterhuis, Whiteson and de Rijke, "Multileave gradient descent for fast online learning to rank", WSDM
    2016.
    """

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        candidates: int = 9,
        step: float = 1.0,
        learning_rate: float = 0.01,
        decay: float = 1.0,
        seed: Seed = None,
    ) -> None:
        super().__init__(n_features, length=length, step=step, learning_rate=learning_rate, decay=decay, seed=seed)
        self.candidates = check_count("candidates", candidates)

    def _directions(self, query: Query, rng: np.random.Generator) -> Floats:
        return unit_vectors(self.candidates, self.n_features, rng)


class PMGD(MGD):
    """MGD with lists mixed by chance: credit does not run out of positions, so that more `candidates` can play.

    A neighbour wins if its expected sign of clicks against the current ranker is positive, over who could have placed
    what; that sum is exact.

    Oosterhuis, Schuth and de Rijke, "Probabilistic multileave gradient descent", ECIR 2016.
    """

    interleaving = "probabilistic"
    relative_cost = 10.0

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        candidates: int = 49,
        step: float = 1.0,
        learning_rate: float = 0.01,
        decay: float = 1.0,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            n_features,
            length=length,
            candidates=candidates,
            step=step,
            learning_rate=learning_rate,
            decay=decay,
            seed=seed,
        )
