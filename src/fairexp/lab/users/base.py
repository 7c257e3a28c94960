"""The contract of every simulated user. A new one writes `_visit`; checks and randomness are here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Bools, Floats, Ints, State
from fairexp.errors import ArgumentError, StateError
from fairexp.kernels.data.clicks import extremes
from fairexp.randomness import Seed, make_rng, restore_rng, rng_state
from fairexp.types import Ranking
from fairexp.validation import as_array

PAGE = 64
"""Positions that one helping of coins serves."""


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """What a user did: `clicks` and `examined`, both (m,) by shown position, or (S, m) for S sessions."""

    clicks: Bools
    examined: Bools


class User(ABC):
    """Looks at rankings and clicks, given the relevance grades that rankers never see.

    Each visit draws two coins per position for a whole page of 64 positions (longer rankings: further pages),
    whatever the user then does. So two users with the same seed toss the same coins round by round, even where they
    are shown different rankings: paired runs differ by the ranker alone.
    """

    def __init__(self, n_grades: int, *, seed: Seed = None) -> None:
        self.n_grades = n_grades
        self._rng = make_rng(seed)

    def browse(self, ranking: Ranking, relevance: ArrayLike) -> Bools:
        """The clicks (m,) on `ranking`, where `relevance` (n,) are the grades of all candidates of its query."""
        return self.visit(ranking, relevance).clicks

    def visit(self, ranking: Ranking, relevance: ArrayLike) -> Visit:
        """Clicks and examined positions (m,) of one session with `ranking`; `relevance` (n,) as for `browse`."""
        if not isinstance(ranking, Ranking):
            raise ArgumentError("ranking", type(ranking).__name__, "the fairexp.Ranking that rank() returned")
        grades = self._checked_grades(relevance, n_axes=1)
        shown = ranking.shown
        lowest, highest = extremes(shown)
        if shown.size and not 0 <= lowest <= highest < len(grades):
            raise ArgumentError(
                "relevance",
                f"{len(grades)} grades for a ranking that shows document {lowest if lowest < 0 else highest}",
                "one grade per candidate of the query",
                "Pass the grades of all candidates, not those of the shown ones.",
            )
        many = self._visit(grades[shown][np.newaxis], self._coins(1, len(shown)))
        return Visit(many.clicks[0], many.examined[0])

    def visit_many(self, grades: ArrayLike) -> Visit:
        """S sessions at once: `grades` (S, m) by shown position; the same as S visits one after the other."""
        checked = self._checked_grades(grades, n_axes=2)
        return self._visit(checked, self._coins(*checked.shape))

    def state(self) -> State:
        """The random stream as arrays: all that `restore` needs to continue bit for bit."""
        own: State = {"user": np.array(type(self).__name__)}
        own.update({f"rng.{key}": value for key, value in rng_state(self._rng).items()})
        return own

    def restore(self, arrays: State) -> Self:
        """Continue from a `state()` of a user of the same class; otherwise change nothing."""
        expected = self.state()
        missing = sorted(expected.keys() - arrays.keys())
        if missing:
            raise StateError(f"state: {', '.join(missing)} missing; expected a state() of {type(self).__name__}")
        if str(arrays["user"]) != type(self).__name__:
            raise StateError(f"state: user is {arrays['user']}, expected {type(self).__name__}")
        for key, value in expected.items():
            if key.startswith("rng.") and np.shape(arrays[key]) != value.shape:
                raise StateError(f"state: {key} has shape {np.shape(arrays[key])}, expected {value.shape}")
        restore_rng(self._rng, {key[4:]: arrays[key] for key in expected if key.startswith("rng.")})
        return self

    @abstractmethod
    def _visit(self, grades: Ints, coins: Floats) -> Visit:
        """Behave, given checked `grades` (S, m) and uniform `coins` (S, 2, m); no other randomness."""

    def _coins(self, n_sessions: int, length: int) -> Floats:
        if length <= PAGE:
            return self._rng.random((n_sessions, 2, PAGE))[:, :, :length]
        n_pages = -(-length // PAGE)
        pages = self._rng.random((n_sessions, n_pages, 2, PAGE))
        return pages.swapaxes(1, 2).reshape(n_sessions, 2, n_pages * PAGE)[:, :, :length]

    def _checked_grades(self, relevance: ArrayLike, *, n_axes: int) -> Ints:
        given = as_array("relevance", relevance)
        if given.ndim != n_axes:
            wanted = "one grade per candidate (n,)" if n_axes == 1 else "one row of grades per session (S, m)"
            raise ArgumentError("relevance", f"shape {given.shape}", wanted)
        if given.size and given.dtype.kind not in "iub":
            raise ArgumentError("relevance", f"dtype {given.dtype}", "whole-number grades")
        grades = np.ascontiguousarray(given, dtype=np.int64)
        lowest, highest = extremes(grades.ravel())
        if given.size and not 0 <= lowest <= highest < self.n_grades:
            raise ArgumentError(
                "relevance",
                f"grade {lowest if lowest < 0 else highest}",
                f"grades 0 to {self.n_grades - 1}",
                f"This user knows {self.n_grades} grades; give its tables one probability per grade of the data.",
            )
        return grades


def check_probabilities(name: str, values: ArrayLike, *, length: int | None = None) -> Floats:
    """`values` as a read-only float64 array of probabilities, (length,) where given, or an `ArgumentError`."""
    raw = as_array(name, values)
    if raw.ndim != 1 or raw.size == 0 or raw.dtype.kind not in "iuf":
        raise ArgumentError(name, repr(values), "a list of at least one probability")
    given = raw.astype(np.float64)
    if length is not None and given.size != length:
        raise ArgumentError(name, f"{given.size} values", f"{length} values, one per grade")
    if not ((given >= 0) & (given <= 1)).all():
        index = int(np.argmin((given >= 0) & (given <= 1)))
        raise ArgumentError(name, f"{given[index]} at index {index}", "probabilities between 0 and 1")
    given.flags.writeable = False
    return given
