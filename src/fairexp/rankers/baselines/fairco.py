"""FairCo: a controller that lifts the documents of groups whose exposure per merit lags behind."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from fairexp.arrays import Floats, Ints, State
from fairexp.fairness.ledger import amounts_by_group
from fairexp.kernels.baselines.lists import lifted_list
from fairexp.kernels.baselines.objectives import lag
from fairexp.measures import FINAL_UF
from fairexp.ranker import Ranker, TradeOff
from fairexp.rankers.baselines.merit import EitherLevel, LevelArguments
from fairexp.rankers.baselines.unbiased_relevance import Memory
from fairexp.remap import Remap
from fairexp.types import Query, Ranking
from fairexp.validation import check_choice, check_number

BALANCES = ("exposure", "impact")


class FairCo(EitherLevel):
    """Ranks by estimated relevance plus `control` times how far a document's group lags in exposure per merit.

    Relevance is linear in the features: ridge regression (`regularization`) on clicks divided by the exposure of
    their position (never by less than `clip`), over all displayed documents, clicked or not. A group's lag is the
    largest cumulative exposure per merit of any group minus its own. Ties in the sum are broken at random. With
    `balance` "impact" clicks are balanced in place of exposure; with `level` "item" the documents of each query
    in place of groups.

    `merit` (G,) are numbers, such as mean relevance labels; or "estimated": the mean score, by the current model,
    of the group's candidates seen so far. `n_groups` is needed only with the latter, where it is 2 unless given.
    `spent` (G,) is the exposure shown so far by group. Feature vectors longer than
    `fairexp.scaling.MAX_NORM` are shortened to it.

    >>> ranker = FairCo(1, length=1, merit=(1.0, 1.0), control=1.0, seed=0)
    >>> query = Query(features=[[1.0], [1.0]], groups=[0, 1])
    >>> for _ in range(10):
    ...     ranking = ranker.rank(query)
    >>> ranker.spent
    array([5., 5.])

    Morik, Singh, Hong and Joachims, "Controlling fairness and bias in dynamic learning-to-rank", SIGIR 2020.
    """

    trade_off = TradeOff("control", (0.0, 0.001, 0.01, 0.1, 1.0))
    fair_to = "group exposure in total; also impact (clicks), also items of each query"
    needs = "position bias; merit by group, or it is estimated"
    own_measure = FINAL_UF

    def __init__(
        self, n_features: int, *, balance: str = "exposure", control: float = 0.01, **others: Unpack[LevelArguments]
    ) -> None:
        super().__init__(n_features, **others)
        self.balance = check_choice("balance", balance, BALANCES)
        self.control = check_number("control", control, at_least=0.0)
        self.clicked: Floats = np.zeros(self.n_groups)

    def lag(self) -> Floats:
        """How far each group (G,) is behind the best treated one in what it has received per merit."""
        return lag(self._received(), self.merits())

    def _choose(self, query: Query, scores: Floats, rng: np.random.Generator, memory: Memory) -> Ints:
        standing = self._standing(query, scores)
        lift = self.control * lag(standing.received, standing.merit)
        return lifted_list(scores, 1.0, lift, standing.of, rng.random(len(scores)), self.length)

    def _received(self) -> Floats:
        return self.spent if self.balance == "exposure" else self.clicked

    def _book_shown(self, ranking: Ranking) -> None:
        if self.balance == "exposure":
            super()._book_shown(ranking)

    def _learn(self, ranking: Ranking, rewards: Floats) -> None:
        super()._learn(ranking, rewards)
        if self.balance == "impact" and self.by_item:
            self._book_items(ranking, rewards)
        elif self.balance == "impact" and ranking.groups is not None:
            self.clicked = self.clicked + amounts_by_group(ranking.groups, rewards, self.n_groups)

    def forget_account(self) -> None:
        super().forget_account()
        self.clicked = np.zeros(self.n_groups)

    def _take_over_account(self, before: Ranker, remap: Remap) -> None:
        super()._take_over_account(before, remap)
        if isinstance(before, FairCo):
            self.clicked = remap.by_group(before.clicked)

    def _state(self) -> State:
        return {**super()._state(), "clicked": self.clicked.copy()}

    def _restore(self, arrays: State) -> None:
        super()._restore(arrays)
        self.clicked = np.array(arrays["clicked"], dtype=np.float64)
