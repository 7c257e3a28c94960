"""MMF: at each position, now and then the group that has had least exposure down to there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats, Ints, State
from fairexp.fairness.rivals.parts.groups import FairToGroups, Merit
from fairexp.fairness.rivals.parts.learned import Memory, best_first
from fairexp.kernels.rivals.lists import worst_off_list
from fairexp.measures import FINAL_UF
from fairexp.randomness import Seed
from fairexp.rankers.base import Ranker, TradeOff
from fairexp.rankers.matching import Matching
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

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        exposure: str | Path | ArrayLike = "reciprocal",
        merit: Merit = "estimated",
        n_groups: int | None = None,
        control: float = 0.5,
        regularization: float = 1.0,
        clip: float = 0.01,
        seed: Seed = None,
    ) -> None:
        super().__init__(
            n_features,
            length=length,
            exposure=exposure,
            merit=merit,
            n_groups=n_groups,
            regularization=regularization,
            clip=clip,
            seed=seed,
        )
        self.control = check_number("control", control, at_least=0.0, at_most=1.0)
        self._by_position: Floats = np.zeros((self.n_groups, self.length))

    def _choose(self, query: Query, scores: Floats, rng: np.random.Generator, memory: Memory) -> Ints:
        assert query.groups is not None
        n = min(self.length, len(scores))
        fair, ties = rng.random(n) < self.control, rng.permutation(self.n_groups)
        order, curve = best_first(scores, rng), self.exposure[:n]
        return worst_off_list(order, query.groups, self._by_position, self.merits(), curve, fair, ties)

    def _shown(self, ranking: Ranking) -> None:
        super()._shown(ranking)
        assert ranking.groups is not None and ranking.exposure is not None
        self._by_position[ranking.groups, np.arange(len(ranking))] += ranking.exposure

    def forget_account(self) -> None:
        super().forget_account()
        self._by_position = np.zeros((self.n_groups, self.length))

    def _take_over_account(self, before: Ranker, matching: Matching) -> None:
        """What another ranker booked counts as spread over the positions by their exposure."""
        super()._take_over_account(before, matching)
        if isinstance(before, MMF) and before._by_position.shape[1] == len(self.exposure):
            self._by_position = matching.by_group(before._by_position)
        else:
            self._by_position = np.outer(self.spent, self.exposure / self.exposure.sum())

    def _state(self) -> State:
        return {**super()._state(), "by_position": self._by_position.copy()}

    def _restore(self, arrays: State) -> None:
        super()._restore(arrays)
        self._by_position = np.array(arrays["by_position"], dtype=np.float64)
