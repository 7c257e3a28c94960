"""What each group is owed: shares that are given, or that follow the candidates seen or the relevance learned."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairexp.arrays import Bools, Floats, Ints, State
from fairexp.remap import NEW, Number, Remap
from fairexp.ridge import OnlineRidge
from fairexp.scaling import shortened

LEARNED = ("merit", "size")
"""Names of shares that are learned as rounds go by."""

FLOOR = 0.1
"""No group is owed less than this part of an equal share, however few or irrelevant its candidates seem."""

FROZEN = 100
"""Shown documents with feedback that a group needs before its own relevance counts; until then it has the average."""

REGULARIZATION = 1.0


class Shares(ABC):
    """The shares (G,) of the moment, and what they follow."""

    accrues: bool = True
    """Whether they change, so that a ledger must keep what each round was owed at its time."""

    learns: bool = False
    """Whether clicks teach something about them."""

    @abstractmethod
    def now(self) -> Floats:
        """The shares (G,), which sum to 1 unless they were given."""

    def seen(self, features: Floats, groups: Ints) -> NDArray[np.generic] | None:
        """What must be remembered of the candidates (n, d) of a query and their groups (n,), if anything."""
        return None

    def note(self, seen: NDArray[np.generic] | None) -> None:
        """Take note that a query was ranked of whose candidates this is known."""

    def learn(self, features: Floats, groups: Ints, exposure: Floats, clicks: Bools) -> None:
        """Learn from clicks (m,) on documents (m, d) that had this exposure (m,)."""

    def standard_errors(self) -> Floats:
        """How far each share (G,) may be off, as far as that is known; 0 where nothing is estimated."""
        return np.zeros(len(self.now()))

    def take_over(self, before: Shares, remap: Remap, groups: Ints) -> None:
        """Go on from what was learned of groups that were number `groups` (G,) in `before`."""

    def state(self) -> State:
        """What it has learned, as arrays."""
        return {}

    def restore(self, arrays: State) -> None:
        """Hold what a `state()` holds."""


class GivenShares(Shares):
    """Shares that never change."""

    accrues = False

    def __init__(self, shares: Floats) -> None:
        self._shares = shares

    def now(self) -> Floats:
        return self._shares


class SizeShares(Shares):
    """Each group is owed by the number of its candidates, over all queries so far.

    >>> shares = SizeShares(2)
    >>> shares.note(shares.seen(np.zeros((4, 1)), np.array([0, 0, 0, 1])))
    >>> shares.now()
    array([0.75, 0.25])
    """

    def __init__(self, n_groups: int) -> None:
        self.n_seen: Ints = np.zeros(n_groups, dtype=np.int64)

    def now(self) -> Floats:
        return _floored(self.n_seen.astype(np.float64))

    def seen(self, features: Floats, groups: Ints) -> NDArray[np.generic]:
        return np.bincount(groups, minlength=len(self.n_seen))[None, :]

    def note(self, seen: NDArray[np.generic] | None) -> None:
        assert seen is not None
        self.n_seen = self.n_seen + np.asarray(seen[0], dtype=np.int64)

    def take_over(self, before: Shares, remap: Remap, groups: Ints) -> None:
        if isinstance(before, SizeShares):
            self.n_seen = _by_group(before.n_seen, groups)

    def state(self) -> State:
        return {"n_seen": self.n_seen.copy()}

    def restore(self, arrays: State) -> None:
        self.n_seen = np.array(arrays["n_seen"], dtype=np.int64)


class MeritShares(Shares):
    """Each group is owed by the relevance of its candidates, over all queries so far, as far as clicks show it.

    A shown document is clicked with the probability of its exposure times its relevance, and relevance is linear in its
    features and its group: ridge regression of clicks on both, times the exposure, so that position does not bias it.
    A group's merit is the sum over its candidates, which are all counted, shown or not. A group with fewer than
    `FROZEN` shown documents with feedback counts with the average relevance of what was shown.
    """

    learns = True

    def __init__(self, n_features: int, n_groups: int) -> None:
        self.n_groups = n_groups
        self.model = OnlineRidge(n_features + n_groups, regularization=REGULARIZATION)
        self.sums: Floats = np.zeros((n_groups, n_features + n_groups))
        self.n_learned: Ints = np.zeros(n_groups, dtype=np.int64)
        self.clicks, self.exposure = 0.0, 0.0

    def now(self) -> Floats:
        return _floored(self.merits())

    def merits(self) -> Floats:
        """The relevance (G,) that each group's candidates have together; never below 0."""
        average = self.clicks / self.exposure if self.exposure > 0.0 else 1.0
        learned = np.maximum(self.sums @ self.model.weights, 0.0)
        return np.where(self.n_learned < FROZEN, self._n_seen() * average, learned)

    def standard_errors(self) -> Floats:
        """Of each share (G,) by the regression's, with the variance that clicks of the average rate have."""
        rate = self.clicks / self.exposure if self.exposure > 0.0 else 1.0
        merits = self.merits()
        spread = np.sqrt(rate * self.model.squared_widths(self.sums))
        errors = spread / merits.sum() if merits.sum() > 0.0 else np.full(self.n_groups, np.inf)
        return np.where(self.n_learned < FROZEN, np.inf, errors)

    def seen(self, features: Floats, groups: Ints) -> NDArray[np.generic]:
        members = (np.arange(self.n_groups)[:, None] == groups).astype(np.float64)
        return np.asarray(members @ self._rows(features, groups))

    def note(self, seen: NDArray[np.generic] | None) -> None:
        self.sums = self.sums + np.asarray(seen, dtype=np.float64)

    def learn(self, features: Floats, groups: Ints, exposure: Floats, clicks: Bools) -> None:
        if len(groups) == 0:
            return
        self.model.add(self._rows(features, groups) * exposure[:, None], clicks.astype(np.float64))
        self.n_learned = self.n_learned + np.bincount(groups, minlength=self.n_groups)
        self.clicks += float(clicks.sum())
        self.exposure += float(exposure.sum())

    def take_over(self, before: Shares, remap: Remap, groups: Ints) -> None:
        if isinstance(before, MeritShares):
            wider = _with_groups(remap, groups, before.n_groups)
            self.model.take_over(before.model, wider)
            self.sums = wider.rows(_by_group(before.sums, groups))
            self.n_learned = _by_group(before.n_learned, groups)
            self.clicks, self.exposure = before.clicks, before.exposure

    def state(self) -> State:
        own: State = {
            "sums": self.sums.copy(),
            "n_learned": self.n_learned.copy(),
            "total": np.array([self.clicks, self.exposure]),
        }
        own.update({f"model.{key}": value for key, value in self.model.state().items()})
        return own

    def restore(self, arrays: State) -> None:
        self.sums = np.array(arrays["sums"], dtype=np.float64)
        self.n_learned = np.array(arrays["n_learned"], dtype=np.int64)
        self.clicks, self.exposure = np.asarray(arrays["total"], dtype=np.float64).tolist()
        self.model.restore({key.removeprefix("model."): arrays[key] for key in arrays if key.startswith("model.")})

    def _rows(self, features: Floats, groups: Ints) -> Floats:
        return np.hstack([shortened(features), np.eye(self.n_groups)[groups]])

    def _n_seen(self) -> Floats:
        """How many candidates (G,) each group had."""
        return self.sums[:, -self.n_groups :].diagonal()


