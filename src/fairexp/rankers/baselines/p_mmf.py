"""P-MMF: prices by group that follow the dual of max-min fairness."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from fairexp.arrays import Floats, Ints, State
from fairexp.kernels.algebra.linear import top_documents
from fairexp.kernels.baselines.lists import lifted_list
from fairexp.measures import FINAL_UF
from fairexp.ranker import Ranker, TradeOff
from fairexp.rankers.bandits.per_query import HORIZON
from fairexp.rankers.baselines.group_exposure import FairToGroups, GroupArguments
from fairexp.rankers.baselines.unbiased_relevance import Memory
from fairexp.remap import Remap
from fairexp.types import Query, Ranking
from fairexp.validation import check_count, check_number

EXHAUSTED = 1e4
"""What documents of a group that has had all its exposure are marked down by."""


class PMMF(FairToGroups):
    """Takes the documents of highest estimated relevance less their group's price, and shows them by relevance.

    After each round prices go down where a group had less than its due and up where it had more: dual descent with
    step `step`, averaged over rounds by `momentum`. The discounts of all groups together are held to `boost`, the
    weight of the worst-off group's exposure; that projection has a closed form (`projected`). A group may have
    `capacity` times its share of the exposure of `horizon` rounds, and then goes last. Relevance and `merit` are as
    `FairCo` has them.

    C. Xu, Chen, J. Xu, Shen, Zhang, Wang and Dong, "P-MMF: provider max-min fairness re-ranking in recommender
    system", WWW 2023.
    """

    trade_off = TradeOff("boost", (0.0, 0.01, 0.1, 0.3, 1.0))
    fair_to = "group exposure in total, the worst-off group first"
    needs = "position bias; how many rounds there will be; merit by group, or it is estimated"
    own_measure = FINAL_UF

    def __init__(
        self,
        n_features: int,
        *,
        boost: float = 1.0,
        capacity: float = 2.0,
        horizon: int = HORIZON,
        step: float = 0.01,
        momentum: float = 0.5,
        **others: Unpack[GroupArguments],
    ) -> None:
        super().__init__(n_features, **others)
        self.boost = check_number("boost", boost, at_least=0.0)
        self.capacity = check_number("capacity", capacity, at_least=1.0)
        self.horizon = check_count("horizon", horizon)
        self.step = check_number("step", step, at_least=0.0)
        self.momentum = check_number("momentum", momentum, above=0.0, at_most=1.0)
        self._capacity = self.capacity * self.horizon * float(self.exposure.sum())
        self.prices: Floats = np.zeros(self.n_groups)
        self._drift: Floats = np.zeros(self.n_groups)

    def _choose(self, query: Query, scores: Floats, rng: np.random.Generator, memory: Memory) -> Ints:
        exhausted = self.spent >= self._capacity * self.shares()
        assert query.groups is not None
        keys = rng.random(len(scores))
        chosen = lifted_list(scores, 1.0, -(self.prices + EXHAUSTED * exhausted), query.groups, keys, self.length)
        shown: Ints = chosen[top_documents(scores[chosen], keys[chosen], len(chosen))]
        return shown

    def _shown(self, ranking: Ranking) -> None:
        before = self.spent
        super()._shown(ranking)
        assert ranking.exposure is not None
        shares, had = self.shares(), (self.spent - before) / ranking.exposure.sum()
        self._drift = self.momentum * (self.capacity * shares - had) + (1.0 - self.momentum) * self._drift
        self.prices = projected(self.prices - self.step * self._drift / shares**2, shares, self.boost)

    def forget_account(self) -> None:
        super().forget_account()
        self.prices, self._drift = np.zeros(self.n_groups), np.zeros(self.n_groups)

    def _take_over_account(self, before: Ranker, remap: Remap) -> None:
        super()._take_over_account(before, remap)
        if isinstance(before, PMMF):
            self.prices, self._drift = remap.by_group(before.prices), remap.by_group(before._drift)

    def _state(self) -> State:
        return {**super()._state(), "prices": self.prices.copy(), "drift": self._drift.copy()}

    def _restore(self, arrays: State) -> None:
        super()._restore(arrays)
        self.prices = np.array(arrays["prices"], dtype=np.float64)
        self._drift = np.array(arrays["drift"], dtype=np.float64)


def projected(prices: Floats, shares: Floats, boost: float) -> Floats:
    """The nearest prices (G,), in the norm of `shares` times prices, whose discounts cost at most `boost` together.

    Prices above 0 stay; the others, times their shares, are moved towards 0 by the same amount each, as far as 0.

    >>> projected(np.array([1.0, -2.0, -4.0]), np.array([0.5, 0.25, 0.25]), 1.0)
    array([ 1., -1., -3.])
    """
    weighed = (shares * prices).tolist()
    total, moved = -boost, 0.0
    for n, debt in enumerate(sorted((-each for each in weighed if each < 0.0), reverse=True), start=1):
        total += debt
        moved = max(moved, total / n)
    return np.array([each if each >= 0.0 else min(each + moved, 0.0) for each in weighed]) / shares
