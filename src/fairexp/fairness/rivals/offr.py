"""OFFR: each list is a step of online Frank-Wolfe towards the best trade of relevance for fair exposure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats, Ints
from fairexp.fairness.rivals.parts.groups import Merit
from fairexp.fairness.rivals.parts.learned import Memory
from fairexp.fairness.rivals.parts.objective import OBJECTIVES, gradient
from fairexp.fairness.rivals.parts.standing import EitherLevel
from fairexp.kernels.learning.linear import top_documents
from fairexp.measures import FINAL_UF
from fairexp.randomness import Seed
from fairexp.rankers.bandits.parts.per_query import MAX_DOCUMENTS, MAX_QUERIES
from fairexp.rankers.base import TradeOff
from fairexp.types import Query
from fairexp.validation import check_choice, check_number


class OFFR(EitherLevel):
    """Ranks by (1 - `fairness`) relevance + `fairness` times the gradient of the objective at the exposure so far.

    So the mean relevance per unit of exposure and the groups' shares of it climb (1 - fairness) u + fairness F(v),
    where F is concave: `objective` "deviation" (minus the standard deviation of exposure per merit), "softmin" (the
    worst-off group's) or "welfare" (the mean logarithm), each smoothed by `smoothing`. With `level` "item" the units
    are the documents of each query. Relevance and `merit` are as `FairCo` has them; ties are broken at random.

    Usunier, Do and Dohmatob, "Fast online ranking with fairness of exposure", FAccT 2022.
    """

    trade_off = TradeOff("fairness", (0.0, 0.01, 0.1, 0.5, 0.9))
    fair_to = "group exposure in total; also items of each query"
    needs = "position bias; merit by group, or it is estimated"
    own_measure = FINAL_UF

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        exposure: str | Path | ArrayLike = "reciprocal",
        merit: Merit = "estimated",
        n_groups: int | None = None,
        level: str = "group",
        fairness: float = 0.5,
        objective: str = "deviation",
        smoothing: float = 0.01,
        regularization: float = 1.0,
        clip: float = 0.01,
        max_queries: int = MAX_QUERIES,
        max_documents: int = MAX_DOCUMENTS,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            n_features,
            length=length,
            exposure=exposure,
            merit=merit,
            n_groups=n_groups,
            level=level,
            regularization=regularization,
            clip=clip,
            max_queries=max_queries,
            max_documents=max_documents,
            seed=seed,
        )
        self.fairness = check_number("fairness", fairness, at_least=0.0, at_most=1.0)
        self.objective = check_choice("objective", objective, tuple(OBJECTIVES))
        self.smoothing = check_number("smoothing", smoothing, above=0.0)

    def _choose(self, query: Query, scores: Floats, rng: np.random.Generator, memory: Memory) -> Ints:
        received, merit, of = self._standing(query, scores)
        uphill = gradient(self.objective, received, merit, self.smoothing)
        lifted = (1.0 - self.fairness) * scores + self.fairness * uphill[of]
        shown: Ints = top_documents(lifted, rng.random(len(scores)), self.length)
        return shown
