"""Multileave gradient descent: try many random steps at once, and go the mean way of all that win."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from fairexp.arrays import Floats
from fairexp.rankers.gradient.challengers import RivalArguments, RivalRanker, unit_vectors
from fairexp.types import Query
from fairexp.validation import check_count


class MGDArguments(RivalArguments, total=False):
    """What every ranker that tries several at once takes."""

    candidates: int


class MGD(RivalRanker):
    """A linear ranker that plays against `candidates` random neighbours in every round, mixed by team draft.

    The neighbours lie `step` away in directions drawn uniformly from the sphere. The weights (d,) move by
    `learning_rate` along the mean direction of all neighbours with more clicks than the current ranker, and the rate is
    multiplied by `decay`.

    Schuth, Oosterhuis, Whiteson and de Rijke, "Multileave gradient descent for fast online learning to rank", WSDM
    2016.
    """

    relative_cost = 2.5

    def __init__(self, n_features: int, *, candidates: int = 9, **others: Unpack[RivalArguments]) -> None:
        super().__init__(n_features, **others)
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

    def __init__(self, n_features: int, *, candidates: int = 49, **others: Unpack[RivalArguments]) -> None:
        super().__init__(n_features, candidates=candidates, **others)
