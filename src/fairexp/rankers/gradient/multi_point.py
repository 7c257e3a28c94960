"""Multi-point deterministic gradient descent: features take turns at being weighed more, and less."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from fairexp.arrays import Floats
from fairexp.rankers.gradient.challengers import RivalArguments, RivalRanker
from fairexp.types import Query
from fairexp.validation import check_count


class MPDGD(RivalRanker):
    """A linear ranker whose rivals lie along the axes: `step` more and `step` less of each of `axes` features.

    Features have their turn one after the other, round by round, whatever happens. The lists are mixed by team draft,
    and the weights (d,) move by `learning_rate` along the mean direction of all rivals with more clicks than the
    current ranker; the rate is multiplied by `decay`.

    Made from the idea as the paper's abstract tells it, without its contextual interleaving.

    Zhao and King, "Constructing reliable gradient exploration for online learning to rank", CIKM 2016.
    """

    relative_cost = 2.0

    def __init__(self, n_features: int, *, axes: int = 4, **others: Unpack[RivalArguments]) -> None:
        super().__init__(n_features, **others)
        self.axes = check_count("axes", axes)

    def _directions(self, query: Query, rng: np.random.Generator) -> Floats:
        axes = min(self.axes, self.n_features)
        turn = (self.n_ranked * axes + np.arange(axes)) % self.n_features
        directions = np.zeros((2 * axes, self.n_features))
        directions[np.arange(axes), turn] = 1.0
        directions[axes + np.arange(axes), turn] = -1.0
        return directions
