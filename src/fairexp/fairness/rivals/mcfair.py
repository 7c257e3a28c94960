"""MCFair: up the gradient of fairness, with a bonus for what has hardly been seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats, Ints
from fairexp.fairness.rivals.parts.groups import Merit
from fairexp.fairness.rivals.parts.learned import Memory
from fairexp.fairness.rivals.parts.standing import EitherLevel
from fairexp.kernels.learning.linear import top_documents
from fairexp.measures import FINAL_UF
from fairexp.randomness import Seed
from fairexp.rankers.bandits.parts.per_query import MAX_DOCUMENTS, MAX_QUERIES
from fairexp.rankers.base import TradeOff
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
        self,
        n_features: int,
        *,
        length: int = 10,
        exposure: str | Path | ArrayLike = "reciprocal",
        merit: Merit = "estimated",
        n_groups: int | None = None,
        level: str = "group",
        control: float = 0.1,
        certainty: float = 5.0,
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
        self.control = check_number("control", control, at_least=0.0)
        self.certainty = check_number("certainty", certainty, at_least=0.0)

    def _choose(self, query: Query, scores: Floats, rng: np.random.Generator, memory: Memory) -> Ints:
        received, merit, of = self._standing(query, scores)
        uncertainty = 1.0 / np.maximum(received * received, LEAST_SQUARE)
        lifted = scores + (self.control * descent(received, merit) + self.certainty * uncertainty)[of]
        shown: Ints = top_documents(lifted, rng.random(len(scores)), self.length)
        return shown


def unfairness(exposure: Floats, merit: Floats) -> float:
    """The mean of (E_i R_j - E_j R_i)^2 over ordered pairs of different units: 0 where exposure follows merit.

    >>> round(unfairness(np.array([3.0, 0.0, 1.0]), np.array([0.8, 0.8, 0.4])), 5)
    2.18667
    """
    n = len(exposure)
    total = 2.0 * (exposure @ exposure * (merit @ merit) - (exposure @ merit) ** 2)
    return float(total / (n * (n - 1))) if n > 1 else 0.0


def descent(exposure: Floats, merit: Floats) -> Floats:
    """The negative gradient (m,) of `unfairness` by exposure, scaled to a largest magnitude of 1; 0 where it is 0."""
    direction = merit * (exposure @ merit) - exposure * (merit @ merit)
    return np.asarray(direction / (np.abs(direction).max() + 1e-10))
