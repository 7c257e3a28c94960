"""The account of exposure by group, what each group merits, and the best documents of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from fairexp.arrays import Floats, Ints, State
from fairexp.errors import ArgumentError
from fairexp.fairness.ledger import amounts_by_group
from fairexp.kernels.algebra.linear import linear_scores
from fairexp.kernels.data.clicks import extremes
from fairexp.ranker import Ranker
from fairexp.rankers.baselines.unbiased_relevance import LearnedRelevance, Memory, RelevanceArguments
from fairexp.remap import NEW, Remap
from fairexp.scaling import shortened
from fairexp.types import Query, Ranking
from fairexp.validation import check_count

MERIT_FLOOR = 1e-4
"""Estimated merits below this, negative ones included, count as this much."""

DEFAULT_GROUPS = 2

Merit = Sequence[float] | Floats | str


class GroupArguments(RelevanceArguments, total=False):
    """What every rival takes that knows groups."""

    merit: Merit
    n_groups: int | None


class FairToGroups(LearnedRelevance):
    """Keeps the exposure `spent` (G,) by group, over all queries.

    `merit` (G,) are numbers, such as mean relevance labels; or "estimated": the mean score, by the current model, of
    the group's candidates seen so far. `n_groups` is needed only with the latter, where it is 2 unless given.
    """

    keeps_account = True

    def __init__(
        self,
        n_features: int,
        *,
        merit: Merit = "estimated",
        n_groups: int | None = None,
        **others: Unpack[RelevanceArguments],
    ) -> None:
        super().__init__(n_features, **others)
        self.merit = _check_merit(merit)
        self.n_groups = _count_groups(self.merit, n_groups)
        self.spent: Floats = np.zeros(self.n_groups)
        self._seen: Ints = np.zeros(self.n_groups, dtype=np.int64)
        self._seen_features: Floats = np.zeros((self.n_groups, self.n_features))

    def account(self) -> Floats | None:
        return self.spent

    def target_shares(self) -> Floats | None:
        return self.merit

    def parameters(self) -> dict[str, Any]:
        estimated = self.merit is None
        return {
            **super().parameters(),
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

    def shares(self) -> Floats:
        """The merits as shares (G,) that add up to 1."""
        merits = self.merits()
        return np.asarray(merits / merits.sum())

    def _noted(self, query: Query) -> Memory:
        if self.merit is not None:
            return {}
        members = np.arange(self.n_groups)[:, None] == query.groups
        features = members.astype(np.float64) @ shortened(query.features)
        return {"seen": members.sum(axis=1), "seen_features": features}

    def _shown(self, ranking: Ranking) -> None:
        assert ranking.groups is not None and ranking.exposure is not None
        self.spent = self.spent + amounts_by_group(ranking.groups, ranking.exposure, self.n_groups)
        if self.merit is None:
            self._seen = self._seen + np.asarray(ranking.memory["seen"], dtype=np.int64)
            self._seen_features = self._seen_features + np.asarray(ranking.memory["seen_features"], dtype=np.float64)

    def _measure(self, ranking: Ranking, measured: Floats) -> None:
        assert ranking.groups is not None and ranking.exposure is not None
        self.spent = self.spent + amounts_by_group(ranking.groups, measured - ranking.exposure, self.n_groups)

    def _check_query(self, query: Query) -> None:
        super()._check_query(query)
        expected = f"a group from 0 to {self.n_groups - 1} for every candidate"
        if query.groups is None:
            remedy = f"{type(self).__name__} balances the exposure of groups."
            raise ArgumentError("query.groups", "None", expected, remedy)
        largest = extremes(query.groups)[1]
        if largest >= self.n_groups:
            remedy = "Give the ranker a merit for every group, or n_groups where merit is estimated."
            raise ArgumentError("query.groups", f"group {largest}", expected, remedy)

    def _take_over(self, before: Any, remap: Remap) -> None:
        super()._take_over(before, remap)
        self._seen = remap.by_group(before._seen)
        self._seen_features = remap.rows(remap.by_group(before._seen_features))

    def _take_over_account(self, before: Ranker, remap: Remap) -> None:
        """Any fair ranker's account will do; a group that is new starts with the others' mean exposure."""
        account = before.account()
        if account is not None:
            self.spent = remap.by_group(account)
            known = remap.groups != NEW
            if known.any():
                self.spent[~known] = self.spent[known].mean()

    def _state(self) -> State:
        own: State = {
            "spent": self.spent.copy(),
            "seen": self._seen.copy(),
            "seen_features": self._seen_features.copy(),
        }
        return {**super()._state(), **own}

    def _restore(self, arrays: State) -> None:
        super()._restore(arrays)
        self.spent = np.array(arrays["spent"], dtype=np.float64)
        self._seen = np.array(arrays["seen"], dtype=np.int64)
        self._seen_features = np.array(arrays["seen_features"], dtype=np.float64)


def _check_merit(merit: Merit) -> Floats | None:
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
