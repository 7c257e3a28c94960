"""Which features and groups of one ranker are those of another: what a change of either can take over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Floats, Ints
from fairexp.errors import ArgumentError

Number = TypeVar("Number", bound=np.generic)
NEW = -1
"""The place of what was not there before."""


@dataclass(frozen=True, slots=True, eq=False)
class Remap:
    """For each feature (d,) and each group (G,) its number in the ranker before, or `NEW`.

    A feature whose unit changes has a factor (d,): what its values from before are multiplied by. So a weight is
    divided by it, and a sum of products is multiplied by both factors.

    >>> remap = Remap.by_name(["age", "price", "size"], before=["price", "age"])
    >>> remap.features, remap.weights(np.array([2.0, 5.0]))
    (array([ 1,  0, -1]), array([5., 2., 0.]))
    """

    features: Ints
    factors: Floats
    groups: Ints
    n_before: int
    n_groups_before: int

    @staticmethod
    def by_name(
        features: Sequence[str],
        *,
        before: Sequence[str],
        factors: Floats | None = None,
        groups: Sequence[str] = (),
        groups_before: Sequence[str] = (),
    ) -> Remap:
        """The remap of what has the same name; names differ from each other."""
        if factors is not None and not (np.isfinite(factors).all() and (factors > 0).all()):
            raise ArgumentError("factors", factors, "finite numbers above 0")
        return Remap(
            features=_places(features, before),
            factors=np.ones(len(features)) if factors is None else factors,
            groups=_places(groups, groups_before),
            n_before=len(before),
            n_groups_before=len(groups_before),
        )

    @staticmethod
    def of_units(factors: Floats, *, n_groups: int) -> Remap:
        """The same features (d,) and groups, with features in other units."""
        n = len(factors)
        return Remap(np.arange(n), factors, np.arange(n_groups), n, n_groups)

    @property
    def is_identity(self) -> bool:
        """Whether nothing changes."""
        return bool(
            np.array_equal(self.features, np.arange(self.n_before))
            and (self.factors == 1.0).all()
            and np.array_equal(self.groups, np.arange(self.n_groups_before))
        )

    def rows(self, before: Floats) -> Floats:
        """Feature vectors (m, d) from before; what is new was 0 in all of them."""
        known = self.features != NEW
        after = np.zeros((len(before), len(self.features)))
        after[:, known] = before[:, self.features[known]] * self.factors[known]
        return after

    def weights(self, before: Floats) -> Floats:
        """A linear model (d,) from before, which gives the same scores; what is new weighs 0."""
        return self._vector(before, 1.0 / self.factors)

    def moment(self, before: Floats) -> Floats:
        """A sum (d,) of feature vectors from before."""
        return self._vector(before, self.factors)

    def square(self, before: Floats) -> Floats:
        """A sum (d, d) of products of feature vectors from before."""
        known = np.flatnonzero(self.features != NEW)
        after = np.zeros((len(self.features), len(self.features)))
        scale = self.factors[known]
        after[np.ix_(known, known)] = before[np.ix_(self.features[known], self.features[known])] * np.outer(
            scale, scale
        )
        return after

    def by_group(self, before: NDArray[Number]) -> NDArray[Number]:
        """Amounts (G, ...) by group from before, 0 for new groups."""
        after = np.zeros((len(self.groups), *before.shape[1:]), dtype=before.dtype)
        after[self.groups != NEW] = before[self.groups[self.groups != NEW]]
        return after

    def group_numbers(self, before: Ints) -> Ints | None:
        """The present numbers (m,) of groups from before; None if one of them is gone."""
        now = np.full(self.n_groups_before, NEW)
        known = np.flatnonzero(self.groups != NEW)
        now[self.groups[known]] = known
        after = now[before]
        return None if (after == NEW).any() else after

    def _vector(self, before: Floats, factors: Floats) -> Floats:
        known = self.features != NEW
        after = np.zeros(len(self.features))
        after[known] = before[self.features[known]] * factors[known]
        return after


def _places(names: Sequence[str], before: Sequence[str]) -> Ints:
    known = {name: place for place, name in enumerate(before)}
    return np.array([known.get(name, NEW) for name in names], dtype=np.int64)
