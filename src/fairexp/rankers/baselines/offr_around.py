"""OFFR around a host: the host's scores and exploration, lifted by the gradient of fair exposure."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats, State
from fairexp.errors import ArgumentError
from fairexp.fairness.exposure import curve_name, exposure_curve
from fairexp.fairness.ledger import Ledger
from fairexp.kernels.baselines.lists import lifted_list
from fairexp.kernels.data.clicks import extremes
from fairexp.measures import FINAL_UF
from fairexp.randomness import Seed
from fairexp.ranker import Host, HostWrapper, Ranker, TradeOff
from fairexp.rankers.baselines.objective import OBJECTIVES, gradient
from fairexp.remap import Remap
from fairexp.types import Belief, Query, Ranking
from fairexp.validation import as_shares, check_choice, check_number


class OFFRAround(HostWrapper):
    """Ranks by (1 - `fairness`) the host's value of a document + `fairness` times the gradient of the objective.

    The value is optimistic where the host has bounds: the upper bound of the score. Without bounds, or with
    `optimistic` False, it is the score that the host's draw puts the document at (the best score to the first of the
    draw, and so on), so that the host explores as it does alone, within each group. `shares` (G,) of the exposure are
    due to the groups; `objective` and `smoothing` are those of `OFFR`.

    Usunier, Do and Dohmatob, "Fast online ranking with fairness of exposure", FAccT 2022; Do, Dohmatob, Pirotta,
    Lazaric and Usunier, "Contextual bandits with concave rewards, and an application to fair ranking", ICLR 2023.
    """

    keeps_account = True
    relative_cost = 0.5
    """What it adds to its host's; a ranker's own is the sum."""

    trade_off = TradeOff("fairness", (0.0, 0.01, 0.1, 0.5, 0.9))
    fair_to = "group exposure in total"
    needs = "position bias; shares by group"
    own_measure = FINAL_UF

    def __init__(
        self,
        host: Host,
        *,
        fairness: float = 0.5,
        objective: str = "deviation",
        smoothing: float = 0.01,
        optimistic: bool = True,
        shares: ArrayLike = (1.0, 1.0),
        exposure: str | ArrayLike = "reciprocal",
        seed: Seed = None,
    ) -> None:
        super().__init__(host, seed=seed)
        self.fairness = check_number("fairness", fairness, at_least=0.0, at_most=1.0)
        self.objective = check_choice("objective", objective, tuple(OBJECTIVES))
        self.smoothing = check_number("smoothing", smoothing, above=0.0)
        self.optimistic = bool(optimistic)
        self.ledger = Ledger(as_shares(shares))
        self.exposure: Floats = exposure_curve(exposure, self.length)

    def parameters(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("host", "fairness", "objective", "smoothing", "optimistic")}
        shares: Any = self.ledger.shares
        own["shares"] = (1.0, 1.0) if np.array_equal(shares, [1.0, 1.0]) else shares
        return {**own, "exposure": curve_name(self.exposure)}

    def account(self) -> Floats:
        return self.ledger.exposure

    def target_shares(self) -> Floats:
        return self.ledger.shares

    def forget_account(self) -> None:
        self.ledger.forget()

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        belief = self.host.believe(query, rng)
        uphill = gradient(self.objective, self.ledger.exposure, self.ledger.shares, self.smoothing)
        places = np.empty(query.n_candidates)
        places[belief.draw] = np.arange(query.n_candidates)
        valued, lift = values(belief, optimistic=self.optimistic), self.fairness * uphill
        assert query.groups is not None
        shown = lifted_list(valued, 1.0 - self.fairness, lift, query.groups, places, self.length)
        memory = self.host.memory(query, belief, shown, rng)
        exposure = self.exposure[: len(shown)].copy()
        return self._show(query, shown, belief.scores, belief=belief, memory=memory, exposure=exposure)

    def _shown(self, ranking: Ranking) -> None:
        assert ranking.groups is not None and ranking.exposure is not None
        self.ledger.charge(ranking.groups, ranking.exposure)
        super()._shown(ranking)

    def _copied(self) -> Self:
        after = super()._copied()
        after.ledger = self.ledger.copied()
        return after

    def _measure(self, ranking: Ranking, measured: Floats) -> None:
        assert ranking.groups is not None and ranking.exposure is not None
        self.ledger.replace(ranking.groups, projected=ranking.exposure, measured=measured)

    def _check_query(self, query: Query) -> None:
        super()._check_query(query)
        expected = f"a group from 0 to {self.ledger.n_groups - 1} for every candidate"
        if query.groups is None:
            raise ArgumentError("query.groups", "None", expected, "Fairness is between groups.")
        largest = extremes(query.groups)[1]
        if largest >= self.ledger.n_groups:
            given = f"group {largest}"
            raise ArgumentError("query.groups", given, expected, "Pass `shares` with one entry per group.")

    def _take_over_account(self, before: Ranker, remap: Remap) -> None:
        account = before.account()
        if account is not None:
            self.ledger.take_over(Ledger(np.ones(len(account)), account), remap.groups)

    def _state(self) -> State:
        return {**super()._state(), "exposure": self.ledger.exposure.copy()}

    def _restore(self, arrays: State) -> None:
        super()._restore(arrays)
        self.ledger.exposure = np.array(arrays["exposure"], dtype=np.float64)


def values(belief: Belief, *, optimistic: bool) -> Floats:
    """What each document (n,) counts as by a host's `belief`: never against the order of its draw.

    >>> belief = Belief(np.array([0.1, 0.7]), np.array([0, 1]), np.zeros(2, int), np.zeros((2, 2), bool))
    >>> values(belief, optimistic=True)
    array([0.7, 0.1])
    """
    if optimistic and belief.upper is not None:
        known = belief.upper[np.isfinite(belief.upper)]
        return np.asarray(np.minimum(belief.upper, known.max(initial=1.0)))
    return belief.drawn_scores
