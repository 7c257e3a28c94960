"""FairCo: a controller that lifts the documents of groups whose exposure per merit lags behind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Bools, Floats, Ints, State
from fairexp.errors import ArgumentError
from fairexp.fairness.exposure import curve_name, exposure_curve
from fairexp.fairness.ledger import amounts_by_group
from fairexp.kernels.learning.linear import bounded_scores, linear_scores, top_documents
from fairexp.randomness import Seed
from fairexp.rankers.base import Ranker
from fairexp.rankers.matching import NEW, Matching
from fairexp.rankers.ridge import OnlineRidge
from fairexp.rankers.scaling import MAX_NORM, shortened
from fairexp.types import Query, Ranking
from fairexp.validation import check_count, check_number

MERIT_FLOOR = 1e-4
"""Estimated merits below this, negative ones included, count as this much."""

DEFAULT_GROUPS = 2


class FairCo(Ranker):
    """Ranks by estimated relevance plus `control` times how far a document's group lags in exposure per merit.

    Relevance is linear in the features: ridge regression (`regularization`) on clicks divided by the exposure of
    their position (never by less than `clip`), over all displayed documents, clicked or not. A group's lag is the
    largest cumulative exposure per merit of any group minus its own. Ties in the sum are broken at random.

    `merit` (G,) are numbers, such as mean relevance labels; or "estimated": the mean score, by the current model,
    of the group's candidates seen so far. `n_groups` is needed only with the latter, where it is 2 unless given.
    `spent` (G,) is the exposure shown so far by group. Feature vectors longer than
    `fairexp.rankers.scaling.MAX_NORM` are shortened to it.

    >>> ranker = FairCo(1, length=1, merit=(1.0, 1.0), control=1.0, seed=0)
    >>> query = Query(features=[[1.0], [1.0]], groups=[0, 1])
    >>> for _ in range(10):
    ...     ranking = ranker.rank(query)
    >>> ranker.spent
    array([5., 5.])

    Morik, Singh, Hong and Joachims, "Controlling fairness and bias in dynamic learning-to-rank", SIGIR 2020.
    """

    keeps_account = True
    uses_grades = True
    rescaling = "factor"
    relative_cost = 5.0

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        exposure: str | Path | ArrayLike = "reciprocal",
        merit: Sequence[float] | Floats | str = "estimated",
        n_groups: int | None = None,
        control: float = 0.01,
        regularization: float = 1.0,
        clip: float = 0.01,
        seed: Seed = None,
    ) -> None:
        super().__init__(n_features, length=length, seed=seed)
        self.exposure: Floats = exposure_curve(exposure, self.length)
        self.merit = _check_merit(merit)
        self.n_groups = _count_groups(self.merit, n_groups)
        self.control = check_number("control", control, at_least=0.0)
        self.clip = check_number("clip", clip, above=0.0)
        self.regularization = check_number("regularization", regularization, above=0.0)
        self.spent: Floats = np.zeros(self.n_groups)
        self._relevance = OnlineRidge(self.n_features, regularization=self.regularization)
        self._seen: Ints = np.zeros(self.n_groups, dtype=np.int64)
        self._seen_features: Floats = np.zeros((self.n_groups, self.n_features))

    @property
    def weights(self) -> Floats:
        """The relevance model (d,)."""
        return self._relevance.weights

    def linear_model(self) -> Floats:
        return self.weights

    def account(self) -> Floats:
        return self.spent

    def parameters(self) -> dict[str, Any]:
        estimated = self.merit is None
        return {
            **super().parameters(),
            "exposure": curve_name(self.exposure),
            "merit": "estimated" if estimated else self.merit,
            "n_groups": self.n_groups if estimated and self.n_groups != DEFAULT_GROUPS else None,
        }

    def forget_account(self) -> None:
        self.spent = np.zeros(self.n_groups)

    def merits(self) -> Floats:
        """The merit (G,) that each group is held to at present: as given, or as estimated so far."""
        if self.merit is not None:
            return self.merit
        totals = linear_scores(self._seen_features, self.weights)
        return np.maximum(totals / np.maximum(self._seen, 1), MERIT_FLOOR)

    def lag(self) -> Floats:
        """How far each group (G,) is behind the best treated one in cumulative exposure per merit."""
        per_merit = self.spent / self.merits()
        return np.asarray(per_merit.max() - per_merit)

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        groups = self._groups_of(query)
        scores = self._score(query.features)
        lifted = scores + self.control * self.lag()[groups]
        shown = top_documents(lifted, rng.random(query.n_candidates), self.length)
        memory = {}
        if self.merit is None:
            members = np.arange(self.n_groups)[:, None] == groups
            memory["seen"] = members.sum(axis=1)
            memory["seen_features"] = members.astype(np.float64) @ shortened(query.features)
        return self._show(query, shown, scores, exposure=self.exposure[: len(shown)].copy(), memory=memory)

    def _shown(self, ranking: Ranking) -> None:
        assert ranking.groups is not None and ranking.exposure is not None
        self.spent = self.spent + amounts_by_group(ranking.groups, ranking.exposure, self.n_groups)
        if self.merit is None:
            self._seen = self._seen + np.asarray(ranking.memory["seen"], dtype=np.int64)
            self._seen_features = self._seen_features + np.asarray(ranking.memory["seen_features"], dtype=np.float64)

    def _measure(self, ranking: Ranking, measured: Floats) -> None:
        assert ranking.groups is not None and ranking.exposure is not None
        charged = amounts_by_group(ranking.groups, ranking.exposure, self.n_groups)
        self.spent = self.spent + (amounts_by_group(ranking.groups, measured, self.n_groups) - charged)

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        self._learn(ranking, clicks.astype(np.float64))

    def _update_graded(self, ranking: Ranking, grades: Ints) -> None:
        self._learn(ranking, grades.astype(np.float64))

    def _learn(self, ranking: Ranking, rewards: Floats) -> None:
        shown = self.exposure[: len(ranking)] if ranking.exposure is None else ranking.exposure
        self._relevance.add(shortened(ranking.features), rewards / np.maximum(shown, self.clip))

    def _score(self, features: Floats) -> Floats:
        scores: Floats = bounded_scores(features, self.weights, MAX_NORM)
        return scores

    def _check_query(self, query: Query) -> None:
        super()._check_query(query)
        self._groups_of(query)

    def _groups_of(self, query: Query) -> Ints:
        expected = f"a group from 0 to {self.n_groups - 1} for every candidate"
        if query.groups is None:
            raise ArgumentError("query.groups", "None", expected, "FairCo balances the exposure of groups.")
        if query.groups.max() >= self.n_groups:
            remedy = "Give the ranker a merit for every group, or n_groups where merit is estimated."
            raise ArgumentError("query.groups", f"group {query.groups.max()}", expected, remedy)
        return query.groups

    def _take_over(self, before: FairCo, matching: Matching) -> None:
        self._relevance.take_over(before._relevance, matching)
        self._seen = matching.by_group(before._seen)
        self._seen_features = matching.rows(matching.by_group(before._seen_features))

    def _take_over_account(self, before: Ranker, matching: Matching) -> None:
        """A group that is new starts with the others' mean exposure."""
        if isinstance(before, FairCo):
            self.spent = matching.by_group(before.spent)
            known = matching.groups != NEW
            if known.any():
                self.spent[~known] = self.spent[known].mean()

    def _state(self) -> State:
        own: State = {
            "spent": self.spent.copy(),
            "seen": self._seen.copy(),
            "seen_features": self._seen_features.copy(),
        }
        own.update({f"relevance.{key}": value for key, value in self._relevance.state().items()})
        return own

    def _restore(self, arrays: State) -> None:
        self.spent = np.array(arrays["spent"], dtype=np.float64)
        self._seen = np.array(arrays["seen"], dtype=np.int64)
        self._seen_features = np.array(arrays["seen_features"], dtype=np.float64)
        prefix = "relevance."
        self._relevance.restore({key.removeprefix(prefix): arrays[key] for key in arrays if key.startswith(prefix)})


def _check_merit(merit: Sequence[float] | Floats | str) -> Floats | None:
    """The merits (G,), or None where they are to be estimated."""
    wanted = "positive numbers, one per group, or 'estimated'"
    if isinstance(merit, str):
        if merit != "estimated":
            raise ArgumentError("merit", repr(merit), wanted)
        return None
    given = np.asarray(merit)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "fiu":
        raise ArgumentError("merit", repr(merit), wanted)
    if not (np.isfinite(given).all() and (given > 0).all()):
        raise ArgumentError("merit", repr(merit), wanted, "A group without merit has no exposure to be due.")
    return given.astype(np.float64)


def _count_groups(merit: Floats | None, n_groups: int | None) -> int:
    if merit is None:
        return DEFAULT_GROUPS if n_groups is None else check_count("n_groups", n_groups)
    if n_groups is not None and n_groups != len(merit):
        raise ArgumentError("n_groups", n_groups, f"{len(merit)}, the number of merits", "Leave it out.")
    return len(merit)
