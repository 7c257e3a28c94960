"""Constraints, and the account that each keeps: groups, target shares, tolerance and time window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairexp.arrays import Bools, Floats, Id, Ints, State, read_ids, written_ids
from fairexp.copies import shallow
from fairexp.errors import ArgumentError, StateError
from fairexp.fairness.ledger import Ledger, shares_from
from fairexp.fairness.search import Demand, check_tolerance
from fairexp.fairness.shares import LEARNED, new_shares
from fairexp.kernels.fairness.gaps import largest
from fairexp.remap import NEW, Remap
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


ROUND, SEEN = "ledger_round", "seen"
"""What a ranking remembers for each constraint: which of its ledger's rounds it was, and the candidates' groups."""


class Account:
    """The ledgers of a constraint and the shares of the moment.

    There is one ledger, under the key None, or one for each query or segment that was charged, the one charged longest
    ago first. `born` says with which ranking each began: what is told later about rankings from before is dropped. The
    account `remembers` if rankings must carry something for it (`memory`), under keys that begin with its `prefix`.
    """

    def __init__(self, constraint: Constraint, n_features: int, *, prefix: str = "") -> None:
        self.constraint, self.prefix = constraint, prefix
        self.shares = new_shares(constraint.owed, n_features=n_features, n_groups=constraint.n_cells)
        self.fades = constraint.window is not None or constraint.half_life is not None
        self.remembers = self.fades or self.shares.accrues
        self.ledgers: dict[Id | None, Ledger] = {}
        self.born: dict[Id | None, int] = {}
        if constraint.per is None:
            self.ledgers[None], self.born[None] = self._new_ledger(), 0

    @property
    def ledger(self) -> Ledger:
        """The ledger that was charged last."""
        return self.ledgers[next(reversed(self.ledgers))] if self.ledgers else self._new_ledger()

    @property
    def exposure(self) -> Floats:
        """What each group (G,) has received, by all ledgers together."""
        if self.constraint.per is None:
            return self.ledgers[None].exposure
        return np.asarray(sum((ledger.exposure for ledger in self.ledgers.values()), np.zeros(self.constraint.n_cells)))

    def demand(self, query: Query) -> Demand:
        """What this asks of the next round, in units of the query's weight."""
        constraint = self.constraint
        ledger = self.ledgers.get(constraint.ledger_key(query)) or self._new_ledger()
        groups, balance, tolerance = constraint.groups_of(query), ledger.balance_ahead, constraint.tolerance
        if query.weight != 1.0:
            balance, tolerance = balance / query.weight, tolerance / query.weight
        return Demand(groups, balance, self.shares.now(), tolerance)

    def memory(self, query: Query, groups: Ints) -> dict[str, NDArray[np.generic]]:
        """What a ranking must remember for `charge` and `replace`, beside what it shows."""
        own: dict[str, NDArray[np.generic]] = {}
        if self.fades:
            ledger = self.ledgers.get(self.constraint.ledger_key(query))
            own[self.prefix + ROUND] = np.array(0 if ledger is None else ledger.sum.rounds)
        seen = self.shares.seen(query.features, groups)
        if seen is not None:
            own[self.prefix + SEEN] = seen
        return own

    def copied(self) -> Account:
        """One that can be charged without a change here: `_latest` copies the ledger that is charged."""
        other = shallow(self)
        other.ledgers, other.born = self.ledgers.copy(), self.born.copy()
        other.shares = shallow(self.shares) if self.shares.accrues else self.shares
        return other

    def charge(self, ranking: Ranking) -> None:
        """Book what a ranking shows."""
        assert ranking.exposure is not None
        key = None if self.constraint.per is None else self.constraint.ledger_key(ranking)
        self.book(key, ranking.number, self.constraint.groups_of(ranking), ranking.exposure, self.shares.now())
        if self.remembers:
            self.shares.note(ranking.memory.get(self.prefix + SEEN))

    def book(self, key: Id | None, number: int, groups: Ints, exposure: Floats, shares: Floats) -> None:
        """Charge the ledger of that `key` with ranking `number`: exposure (m,) of groups (m,), owed by shares (G,)."""
        ledger = self._latest(key, number)
        ledger.shares = shares
        ledger.charge(groups, exposure)

    def _latest(self, key: Id | None, number: int) -> Ledger:
        """A copy of the ledger that a ranking belongs to, then the one charged last; the oldest may have to go."""
        ledger = self.ledgers.pop(key, None)
        if ledger is None:
            ledger, self.born[key] = self._new_ledger(), number
        else:
            ledger = ledger.copied()
        self.ledgers[key] = ledger
        while len(self.ledgers) > self.constraint.max_ledgers:
            gone = next(iter(self.ledgers))
            del self.ledgers[gone], self.born[gone]
        return ledger

    def replace(self, ranking: Ranking, measured: Floats) -> None:
        """Put measured exposure (m,) in place of what was charged for a ranking."""
        assert ranking.exposure is not None
        groups, exposures = self.constraint.groups_of(ranking), (ranking.exposure, measured)
        self.correct(self.constraint.ledger_key(ranking), ranking.number, groups, exposures, ranking.memory)

    def correct(
        self,
        key: Id | None,
        number: int,
        groups: Ints,
        exposures: tuple[Floats, Floats],
        memory: Mapping[str, NDArray[np.generic]],
    ) -> None:
        """For ranking `number`, in the ledger of that `key`: put the second exposure in place of the first."""
        ledger = self.ledgers.get(key)
        if ledger is None or number < self.born[key]:
            return
        round_ = memory.get(self.prefix + ROUND)
        rounds_ago = 0 if round_ is None else ledger.sum.rounds - 1 - int(round_)
        projected, measured = exposures
        ledger.replace(groups, projected=projected, measured=measured, rounds_ago=rounds_ago)

    def learn(self, ranking: Ranking, clicks: Bools) -> None:
        """Learn what groups are owed from clicks (m,) on what a ranking shows, if it says who was of which group."""
        if ranking.exposure is not None and self.constraint.knows(ranking):
            groups, exposure = self.constraint.groups_of(ranking), ranking.exposure / ranking.weight
            self.shares.learn(ranking.features, groups, exposure, clicks)

    def forget(self) -> None:
        """Start the ledgers anew; what was learned of the shares stays."""
        for ledger in self.ledgers.values():
            ledger.forget()
        if self.constraint.per is not None:
            self.ledgers, self.born = {}, {}

    def take_over(self, before: Account, remap: Remap) -> None:
        """Go on from the account of a constraint of the same name, with other groups where these are matched."""
        n_before = before.constraint.n_cells
        by_number = np.where(np.arange(self.constraint.n_cells) < n_before, np.arange(self.constraint.n_cells), NEW)
        groups = remap.groups if self.constraint.attributes == (GROUPS,) else by_number
        self.shares.take_over(before.shares, remap, groups)
        if self.constraint.per != before.constraint.per:
            return
        for key, old in before.ledgers.items():
            ledger = self._new_ledger()
            if ledger.accrues and old.accrues and NEW not in groups:
                ledger.shares = old.shares[groups]
            ledger.take_over(old, groups)
            ledger.sum.rounds = old.sum.rounds
            self.ledgers[key], self.born[key] = ledger, before.born[key]

    def state(self) -> State:
        """All of it as arrays; where there are several ledgers, one after the other."""
        own: State = {f"shares.{key}": value for key, value in self.shares.state().items()}
        sums = [ledger.sum.state() for ledger in self.ledgers.values()]
        for key, empty in self._new_ledger().sum.state().items():
            own[f"ledgers.{key}"] = np.array([each[key] for each in sums], dtype=empty.dtype).reshape(-1, *empty.shape)
        own["ledgers.born"] = np.array([self.born[key] for key in self.ledgers], dtype=np.int64)
        own["ledgers.shares"] = np.array([ledger.shares for ledger in self.ledgers.values()]).reshape(
            -1, self.constraint.n_cells
        )
        own["ledgers.keys"] = written_ids("" if key is None else key for key in self.ledgers)
        return own

    def check(self, arrays: State) -> None:
        """Raise a `StateError` unless a state's arrays are of numbers, and of one length."""
        length = len(arrays["ledgers.keys"])
        for key, value in arrays.items():
            if key.startswith("ledgers.") and len(value) != length:
                raise StateError(f"state: {key} has {len(value)} entries, expected {length}, one for each ledger")
        if not np.isfinite(np.asarray(arrays["ledgers.rows"], dtype=np.float64)).all():
            raise StateError("state: exposure has numbers that are not finite")

    def restore(self, arrays: State) -> None:
        """Hold what a `state()` holds."""
        self.shares.restore({key[7:]: value for key, value in arrays.items() if key.startswith("shares.")})
        self.ledgers, self.born = {}, {}
        for number, written in enumerate(read_ids(arrays["ledgers.keys"])):
            key = None if self.constraint.per is None else written
            ledger = self._new_ledger()
            ledger.sum.restore({name: arrays[f"ledgers.{name}"][number] for name in ("rows", "rounds")})
            ledger.shares = np.array(arrays["ledgers.shares"][number], dtype=np.float64)
            self.ledgers[key], self.born[key] = ledger, int(arrays["ledgers.born"][number])

    def _new_ledger(self) -> Ledger:
        kept: dict[str, Any] = {"window": self.constraint.window, "half_life": self.constraint.half_life}
        return Ledger(self.shares.now(), accrues=self.shares.accrues, **kept)
