"""Sums over rounds: since the beginning, over the last rounds only, or with rounds that count less as they age."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np

from fairexp.arrays import Floats, State
from fairexp.copies import shallow
from fairexp.errors import ArgumentError
from fairexp.validation import check_count, check_number


class Sum(ABC):
    """Rows (r, G) of numbers by group, added up over rounds."""

    rounds: int
    """How many rounds were added so far."""

    def copied(self) -> Self:
        """One that rounds can be added to without a change here."""
        return shallow(self)

    @abstractmethod
    def now(self) -> Floats:
        """The sum (r, G) after the last round."""

    @abstractmethod
    def ahead(self) -> Floats:
        """What is left of it when the next round is added to it."""

    @abstractmethod
    def add(self, rows: Floats) -> None:
        """Add the next round's rows."""

    @abstractmethod
    def correct(self, rounds_ago: int, rows: Floats) -> None:
        """Add to what an earlier round, 0 for the last, has added."""

    @abstractmethod
    def set(self, rows: Floats) -> None:
        """Let the sum be this."""

    @abstractmethod
    def forget(self) -> None:
        """Start anew: no round was added."""

    @abstractmethod
    def state(self) -> State:
        """All that it holds, as arrays of fixed shapes."""

    @abstractmethod
    def restore(self, arrays: State) -> None:
        """Hold what a `state()` holds."""


class LastingSum(Sum):
    """Every round counts alike for ever, or loses half its weight with every `half_life` rounds."""

    def __init__(self, n_rows: int, n_groups: int, *, half_life: float | None = None) -> None:
        self.left = 1.0 if half_life is None else 0.5 ** (1.0 / check_number("half_life", half_life, above=0.0))
        self.rows: Floats = np.zeros((n_rows, n_groups))
        self.rounds = 0

    def now(self) -> Floats:
        return self.rows

    def ahead(self) -> Floats:
        return self.rows if self.left == 1.0 else self.rows * self.left

    def add(self, rows: Floats) -> None:
        self.rows = self.ahead() + rows
        self.rounds += 1

    def correct(self, rounds_ago: int, rows: Floats) -> None:
        self.rows = self.rows + rows * self.left**rounds_ago

    def set(self, rows: Floats) -> None:
        self.rows = np.array(rows, dtype=np.float64)

    def forget(self) -> None:
        self.rows, self.rounds = np.zeros_like(self.rows), 0

    def state(self) -> State:
        return {"rows": self.rows.copy(), "rounds": np.array(self.rounds)}

    def restore(self, arrays: State) -> None:
        self.set(arrays["rows"])  # type: ignore[arg-type]
        self.rounds = int(arrays["rounds"])


class WindowSum(Sum):
    """Only the last `window` rounds count."""

    def __init__(self, n_rows: int, n_groups: int, *, window: int) -> None:
        self.kept: Floats = np.zeros((check_count("window", window), n_rows, n_groups))
        self.rounds = 0

    def copied(self) -> Self:
        other = super().copied()
        other.kept = self.kept.copy()
        return other

    def now(self) -> Floats:
        return np.asarray(self.kept.sum(axis=0))

    def ahead(self) -> Floats:
        leaving = self.rounds % len(self.kept)
        return np.asarray(self.kept[:leaving].sum(axis=0) + self.kept[leaving + 1 :].sum(axis=0))

    def add(self, rows: Floats) -> None:
        self.kept[self.rounds % len(self.kept)] = rows
        self.rounds += 1

    def correct(self, rounds_ago: int, rows: Floats) -> None:
        if rounds_ago < len(self.kept):
            self.kept[(self.rounds - 1 - rounds_ago) % len(self.kept)] += rows

    def set(self, rows: Floats) -> None:
        """Let the sum be this, as if each round of the window had the same part in it."""
        self.kept[:] = np.asarray(rows) / len(self.kept)

    def forget(self) -> None:
        self.kept[:] = 0.0
        self.rounds = 0

    def state(self) -> State:
        return {"rows": self.kept.copy(), "rounds": np.array(self.rounds)}

    def restore(self, arrays: State) -> None:
        self.kept = np.array(arrays["rows"], dtype=np.float64)
        self.rounds = int(arrays["rounds"])


def new_sum(n_rows: int, n_groups: int, *, window: int | None = None, half_life: float | None = None) -> Sum:
    """A sum of the kind that is asked for: over a window, fading, or neither."""
    if window is not None and half_life is not None:
        raise ArgumentError("window", f"{window!r} together with half_life={half_life!r}", "one of the two")
    if window is not None:
        return WindowSum(n_rows, n_groups, window=window)
    return LastingSum(n_rows, n_groups, half_life=half_life)
