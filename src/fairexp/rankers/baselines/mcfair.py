"""MCFair: up the gradient of fairness, with a bonus for what has hardly been seen."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.kernels.baselines.lists import lifted_list
from fairexp.kernels.baselines.objectives import descent
from fairexp.measures import FINAL_UF
from fairexp.ranker import TradeOff
from fairexp.rankers.baselines.merit import EitherLevel, LevelArguments
from fairexp.rankers.baselines.unbiased_relevance import Memory
from fairexp.types import Query
from fairexp.validation import check_number

LEAST_SQUARE = 0.1
"""Squared exposure below this counts as this much: where nothing was seen the bonus is 10 times `certainty`."""


class MCFair(EitherLevel):
    """Ranks by estimated relevance, plus `control` times the gradient of fairness, plus `certainty` times uncertainty.

    Unfairness is the mean of (E_i R_j - E_j R_i)^2 over pairs of groups (with `level` "item": of documents of one
    query), where E is cumulative exposure and R merit. Its negative gradient is scaled to a largest magnitude of 1,
    so `control` is in units of relevance. Uncertainty is 1 / E^2, at most 10. Relevance and `merit` are as `FairCo`
    has them; ties are broken at random.

    >>> descent(np.array([3.0, 0.0, 1.0]), np.array([0.8, 0.8, 0.4])).round(4)
    array([-0.9286,  1.    , -0.1429])

    Yang, Xu, Wang, Tran and Ai, "Marginal-certainty-aware fair ranking algorithm", WSDM 2023.
    """

    trade_off = TradeOff("control", (0.0, 0.01, 0.1, 1.0, 10.0))
    fair_to = "group exposure in total; also items of each query"
    needs = "position bias; merit by group, or it is estimated"
    own_measure = FINAL_UF

    def __init__(
        self, n_features: int, *, control: float = 0.1, certainty: float = 5.0, **others: Unpack[LevelArguments]
    ) -> None:
        super().__init__(n_features, **others)
        self.control = check_number("control", control, at_least=0.0)
        self.certainty = check_number("certainty", certainty, at_least=0.0)

    def _choose(self, query: Query, scores: Floats, rng: np.random.Generator, memory: Memory) -> Ints:
        received, merit, of = self._standing(query, scores)
        uncertainty = 1.0 / np.maximum(received * received, LEAST_SQUARE)
        lift = self.control * descent(received, merit) + self.certainty * uncertainty
        return lifted_list(scores, 1.0, lift, of, rng.random(len(scores)), self.length)


def unfairness(exposure: Floats, merit: Floats) -> float:
    """The mean of (E_i R_j - E_j R_i)^2 over ordered pairs of different units: 0 where exposure follows merit.

    >>> round(unfairness(np.array([3.0, 0.0, 1.0]), np.array([0.8, 0.8, 0.4])), 5)
    2.18667
    """
    n = len(exposure)
    total = 2.0 * (exposure @ exposure * (merit @ merit) - (exposure @ merit) ** 2)
    return float(total / (n * (n - 1))) if n > 1 else 0.0
