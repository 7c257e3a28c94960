"""A constraint of fairness: between which groups, what each is owed, and how far off they may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.fairness.ledger import shares_from
from fairexp.fairness.shares import LEARNED
from fairexp.fairness.templates import check_tolerance
from fairexp.kernels.search.gaps import largest
from fairexp.types import Query, Ranking
from fairexp.validation import as_array, as_shares, check_choice, check_count, check_text

GROUPS = "groups"
"""What a constraint is between unless it says otherwise: `Query.groups`."""

PER = ("query", "segment")


@dataclass(frozen=True, slots=True, eq=False)
class Constraint:
    """The exposure of groups may differ from what they are owed by at most `tolerance`, for every pair.

    - `by`: which groups. "groups" are `Query.groups`, other names are of `Query.labels`; several names are an
      intersection, with a group for each combination (the last name's labels count fastest).
    - `shares` (G,), or `beta` for two groups: what each is owed, in proportion; equal parts where neither is given.
      "size" follows the candidates seen, "merit" the relevance learned (`fairexp.fairness.shares` says how).
    - `n_groups`: how many groups, or labels of each name, where `shares` do not say so; two, unless given.
    - `window` or `half_life`, in rounds: what is long ago counts no more, or less and less.
    - `per`: "query" or "segment" for a ledger of each `Query.query_id` or `Query.segment`. Of more than `max_ledgers`
      the one that was charged longest ago goes, and its groups start anew.

    >>> Constraint(0.5, by=("groups", "type"), shares=[[2, 1], [2, 1]]).name
    'groups x type'
    """

    tolerance: float
    by: str | tuple[str, ...] = GROUPS
    beta: float | None = None
    shares: ArrayLike | str | None = None
    n_groups: int | tuple[int, ...] | None = None
    window: int | None = None
    half_life: float | None = None
    per: str | None = None
    max_ledgers: int = 10_000
    name: str = ""
    attributes: tuple[str, ...] = field(init=False, repr=False)
    """The names that `by` stands for."""
    sizes: tuple[int, ...] = field(init=False, repr=False)
    """How many labels each of them has."""
    owed: Floats | str = field(init=False, repr=False)
    """The shares (G,) that are given, or the name of those to learn."""

    def __post_init__(self) -> None:
        attributes = (self.by,) if isinstance(self.by, str) else tuple(self.by) if isinstance(self.by, Sequence) else ()
        if not attributes or not all(isinstance(each, str) and each for each in attributes):
            raise ArgumentError("by", repr(self.by), "a name, or several for an intersection")
        put = object.__setattr__
        put(self, "tolerance", check_tolerance(self.tolerance))
        put(self, "attributes", attributes)
        put(self, "sizes", _sizes(self, len(attributes)))
        put(self, "owed", _owed(self))
        put(self, "name", check_text("name", self.name) or " x ".join(attributes))
        put(self, "max_ledgers", check_count("max_ledgers", self.max_ledgers))
        if self.per is not None:
            check_choice("per", self.per, PER)
        if self.window is not None and self.half_life is not None:
            raise ArgumentError("window", f"{self.window!r} with half_life={self.half_life!r}", "one of the two")

    @property
    def n_cells(self) -> int:
        """How many groups there are, intersections counted."""
        return prod(self.sizes)

    @property
    def is_plain(self) -> bool:
        """Whether it is one that FairExp's `tolerance` and `shares` say in full."""
        kind = (self.attributes, self.window, self.half_life, self.per, self.name)
        return kind == ((GROUPS,), None, None, None, GROUPS) and not isinstance(self.owed, str)

    def check(self, query: Query) -> None:
        """Raise an `ArgumentError` unless the query's candidates have the groups that this is between."""
        for attribute, size in zip(self.attributes, self.sizes, strict=True):
            labels = _labels(query, attribute)
            if labels is None or largest(labels) >= size:
                place = "query.groups" if attribute == GROUPS else f"query.labels[{attribute!r}]"
                if labels is None:
                    raise ArgumentError(place, "None", "a group for each candidate", "Fairness is between groups.")
                remedy = "Pass `shares` with one entry per group."
                raise ArgumentError(place, largest(labels), f"group numbers below {size}", remedy)
        if self.per is not None and self.ledger_key(query) is None:
            wanted = f"an id, since the constraint {self.name!r} keeps a ledger per {self.per}"
            raise ArgumentError("query.query_id" if self.per == "query" else "query.segment", "None", wanted)

    def knows(self, documents: Query | Ranking) -> bool:
        """Whether they have the groups that this is between; a ranking of before a change may have lost them."""
        return all(_labels(documents, attribute) is not None for attribute in self.attributes)

    def groups_of(self, documents: Query | Ranking) -> Ints:
        """The group (n,) of each candidate, or of each document shown."""
        groups = _labels(documents, self.attributes[0])
        assert groups is not None
        if len(self.attributes) == 1:
            return groups
        for attribute, size in zip(self.attributes[1:], self.sizes[1:], strict=True):
            labels = _labels(documents, attribute)
            assert labels is not None
            groups = groups * size + labels
        return groups

    def ledger_key(self, documents: Query | Ranking) -> str | int | None:
        """Which ledger a query, or a ranking, belongs to; None where there is one for all."""
        if self.per is None:
            return None
        return documents.query_id if self.per == "query" else documents.segment


def check_constraints(constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """The constraints, the most important first, or an `ArgumentError`."""
    given = tuple(constraints) if isinstance(constraints, Sequence) else ()
    if not given or not all(isinstance(each, Constraint) for each in given):
        raise ArgumentError("constraints", repr(constraints), "at least one Constraint, the most important first")
    names = [each.name for each in given]
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError("constraints", f"{name!r} twice", "names that differ", "Give one of them a `name`.")
    return given


def _labels(documents: Query | Ranking, attribute: str) -> Ints | None:
    return documents.groups if attribute == GROUPS else documents.labels.get(attribute)


def _sizes(constraint: Constraint, n_attributes: int) -> tuple[int, ...]:
    """How many labels each attribute has."""
    shares, given = constraint.shares, constraint.n_groups
    if shares is not None and not isinstance(shares, str):
        shape = as_array("shares", shares).shape
        if len(shape) != n_attributes:
            wanted = f"numbers with {n_attributes} axes, one for each of {', '.join(constraint.attributes)}"
            raise ArgumentError("shares", f"shape {shape}", wanted)
        if given is not None and given not in (shape, prod(shape)):
            raise ArgumentError("n_groups", given, f"{shape}, as `shares` have", "Leave it out.")
        return shape
    if given is None:
        return (2,) * n_attributes
    sizes = given if isinstance(given, tuple) else (given,)
    if len(sizes) != n_attributes:
        raise ArgumentError("n_groups", repr(given), f"a number for each of {', '.join(constraint.attributes)}")
    return tuple(check_count("n_groups", size) for size in sizes)


def _owed(constraint: Constraint) -> Floats | str:
    """The shares (G,) that are given, or the name of those to learn."""
    shares, beta = constraint.shares, constraint.beta
    if isinstance(shares, str):
        if beta is not None:
            raise ArgumentError("beta", f"{beta!r} together with shares={shares!r}", "one of the two")
        return check_choice("shares", shares, LEARNED)
    if shares is not None:
        return shares_from(beta, np.ravel(np.asarray(shares)))
    if beta is not None and prod(constraint.sizes) != 2:
        raise ArgumentError("beta", repr(beta), "two groups", "Pass `shares` for more.")
    return shares_from(beta, None) if prod(constraint.sizes) == 2 else as_shares(np.ones(prod(constraint.sizes)))
