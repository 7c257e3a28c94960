"""FairExp: exposure kept fair at every round, around a host ranker that goes on learning."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairexp.arrays import Bools, Floats, Ints, State
from fairexp.errors import ArgumentError, StateError, ToleranceWarning
from fairexp.fairness.exposure import curve_name, exposure_curve, reachable_gap
from fairexp.fairness.ledger import Ledger, shares_from
from fairexp.fairness.templates import EFFORT, SCOPES, TIES, check_tolerance, find_template
from fairexp.randomness import Seed
from fairexp.rankers.base import Explorer, Ranker
from fairexp.rankers.matching import Matching
from fairexp.types import Query, Ranking
from fairexp.validation import as_measured, check_choice, check_count


class FairExp(Ranker):
    """Shows, among the rankings that keep exposure fair, the one that least contradicts what the host is sure of.

    `host` is any ranker with an explicit belief. After every round the unfairness of each pair of groups stays within
    `tolerance`, unless no ranking of that query's candidates allows it; such a round is not `qualified`, and shows
    the least unfair ranking. `beta` is how much exposure group 0 is owed for each unit of group 1; `shares` says the
    same for any number of groups. `exposure` is the attention by position; `ties`, `scope` and `effort` are those of
    `best_template`.

    >>> from fairexp import FairExp, PairRank, Query
    >>> ranker = FairExp(PairRank(n_features=2, length=3), tolerance=0.2, beta=1.0, seed=7)
    >>> query = Query(features=np.eye(4)[:, :2], groups=[0, 0, 1, 1])
    >>> ranking = ranker.rank(query)
    >>> sorted(ranking.template), ranking.qualified, round(abs(ranker.ledger.unfairness), 3)
    ([np.int64(0), np.int64(1), np.int64(1)], True, 0.167)
    >>> ranker.update(ranking, clicks=[False, True, False])

    Y. Jia and H. Wang, Calibrating Explore-Exploit Trade-off for Fair Online Learning to Rank, 2021.
    """

    host: Explorer
    keeps_account = True
    keeps_tolerance = True
    relative_cost = 1.0
    """What it adds to its host's; a ranker's own is the sum."""

    def __init__(
        self,
        host: Explorer,
        *,
        tolerance: float,
        beta: float | None = None,
        shares: ArrayLike | None = None,
        exposure: str | ArrayLike = "reciprocal",
        ties: str = "draw",
        scope: str = "full",
        effort: int = EFFORT,
        seed: Seed = None,
    ) -> None:
        if not isinstance(host, Explorer):
            raise ArgumentError(
                "host", type(host).__name__, "a ranker with an explicit belief", "Its class must derive from Explorer."
            )
        super().__init__(host.n_features, length=host.length, seed=seed)
        if seed is None:
            self.stream = host.stream
        self.host = host
        host.templated = True
        self.tolerance = check_tolerance(tolerance)
        self.ledger = Ledger(shares_from(beta, shares))
        self.keeps_history = host.keeps_history
        self.scores_unseen = host.scores_unseen
        self.rescaling = host.rescaling
        self.learns_by_increments = host.learns_by_increments
        self.uses_grades = host.uses_grades
        self.needs_query_id = host.needs_query_id
        self.relative_cost = type(self).relative_cost + host.relative_cost
        self.exposure = exposure_curve(exposure, self.length)
        self.ties = check_choice("ties", ties, TIES)
        self.scope = check_choice("scope", scope, SCOPES)
        self.effort = check_count("effort", effort)
        self._warn_of_coarse_grid()

    def update(
        self,
        ranking: Ranking,
        clicks: ArrayLike,
        *,
        grades: ArrayLike | None = None,
        measured: ArrayLike | None = None,
    ) -> None:
        """Learn from `clicks`; `measured` (m,) exposure by shown position replaces what was projected for it."""
        self._check_ours(ranking)
        amounts = None if measured is None else as_measured(measured, len(ranking))
        super().update(ranking, clicks, grades=grades)
        if amounts is not None:
            self._measure(ranking, amounts)

    def _measure(self, ranking: Ranking, measured: Floats) -> None:
        assert ranking.groups is not None and ranking.exposure is not None
        self.ledger.replace(ranking.groups, projected=ranking.exposure, measured=measured)

    def _check_query(self, query: Query) -> None:
        self.host._check_query(query)
        if query.groups is None:
            raise ArgumentError("query.groups", "None", "a group for each candidate", "Fairness is between groups.")
        if query.groups.max() >= self.ledger.n_groups:
            raise ArgumentError(
                "query.groups",
                int(query.groups.max()),
                f"group numbers below {self.ledger.n_groups}",
                "Pass `shares` with one entry per group.",
            )

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        assert query.groups is not None
        belief = self.host.believe(query, rng)
        exposure = self.exposure[: min(self.length, query.n_candidates)]
        best = find_template(
            belief.draw,
            query.groups,
            belief.relation,
            exposure=exposure,
            spent=self.ledger.exposure,
            shares=self.ledger.shares,
            tolerance=self.tolerance,
            scope=self.scope,
            ties=self.ties,
            effort=self.effort,
        )
        return self._show(
            query,
            best.shown,
            belief.scores,
            belief=belief,
            memory=self.host.memory(query, belief, best.shown, rng),
            exposure=exposure,
            unfairness=best.unfairness,
            added_regret=best.added_regret,
            qualified=best.qualified,
        )

    def _shown(self, ranking: Ranking) -> None:
        assert ranking.groups is not None and ranking.exposure is not None
        self.ledger.charge(ranking.groups, ranking.exposure)
        self.host.note(ranking)

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        self.host.learn(ranking, clicks)

    def _update_graded(self, ranking: Ranking, grades: Ints) -> None:
        self.host.learn_graded(ranking, grades)

    def _score(self, features: Floats) -> Floats:
        return self.host.estimate(features)

    @property
    def learner(self) -> Ranker:
        return self.host

    def linear_model(self) -> Floats | None:
        return self.host.linear_model()

    def account(self) -> Floats:
        return self.ledger.exposure

    def parameters(self) -> dict[str, Any]:
        shares = None if np.array_equal(self.ledger.shares, [1.0, 1.0]) else self.ledger.shares
        return {
            "host": self.host,
            "tolerance": self.tolerance,
            "beta": None,
            "shares": shares,
            "exposure": curve_name(self.exposure),
            "ties": self.ties,
            "scope": self.scope,
            "effort": self.effort,
        }

    def forget_account(self) -> None:
        self.ledger.forget()

    def _take_over_account(self, before: Ranker, matching: Matching) -> None:
        if isinstance(before, FairExp):
            self.ledger.take_over(before.ledger, matching.groups)

    def translated_memory(
        self, memory: Mapping[str, NDArray[np.generic]], matching: Matching
    ) -> Mapping[str, NDArray[np.generic]]:
        return self.host.translated_memory(memory, matching)

    def _state(self) -> State:
        own: State = {"exposure": self.ledger.exposure.copy()}
        own.update({f"host.{key}": value for key, value in self.host.state().items()})
        return own

    def _checked_state(self, arrays: State) -> State:
        own = super()._checked_state(arrays)
        if not np.isfinite(own["exposure"]).all():
            raise StateError(f"state: exposure is {own['exposure']}, expected finite numbers")
        return own

    def fits(self, key: str, value: NDArray[np.generic], expected: NDArray[np.generic]) -> bool:
        if key.startswith("host."):
            return self.host.fits(key[5:], value, expected)
        return super().fits(key, value, expected)

    def _restore(self, arrays: State) -> None:
        self.host.restore({key[5:]: value for key, value in arrays.items() if key.startswith("host.")})
        self.ledger.exposure = np.array(arrays["exposure"], dtype=np.float64)

    def _warn_of_coarse_grid(self) -> None:
        if self.ledger.n_groups != 2 or not np.isfinite(self.tolerance):
            return
        least = reachable_gap(self.exposure, self.ledger.shares).least_tolerance
        if self.tolerance < least:
            warnings.warn(
                f"tolerance: {self.tolerance:g} is below half the grid of reachable unfairness ({least:.3g}) for "
                f"this exposure curve and {self.length} positions. Some rounds may have no qualified ranking "
                "however many candidates there are; raise the tolerance or use a less flat curve.",
                ToleranceWarning,
                stacklevel=3,
            )
