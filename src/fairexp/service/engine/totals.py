"""What a policy has done so far, in bounded memory: counts, a ledger, and a history that thins itself out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairexp.arrays import Floats, Ints, State
from fairexp.fairness.ledger import Ledger, taken_over
from fairexp.rankers.matching import NEW

CAPACITY = 512
"""Rows of history; when they are full every second one goes, and rows then come half as often."""

RECENT = 256
COLUMNS = ("round", "at", "peak", "regret", "qualified", "clicks")
"""Round number, time, largest gap since the row before, and running totals; exposure by group follows."""


class Totals:
    """A fold over what was shown and what came back, for any ranker; without groups there is no `ledger`.

    >>> totals = Totals(np.ones(2), length=3)
    >>> for _ in range(4):
    ...     totals.show(np.array([0, 1]), np.array([1.0, 0.5]), regret=1, qualified=True, at=5.0)
    >>> totals.rounds, totals.exposure, totals.history()["peak"].tolist()
    (4, array([4., 2.]), [0.5, 1.0, 1.5, 2.0])
    """

    def __init__(self, shares: Floats | None, *, length: int) -> None:
        self.ledger = None if shares is None else Ledger(shares)
        self.rounds = 0
        self.qualified = 0
        self.regret = 0.0
        self.events = 0
        self.updates = 0
        self.clicks = 0
        self.shown_at: Ints = np.zeros(length, dtype=np.int64)
        self.clicked_at: Ints = np.zeros(length, dtype=np.int64)
        width = len(COLUMNS) + len(self.exposure)
        self._rows: Floats = np.zeros((CAPACITY, width))
        self._recent: Floats = np.zeros((RECENT, width))
        self._n_rows = 0
        self._stride = 1
        self._peak = 0.0

    @property
    def exposure(self) -> Floats:
        """What each group (G,) has received."""
        return np.zeros(0) if self.ledger is None else self.ledger.exposure

    def show(
        self,
        groups: Ints | None,
        exposure: Floats,
        *,
        regret: float,
        qualified: bool | None,
        at: float,
        first: int = 0,
    ) -> None:
        """Count one ranking: the groups (m,) and exposure (m,) of its positions, which begin at `first`."""
        self.rounds += 1
        self.regret += regret
        self.qualified += bool(qualified)
        self.shown_at[first : first + len(exposure)] += 1
        gap = 0.0
        if self.ledger is not None and groups is not None:
            self.ledger.charge(groups, exposure)
            gap = self.ledger.largest_gap
        self._peak = max(self._peak, gap)
        row = [self.rounds, at, gap, self.regret, self.qualified, self.clicks, *self.exposure]
        self._recent[(self.rounds - 1) % RECENT] = row
        if self.rounds % self._stride == 0:
            self._keep([*row[:2], self._peak, *row[3:]])

    def feed(self, *, n_events: int, clicks: Sequence[int], learned: bool) -> None:
        """Count events, and the positions that they brought to a click."""
        self.events += n_events
        self.updates += learned
        self.clicks += len(clicks)
        self.clicked_at[list(clicks)] += 1

    def measure(self, groups: Ints, *, charged: Floats, measured: Floats) -> None:
        """Put what was measured (m,) in the place of what was charged for a ranking."""
        if self.ledger is not None:
            self.ledger.replace(groups, projected=charged, measured=measured)

    def _keep(self, row: Sequence[float]) -> None:
        if self._n_rows == CAPACITY:
            pairs = self._rows.reshape(CAPACITY // 2, 2, -1)
            merged = pairs[:, 1].copy()
            merged[:, 2] = pairs[:, :, 2].max(axis=1)  # no excursion is lost
            self._rows[: CAPACITY // 2] = merged
            self._n_rows = CAPACITY // 2
            self._stride *= 2
            if self.rounds % self._stride:
                return
        self._rows[self._n_rows] = row
        self._n_rows += 1
        self._peak = 0.0

    def history(self, *, points: int = CAPACITY, recent: bool = False) -> dict[str, Any]:
        """At most `points` rows as columns; `recent` takes the latest rounds one by one instead of all of them."""
        if recent:
            first = max(self.rounds - RECENT, 0)
            rows = self._recent[np.arange(first, self.rounds) % RECENT]
        else:
            rows = self._rows[: self._n_rows]
        if len(rows) > points:
            bounds = np.linspace(0, len(rows), points + 1).astype(np.int64)
            peaks = np.maximum.reduceat(rows[:, 2], bounds[:-1])
            rows = rows[bounds[1:] - 1]
            rows[:, 2] = peaks
        columns: dict[str, Any] = {name: rows[:, number] for number, name in enumerate(COLUMNS)}
        columns["exposure"] = rows[:, len(COLUMNS) :]
        return columns

    def changed(self, *, groups: Ints, shares: Floats | None, length: int, account: bool) -> Totals:
        """The same with other groups, of which (G,) were which before, and another length; exposure from 0 if asked.

        In the history, a group has no exposure for as long as it was not there.
        """
        after = Totals(shares, length=max(length, len(self.shown_at)))
        for name in ("rounds", "qualified", "regret", "events", "updates", "clicks", "_n_rows", "_stride", "_peak"):
            setattr(after, name, getattr(self, name))
        if account and after.ledger is not None:
            after.ledger.exposure = taken_over(self.exposure, groups, after.ledger.shares)
        after.shown_at[: len(self.shown_at)] = self.shown_at
        after.clicked_at[: len(self.clicked_at)] = self.clicked_at
        fixed, known = len(COLUMNS), np.flatnonzero(groups != NEW)
        for rows, old in ((after._rows, self._rows), (after._recent, self._recent)):
            rows[:, :fixed], rows[:, fixed:] = old[:, :fixed], np.nan
            rows[:, fixed + known] = old[:, fixed + groups[known]]
        return after

    def state(self) -> State:
        """Everything, as arrays."""
        counts = [self.rounds, self.qualified, self.events, self.updates, self.clicks, self._stride]
        return {
            "counts": np.array(counts, dtype=np.int64),
            "regret": np.array(self.regret),
            "exposure": self.exposure.copy(),
            "shown_at": self.shown_at.copy(),
            "clicked_at": self.clicked_at.copy(),
            "rows": self._rows[: self._n_rows].copy(),
            "recent": self._recent[: min(self.rounds, RECENT)].copy(),
            "peak": np.array(self._peak),
        }

    @staticmethod
    def restored(arrays: State, shares: Floats | None) -> Totals:
        """The totals whose `state` this was, of groups with these shares."""
        totals = Totals(shares, length=len(arrays["shown_at"]))
        counts = [int(count) for count in np.asarray(arrays["counts"], dtype=np.int64)]
        totals.rounds, totals.qualified, totals.events, totals.updates, totals.clicks, totals._stride = counts
        totals.regret = float(arrays["regret"])
        if totals.ledger is not None:
            totals.ledger.exposure = np.array(arrays["exposure"], dtype=np.float64)
        totals.shown_at = np.array(arrays["shown_at"], dtype=np.int64)
        totals.clicked_at = np.array(arrays["clicked_at"], dtype=np.int64)
        totals._n_rows = len(arrays["rows"])
        totals._rows[: totals._n_rows] = arrays["rows"]
        totals._recent[: len(arrays["recent"])] = arrays["recent"]
        totals._peak = float(np.asarray(arrays["peak"], dtype=np.float64))
        return totals