def new_shares(shares: ArrayLike | str, *, n_features: int, n_groups: int) -> Shares:
    """The shares that a constraint asks for, at the beginning."""
    if isinstance(shares, str):
        return SizeShares(n_groups) if shares == "size" else MeritShares(n_features, n_groups)
    return GivenShares(np.asarray(shares, dtype=np.float64))


def _floored(amounts: Floats) -> Floats:
    """Shares (G,) in proportion to amounts of at least 0; equal ones while there is none, and none below the floor."""
    n_groups, total = len(amounts), float(amounts.sum())
    shares = amounts / total if total > 0.0 else np.full(n_groups, 1.0 / n_groups)
    raised = np.maximum(shares, FLOOR / n_groups)
    return np.asarray(raised / raised.sum())


def _by_group(before: NDArray[Number], groups: Ints) -> NDArray[Number]:
    after = np.zeros((len(groups), *before.shape[1:]), dtype=before.dtype)
    after[groups != NEW] = before[groups[groups != NEW]]
    return after


def _with_groups(remap: Remap, groups: Ints, n_groups_before: int) -> Remap:
    """The remap of features followed by one for each group."""
    places = np.where(groups == NEW, NEW, groups + remap.n_before)
    return Remap(
        features=np.concatenate([remap.features, places]),
        factors=np.concatenate([remap.factors, np.ones(len(groups))]),
        groups=groups,
        n_before=remap.n_before + n_groups_before,
        n_groups_before=n_groups_before,
    )
