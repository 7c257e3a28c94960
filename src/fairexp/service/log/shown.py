"""A ranking as it was shown, with all that replaying it needs, as the log keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from sys import getsizeof
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints, State
from fairexp.service.log.considered import Considered, Floats32
from fairexp.service.log.contributions import Contributions
from fairexp.service.store.base import Context
from fairexp.service.store.codec import pack, unpack
from fairexp.types import Belief, Ranking

Array = TypeVar("Array", bound=NDArray[Any])
ARRAY_BYTES = 128
RECORD_BYTES = 1000
"""What an array takes besides its numbers, and a record besides its arrays and texts."""


@dataclass(frozen=True, slots=True, eq=False)
class Account:
    """Where the constraint of this name stood before a ranking, and how it came out of it.

    `spent` (G,) is what its groups had received as it counts that, `shares` (G,) what they were owed where the policy
    does not say; `gap` is the largest after the ranking, and `met` whether it was within the tolerance (None for
    rankers that keep none).
    """

    name: str
    spent: Floats
    shares: Floats | None
    gap: float
    met: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Rest:
    """The candidates that are not shown, for callers who want all: `order` (n - m,) as drawn, with their `scores`.

    `took` is how many milliseconds the ranking took.
    """

    order: Ints
    scores: Floats32
    took: int


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A ranking as it was shown. `place` (m,) are positions in `considered`.

    `features` (m, d) are float32 and as the policy declares them, before the running scale; where that was changed for
    this ranking, `rescaled` is the centre and scale (d,) from here on. `memory` is in the same units as `features`.
    `contributions` are by the model that ranked, and None where scores are no sum over features.
    `groups` (m,), or `labels` (m,) by attribute, are those of the shown; `accounts` are by constraint. `pinned` (m,)
    says which had to stand where they do, and `weight` what attention was worth. `proof` and `gap_bound` are those of
    `Ranking`.
    `context` is no part of the payload; where a request had an id, `asked` is a digest of what it asked for, and where
    the ranker learns of each query by itself, `query` is what it knows the query by.
    A page that continues the ranking at the entry `after` begins at the position `first`, from 0.
    """

    seq: int
    at: float
    version: int
    generation: int
    number: int
    n_candidates: int
    context: dict[str, Any]
    shown: Ints
    features: Floats32
    scores: Floats
    groups: Ints | None
    place: Ints
    considered: Considered
    exposure: Floats | None
    accounts: tuple[Account, ...]
    added_regret: float
    qualified: bool | None
    proof: str | None = None
    gap_bound: float | None = None
    labels: dict[str, Ints] = field(default_factory=dict)
    pinned: Bools | None = None
    weight: float = 1.0
    segment: str | None = None
    contributions: Contributions | None = None
    memory: State = field(default_factory=dict)
    believed: bool = True
    rescaled: tuple[Floats, Floats] | None = None
    asked: str = ""
    query: str = ""
    rest: Rest | None = None
    after: int | None = None
    first: int = 0

    @property
    def ids(self) -> list[str]:
        """The shown candidates' ids, from the top down."""
        return [self.considered.ids[place] for place in self.place]

    @property
    def drawn(self) -> Ints:
        """The places (m,) in `considered` of what the host would have shown by itself: its draw from the top down.

        What is pinned stays where it is.
        """
        n_shown = len(self.place)
        if self.pinned is None:
            return np.arange(n_shown)
        free, drawn = ~self.pinned, self.place.copy()
        others = np.setdiff1d(np.arange(len(self.considered.ids)), self.place[self.pinned])
        drawn[free] = others[: np.count_nonzero(free)]
        return drawn

    def trimmed(self) -> Shown:
        """Only what feedback needs, in memory of its own: no context, and no more for more candidates."""
        known, place = self.considered, self.place
        if len(known.ids) == len(place) and self.features.base is None:  # just shown, with nothing else considered
            return replace(self, context={}, rest=None, rescaled=None, contributions=None)
        kept = np.union1d(place, self.drawn)
        return replace(
            self,
            features=_own(self.features),
            scores=_own(self.scores),
            exposure=None if self.exposure is None else _own(self.exposure),
            memory={key: _own(value) for key, value in self.memory.items()},
            place=np.searchsorted(kept, place),
            considered=known.at(kept),
            contributions=None,
            rescaled=None,
            context={},
            rest=None,
        )

    @property
    def n_bytes(self) -> int:
        """About how much memory it takes."""
        known = self.considered
        arrays: list[NDArray[Any] | None] = [self.shown, self.features, self.scores, self.groups, self.place]
        arrays += [self.exposure, self.pinned, *self.memory.values(), *self.labels.values(), *known.labels.values()]
        arrays += [known.groups, known.scores, known.block, known.above, known.below]
        arrays += [array for account in self.accounts for array in (account.spent, account.shares)]
        texts = [*known.ids, *self.context.values()]
        in_arrays = sum(ARRAY_BYTES + array.nbytes for array in arrays if array is not None)
        return RECORD_BYTES + in_arrays + sum(map(getsizeof, texts)) + 8 * len(texts)

    def ranking(self, identity: int) -> Ranking:
        """The library's record, as its ranker returned it."""
        return Ranking(
            shown=self.shown,
            features=self.features.astype(np.float64),
            scores=self.scores,
            groups=self.groups,
            labels=self.labels,
            segment=self.segment,
            weight=self.weight,
            pinned=self.pinned,
            query_id=self.query or None,
            document_ids=np.array(self.ids) if self.query else None,
            ranker=identity,
            number=self.number,
            memory=self.memory,
            exposure=self.exposure,
            added_regret=self.added_regret,
            qualified=self.qualified,
            proof=self.proof,
            gap_bound=self.gap_bound,
        )

    def payload(self) -> bytes:
        """As bytes for the log."""
        known = self.considered
        meta: dict[str, Any] = {
            "version": self.version,
            "generation": self.generation,
            "number": self.number,
            "n": self.n_candidates,
            "regret": self.added_regret,
            "qualified": self.qualified,
            "believed": self.believed,
            "ids": known.ids,
        }
        arrays: State = {
            "shown": self.shown.astype(np.int32),
            "features": self.features,
            "scores": self.scores,
            "place": self.place.astype(np.int32),
            "c.scores": known.scores,
            "c.block": known.block.astype(np.int32),
            "c.above": np.packbits(known.above, axis=1),
            "c.below": np.packbits(known.below, axis=1),
        }
        if self.proof is not None:
            meta["proof"] = [self.proof, self.gap_bound]
        if self.weight != 1.0:
            meta["weight"] = self.weight
        if self.segment is not None:
            meta["segment"] = self.segment
        if self.accounts:
            meta["accounts"] = [[account.name, account.gap, account.met] for account in self.accounts]
        optional = {"groups": self.groups, "c.groups": known.groups, "pinned": self.pinned}
        optional |= {f"l.{name}": values for name, values in self.labels.items()}
        optional |= {f"c.l.{name}": values for name, values in known.labels.items()}
        arrays.update({key: value.astype(np.int16) for key, value in optional.items() if value is not None})
        if self.exposure is not None:
            arrays["exposure"] = self.exposure
        for number, account in enumerate(self.accounts):
            arrays[f"spent.{number}"] = account.spent
            if account.shares is not None:
                arrays[f"owed.{number}"] = account.shares
        if self.rescaled is not None:
            arrays["u.centre"], arrays["u.scale"] = self.rescaled
        if self.contributions is not None:
            arrays["x.features"] = self.contributions.features.astype(np.int16)
            arrays["x.amounts"] = self.contributions.amounts
        arrays.update({f"m.{key}": value for key, value in self.memory.items()})
        if self.asked:
            meta["asked"] = self.asked
        if self.after is not None:
            meta["page"] = [self.after, self.first]
        if self.query:
            meta["query"] = self.query
        if self.rest is not None:
            meta["took"] = self.rest.took
            arrays.update({"rest": self.rest.order.astype(np.int32), "r.scores": self.rest.scores})
        return pack(meta, arrays)

    @staticmethod
    def read(payload: bytes, *, seq: int, at: float, context: Context | None = None) -> Shown:
        """The record that `payload` made these bytes of, and the context that was kept beside it."""
        meta, arrays = unpack(payload)
        after, first = meta.get("page", (None, 0))
        proof, gap_bound = meta.get("proof", (None, None))
        n_considered = len(meta["ids"])
        integers = {
            key: None if key not in arrays else arrays[key].astype(np.int64)
            for key in ("shown", "place", "groups", "c.groups", "c.block")
        }
        bits = {
            key: np.unpackbits(np.asarray(arrays[key], dtype=np.uint8), axis=1, count=n_considered).astype(np.bool_)
            for key in ("c.above", "c.below")
        }
        considered = Considered(
            ids=meta["ids"],
            groups=integers["c.groups"],
            scores=arrays["c.scores"],  # type: ignore[arg-type]
            block=integers["c.block"],  # type: ignore[arg-type]
            above=bits["c.above"],
            below=bits["c.below"],
            labels=_labels(arrays, "c.l."),
        )
        return Shown(
            seq=seq,
            at=at,
            version=meta["version"],
            generation=meta["generation"],
            number=meta["number"],
            n_candidates=meta["n"],
            context={} if context is None else context.plain(),
            shown=integers["shown"],  # type: ignore[arg-type]
            features=arrays["features"],  # type: ignore[arg-type]
            scores=arrays["scores"],  # type: ignore[arg-type]
            groups=integers["groups"],
            place=integers["place"],  # type: ignore[arg-type]
            considered=considered,
            exposure=arrays.get("exposure"),  # type: ignore[arg-type]
            accounts=_accounts(meta, arrays),
            added_regret=meta["regret"],
            qualified=meta["qualified"],
            proof=proof,
            gap_bound=gap_bound,
            labels=_labels(arrays, "l."),
            pinned=arrays["pinned"].astype(np.bool_) if "pinned" in arrays else None,
            weight=meta.get("weight", 1.0),
            segment=meta.get("segment"),
            contributions=_contributions(arrays),
            memory={key[2:]: value for key, value in arrays.items() if key.startswith("m.")},
            believed=meta["believed"],
            rescaled=(arrays["u.centre"], arrays["u.scale"]) if "u.scale" in arrays else None,  # type: ignore[arg-type]
            asked=meta.get("asked", ""),
            query=meta.get("query", ""),
            rest=None if "rest" not in arrays else _rest(meta, arrays),
            after=after,
            first=first,
        )


