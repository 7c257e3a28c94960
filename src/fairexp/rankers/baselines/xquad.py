"""Greedy re-ranking in the manner of xQuAD: each list by itself is mixed from the groups."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.kernels.baselines.lists import mixed_list
from fairexp.measures import LIST_UF
from fairexp.ranker import TradeOff
from fairexp.rankers.baselines.group_exposure import FairToGroups, GroupArguments
from fairexp.rankers.baselines.unbiased_relevance import Memory
from fairexp.types import Query
from fairexp.validation import check_number


class XQuAD(FairToGroups):
    """Fills positions from the top by (1 - `control`) relevance + `control` w_g (1 - share of group g in the list).

    w_g is the group's share of all merit. It looks at the list so far and at nothing else: the plain control for
    methods that keep an account over rounds. Relevance and `merit` are as `FairCo` has them.

    Abdollahpouri, Burke and Mobasher, "Managing popularity bias in recommender systems with personalized re-ranking",
    FLAIRS 2019, after Santos, Macdonald and Ounis, "Exploiting query reformulations for web search result
    diversification", WWW 2010.
    """

    trade_off = TradeOff("control", (0.0, 0.25, 0.5, 0.75, 1.0))
    fair_to = "group share of positions in each list"
    needs = "position bias (to learn relevance); merit by group, or it is estimated"
    own_measure = LIST_UF

    def __init__(self, n_features: int, *, control: float = 0.5, **others: Unpack[GroupArguments]) -> None:
        super().__init__(n_features, **others)
        self.control = check_number("control", control, at_least=0.0, at_most=1.0)

    def _choose(self, query: Query, scores: Floats, rng: np.random.Generator, memory: Memory) -> Ints:
        assert query.groups is not None
        ties, keys = rng.random(self.n_groups), rng.random(len(scores))
        wanted, n = self.control * self.shares(), min(self.length, len(scores))
        return mixed_list(scores, keys, query.groups, wanted, 1.0 - self.control, ties, n)
