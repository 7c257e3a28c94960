"""MMF: at each position, now and then the group that has had least exposure down to there."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from fairexp.arrays import Floats, Ints, State
from fairexp.kernels.baselines.lists import worst_off_list
from fairexp.measures import FINAL_UF
from fairexp.ranker import Ranker, TradeOff
from fairexp.rankers.baselines.group_exposure import FairToGroups, GroupArguments
from fairexp.rankers.baselines.unbiased_relevance import Memory
from fairexp.remap import Remap
from fairexp.types import Query, Ranking
from fairexp.validation import check_number


class MMF(FairToGroups):
    """Fills positions from the top: with probability `control` for the group that is worst off, else by relevance.

    The worst off has, over all rounds and from the top to this position, the least exposure per merit; its best
    document is taken, or where it has none left, the next worst off's. Relevance and `merit` are as `FairCo` has them.

    Yang and Ai, "Maximizing marginal fairness for dynamic learning to rank", WWW 2021.
    """

    trade_off = TradeOff("control", (0.0, 0.25, 0.5, 0.75, 1.0))
    fair_to = "group exposure in total, at every depth of the list"
    needs = "position bias; merit by group, or it is estimated"
    own_measure = FINAL_UF

    def __init__(self, n_features: int, *, control: float = 0.5, **others: Unpack[GroupArguments]) -> None:
        super().__init__(n_features, **others)
        self.control = check_number("control", control, at_least=0.0, at_most=1.0)
        self._by_position: Floats = np.zeros((self.n_groups, self.length))

    def _choose(self, query: Query, scores: Floats, rng: np.random.Generator, memory: Memory) -> Ints:
        assert query.groups is not None
        n = min(self.length, len(scores))
        fair, ties, keys = rng.random(n) < self.control, rng.random(self.n_groups), rng.random(len(scores))
        curve, merits = self.exposure[:n], self.merits()
        return worst_off_list(scores, keys, query.groups, self._by_position, merits, curve, fair, ties)

    def _shown(self, ranking: Ranking) -> None:
        super()._shown(ranking)
        assert ranking.groups is not None and ranking.exposure is not None
        self._by_position = self._by_position.copy()
        self._by_position[ranking.groups, np.arange(len(ranking))] += ranking.exposure

    def forget_account(self) -> None:
        super().forget_account()
        self._by_position = np.zeros((self.n_groups, self.length))

    def _take_over_account(self, before: Ranker, remap: Remap) -> None:
        """What another ranker booked counts as spread over the positions by their exposure."""
        super()._take_over_account(before, remap)
        if isinstance(before, MMF) and before._by_position.shape[1] == len(self.exposure):
            self._by_position = remap.by_group(before._by_position)
        else:
            self._by_position = np.outer(self.spent, self.exposure / self.exposure.sum())

    def _state(self) -> State:
        return {**super()._state(), "by_position": self._by_position.copy()}

    def _restore(self, arrays: State) -> None:
        super()._restore(arrays)
        self._by_position = np.array(arrays["by_position"], dtype=np.float64)
