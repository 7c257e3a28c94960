"""What a policy has done so far, in bounded memory: counts, an account for each constraint, and a history.

The history thins itself out as it grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairexp.arrays import Floats, Ints, State
from fairexp.fairness.ledger import Ledger, amounts_by_group, taken_over
from fairexp.rankers.matching import NEW

CAPACITY = 512
"""Rows of history; when they are full every second one goes, and rows then come half as often."""

RECENT = 256
COLUMNS = ("round", "at", "regret", "qualified", "clicks")
"""Round number, time and running totals. The largest gap since the row before follows by constraint, then in how many
rounds each was met, then the exposure of its groups."""

FIXED = len(COLUMNS)


class Totals:
    """A fold over what was shown and what came back, for any ranker.

    `shares` is by constraint what each group is owed, None where that follows from what happens. Without groups there
    is none.

    >>> totals = Totals([np.ones(2)], [2], length=3)
    >>> for _ in range(4):
    ...     totals.show([np.array([0, 1])], np.array([1.0, 0.5]), regret=1, qualified=True, at=5.0)
    >>> totals.rounds, totals.exposure, totals.history()["gaps"][:, 0].tolist()
    (4, array([4., 2.]), [0.5, 1.0, 1.5, 2.0])
    """

    def __init__(self, shares: Sequence[Floats | None], sizes: Sequence[int], *, length: int) -> None:
        self._shares = shares
        self.exposures: list[Floats] = [np.zeros(size) for size in sizes]
        self.met: Ints = np.zeros(len(sizes), dtype=np.int64)
        self.rounds = 0
        self.qualified = 0
        self.regret = 0.0
        self.events = 0
        self.updates = 0
        self.clicks = 0
        self.shown_at: Ints = np.zeros(length, dtype=np.int64)
        self.clicked_at: Ints = np.zeros(length, dtype=np.int64)
        self._gaps = slice(FIXED, FIXED + len(sizes))
        width = FIXED + 2 * len(sizes) + sum(sizes)
        self._rows: Floats = np.zeros((CAPACITY, width))
        self._recent: Floats = np.zeros((RECENT, width))
        self._n_rows = 0
        self._stride = 1
        self._peaks: Floats = np.zeros(len(sizes))

    @property
    def exposure(self) -> Floats:
        """What each group (G,) of the first constraint has received."""
        return self.exposures[0] if self.exposures else np.zeros(0)

    def show(
        self,
        groups: Sequence[Ints],
        exposure: Floats,
        *,
        regret: float,
        qualified: bool | None,
        at: float,
        gaps: Sequence[float] | None = None,
        met: Sequence[bool] | None = None,
        first: int = 0,
    ) -> None:
        """Count one ranking: the groups (m,) by constraint and the exposure (m,) of its positions, from `first` on.

        `gaps` and `met` say by constraint how far it is from what it is owed, and whether that is near enough; without
        them gaps are those of the exposure so far, and what is qualified is met.
        """
        self.rounds += 1
        self.regret += regret
        self.qualified += bool(qualified)
        self.met = self.met + (bool(qualified) if met is None else np.array(met, dtype=np.int64))
        self.shown_at[first : first + len(exposure)] += 1
        for number, of_shown in enumerate(groups):
            charged = amounts_by_group(of_shown, exposure, len(self.exposures[number]))
            self.exposures[number] = self.exposures[number] + charged
        now = np.array(self.gaps() if gaps is None else gaps, dtype=np.float64)
        self._peaks = np.maximum(self._peaks, now)
        counts = [self.rounds, at, self.regret, self.qualified, self.clicks]
        row = np.concatenate([counts, now, self.met, *self.exposures])
        self._recent[(self.rounds - 1) % RECENT] = row
        if self.rounds % self._stride == 0:
            row[self._gaps] = self._peaks
            self._keep(row)

    def gaps(self) -> list[float]:
        """By constraint the largest gap of its exposure so far; 0 where nothing fixed is owed."""
        of_all = zip(self._shares, self.exposures, strict=True)
        return [0.0 if shares is None else Ledger(shares, exposure).largest_gap for shares, exposure in of_all]

    def feed(self, *, n_events: int, clicks: Sequence[int], learned: bool) -> None:
        """Count events, and the positions that they brought to a click."""
        self.events += n_events
        self.updates += learned
        self.clicks += len(clicks)
        self.clicked_at[list(clicks)] += 1

    def measure(self, groups: Sequence[Ints], *, charged: Floats, measured: Floats) -> None:
        """Put what was measured (m,) in the place of what was charged for a ranking, by constraint."""
        for number, of_shown in enumerate(groups):
            change = amounts_by_group(of_shown, measured - charged, len(self.exposures[number]))
            self.exposures[number] = self.exposures[number] + change

    def _keep(self, row: Floats) -> None:
        if self._n_rows == CAPACITY:
            pairs = self._rows.reshape(CAPACITY // 2, 2, -1)
            merged = pairs[:, 1].copy()
            merged[:, self._gaps] = np.fmax.reduce(pairs[:, :, self._gaps], axis=1)  # no excursion is lost
            self._rows[: CAPACITY // 2] = merged
            self._n_rows = CAPACITY // 2
            self._stride *= 2
            if self.rounds % self._stride:
                return
        self._rows[self._n_rows] = row
        self._n_rows += 1
        self._peaks = np.zeros_like(self._peaks)

    def history(self, *, points: int = CAPACITY, recent: bool = False) -> dict[str, Any]:
        """At most `points` rows as columns; `recent` takes the latest rounds one by one instead of all of them.

        `gaps` (r, C) and `met` (r, C) are by constraint, `exposures` a table (r, G) for each.
        """
        if recent:
            first = max(self.rounds - RECENT, 0)
            rows = self._recent[np.arange(first, self.rounds) % RECENT]
        else:
            rows = self._rows[: self._n_rows]
        if len(rows) > points:
            bounds = np.linspace(0, len(rows), points + 1).astype(np.int64)
            peaks = np.fmax.reduceat(rows[:, self._gaps], bounds[:-1], axis=0)
            rows = rows[bounds[1:] - 1]
            rows[:, self._gaps] = peaks
        columns: dict[str, Any] = {name: rows[:, number] for number, name in enumerate(COLUMNS)}
        gaps, met, *exposures = np.split(rows[:, FIXED:], self._borders(), axis=1)
        return {**columns, "gaps": gaps, "met": met, "exposures": exposures[: len(self.exposures)]}

    def _borders(self) -> Ints:
        """Where the columns after the fixed ones part: gaps, rounds met, and the exposure of each constraint."""
        n = len(self.exposures)
        return np.cumsum([n, n, *(len(exposure) for exposure in self.exposures[:-1])])

    def changed(
        self, accounts: Sequence[tuple[int, Ints]], *, shares: Sequence[Floats | None], length: int, account: bool
    ) -> Totals:
        """The same with other constraints and another length; exposure from 0 unless `account` is kept.

        Each is the one of that number before (or `NEW`), and its groups (G,) are those of these numbers. In the
        history, a group has no exposure for as long as it was not there.
        """
        sizes = [len(groups) for _, groups in accounts]
        after = Totals(shares, sizes, length=max(length, len(self.shown_at)))
        for name in ("rounds", "qualified", "regret", "events", "updates", "clicks", "_n_rows", "_stride"):
            setattr(after, name, getattr(self, name))
        after.shown_at[: len(self.shown_at)] = self.shown_at
        after.clicked_at[: len(self.clicked_at)] = self.clicked_at
        for rows, old in ((after._rows, self._rows), (after._recent, self._recent)):
            rows[:, :FIXED], rows[:, FIXED:] = old[:, :FIXED], np.nan
        for number, (which, groups) in enumerate(accounts):
            if which != NEW:
                after._take_over(number, self, which, groups, account=account)
        return after

    def _take_over(self, number: int, before: Totals, which: int, groups: Ints, *, account: bool) -> None:
        """Go on with the constraint that was number `which` before."""
        self.met[number], self._peaks[number] = before.met[which], before._peaks[which]
        if account:
            shares = self._shares[number]
            even = np.ones(len(groups)) if shares is None else shares
            self.exposures[number] = taken_over(before.exposures[which], groups, even)
        known = np.flatnonzero(groups != NEW)
        for rows, old in ((self._rows, before._rows), (self._recent, before._recent)):
            for column in (0, 1):
                at, was = FIXED + column * len(self.exposures), FIXED + column * len(before.exposures)
                rows[:, at + number] = old[:, was + which]
            own, other = self._first(number), before._first(which)
            rows[:, own + known] = old[:, other + groups[known]]

    def _first(self, number: int) -> int:
        """The column in which the exposure of a constraint's groups begins."""
        return FIXED + 2 * len(self.exposures) + sum(len(exposure) for exposure in self.exposures[:number])

    def state(self) -> State:
        """Everything, as arrays."""
        counts = [self.rounds, self.qualified, self.events, self.updates, self.clicks, self._stride]
        return {
            "counts": np.array(counts, dtype=np.int64),
            "regret": np.array(self.regret),
            "exposure": np.concatenate([np.zeros(0), *self.exposures]),
            "met": self.met.copy(),
            "shown_at": self.shown_at.copy(),
            "clicked_at": self.clicked_at.copy(),
            "rows": self._rows[: self._n_rows].copy(),
            "recent": self._recent[: min(self.rounds, RECENT)].copy(),
            "peaks": self._peaks.copy(),
        }

    @staticmethod
    def restored(arrays: State, shares: Sequence[Floats | None], sizes: Sequence[int]) -> Totals:
        """The totals whose `state` this was, of groups with these shares."""
        totals = Totals(shares, sizes, length=len(arrays["shown_at"]))
        counts = [int(count) for count in np.asarray(arrays["counts"], dtype=np.int64)]
        totals.rounds, totals.qualified, totals.events, totals.updates, totals.clicks, totals._stride = counts
        totals.regret = float(arrays["regret"])
        exposure = np.array(arrays["exposure"], dtype=np.float64)
        totals.exposures = np.split(exposure, np.cumsum(sizes)[:-1]) if sizes else []
        totals.met = np.array(arrays["met"], dtype=np.int64)
        totals.shown_at = np.array(arrays["shown_at"], dtype=np.int64)
        totals.clicked_at = np.array(arrays["clicked_at"], dtype=np.int64)
        totals._n_rows = len(arrays["rows"])
        totals._rows[: totals._n_rows] = arrays["rows"]
        totals._recent[: len(arrays["recent"])] = arrays["recent"]
        totals._peaks = np.array(arrays["peaks"], dtype=np.float64)
        return totals
