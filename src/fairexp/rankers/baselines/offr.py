"""OFFR: each list is a step of online Frank-Wolfe towards the best trade of relevance for fair exposure."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.kernels.baselines.lists import lifted_list
from fairexp.measures import FINAL_UF
from fairexp.ranker import TradeOff
from fairexp.rankers.baselines.merit import EitherLevel, LevelArguments
from fairexp.rankers.baselines.objective import OBJECTIVES, gradient
from fairexp.rankers.baselines.unbiased_relevance import Memory
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
        fairness: float = 0.5,
        objective: str = "deviation",
        smoothing: float = 0.01,
        **others: Unpack[LevelArguments],
    ) -> None:
        super().__init__(n_features, **others)
        self.fairness = check_number("fairness", fairness, at_least=0.0, at_most=1.0)
        self.objective = check_choice("objective", objective, tuple(OBJECTIVES))
        self.smoothing = check_number("smoothing", smoothing, above=0.0)

    def _choose(self, query: Query, scores: Floats, rng: np.random.Generator, memory: Memory) -> Ints:
        received, merit, of = self._standing(query, scores)
        uphill = gradient(self.objective, received, merit, self.smoothing)
        keys = rng.random(len(scores))
        return lifted_list(scores, 1.0 - self.fairness, self.fairness * uphill, of, keys, self.length)