def _labels(arrays: State, prefix: str) -> dict[str, Ints]:
    found = {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}
    return {name: value.astype(np.int64) for name, value in found.items()}


def _accounts(meta: dict[str, Any], arrays: State) -> tuple[Account, ...]:
    return tuple(
        Account(name, arrays[f"spent.{number}"], arrays.get(f"owed.{number}"), gap, met)  # type: ignore[arg-type]
        for number, (name, gap, met) in enumerate(meta.get("accounts", ()))
    )


def _contributions(arrays: State) -> Contributions | None:
    if "x.features" not in arrays:
        return None
    return Contributions(arrays["x.features"].astype(np.int64), arrays["x.amounts"])  # type: ignore[arg-type]


def _rest(meta: dict[str, Any], arrays: State) -> Rest:
    return Rest(arrays["rest"].astype(np.int64), arrays["r.scores"].astype(np.float32), meta["took"])


def rest_of(belief: Belief | None, shown: Shown, *, took: int) -> Rest:
    """The candidates that are not in `shown`, as the host drew them; in the order given if it holds nothing true."""
    draw = np.arange(shown.n_candidates) if belief is None else belief.draw
    order = draw[~np.isin(draw, shown.shown)]
    scores = np.zeros(len(order)) if belief is None else belief.scores[order]
    return Rest(order, scores.astype(np.float32), took)


def groups_of(record: Shown | Considered, attributes: Sequence[tuple[str, int]]) -> Ints:
    """The group (m,) of each document under a constraint: the number of its label, row by row for an intersection.

    `attributes` are those that the constraint goes by, each with how many labels it has.
    """
    if not record.labels:
        assert record.groups is not None
        return record.groups
    found: Ints = np.zeros(1, dtype=np.int64)
    for name, size in attributes:
        found = found * size + record.labels[name]
    return found


def _own(array: Array) -> Array:
    """The array, not as a part of something larger that it would keep in memory."""
    return array if array.base is None else array.copy()
