"""What is counted of a policy's rounds: sums, their history, and what would have been without fairness."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np

from fairexp.arrays import Floats, Ints, State
from fairexp.fairness.constraint import Account
from fairexp.fairness.fairexp import FairExp
from fairexp.fairness.ledger import Ledger, amounts_by_group, taken_over
from fairexp.ranker import Ranker
from fairexp.remap import NEW, Remap
from fairexp.service.log.shown import Shown, groups_of
from fairexp.service.policies.constraints import ConstraintSpec

LENGTH = 256
"""Rows of each level."""

STEP = 4
"""A row of a level stands for this number of rows of the level below."""

ROUND, AT = 0, 1
"""The columns of the round's number and of its time, neither of which ever falls."""


class History:
    """Rows of numbers by round, one after the other, with round and time first.

    Level 0 has the latest `LENGTH` rounds one by one, level 1 every fourth of four times as many, and so on: one more
    level whenever the last is full. So any range, an hour or all of it, has between a quarter of `LENGTH` rows and
    that many, or one for each of its rounds. The columns in `peaks` are the largest value since the row before, so
    that no excursion is lost.

    >>> history = History(3, slice(2, 3))
    >>> for number in range(1, 1001):
    ...     history.add(np.array([number, 10.0 * number, number == 700]))
    >>> before, rows = history.since(ROUND, 601)
    >>> before[ROUND], rows[0, ROUND], rows[-1, ROUND], len(rows), rows[:, 2].sum()
    (np.float64(600.0), np.float64(604.0), np.float64(1000.0), 100, np.float64(1.0))
    """

    def __init__(self, width: int, peaks: slice) -> None:
        self.peaks = peaks
        self.levels: Floats = np.zeros((1, LENGTH, width))
        self.rounds = 0

    def add(self, row: Floats) -> None:
        """Add the row (w,) of the next round."""
        self.levels[0, self.rounds % LENGTH] = row
        self.rounds += 1
        for level in range(1, len(self.levels)):
            if self.rounds % STEP**level:
                break
            number = self.rounds // STEP**level  # rows of this level, with the one to come
            parts = self.levels[level - 1, np.arange(STEP * (number - 1), STEP * number) % LENGTH]
            self.levels[level, (number - 1) % LENGTH] = self._merged(parts[None])[0]
        if self.rounds == LENGTH * STEP ** (len(self.levels) - 1):  # the last level is full for the first time
            wider = np.zeros_like(self.levels[0])
            wider[: LENGTH // STEP] = self._merged(self.levels[-1].reshape(LENGTH // STEP, STEP, -1))
            self.levels = np.concatenate([self.levels, wider[None]])

    def since(self, column: int, value: float) -> tuple[Floats, Floats]:
        """The rows (r, w) with at least `value` in `column` (`ROUND` or `AT`), and the one before them.

        That one is zeros where they begin with the first round.
        """
        level = 0
        while level < len(self.levels) - 1 and self._kept(level)[0, column] >= value:
            level += 1
        rows = self._kept(level)
        for finer in reversed(range(level)):  # what came after the last row of this level
            later = self._kept(finer)
            last = rows[-1, ROUND] if len(rows) else 0.0
            rows = np.concatenate([rows, later[later[:, ROUND] > last]])
        first = int(np.searchsorted(rows[:, column], value))
        before = rows[first - 1] if first else np.zeros(rows.shape[1])
        return before, rows[first:]

    def thinned(self, rows: Floats, points: int) -> Floats:
        """At most this number of these rows (r, w), the last one among them."""
        if len(rows) <= points:
            return rows
        bounds = np.linspace(0, len(rows), points + 1).astype(np.int64)
        fewer = rows[bounds[1:] - 1]
        fewer[:, self.peaks] = np.fmax.reduceat(rows[:, self.peaks], bounds[:-1], axis=0)
        return fewer

    def _merged(self, rows: Floats) -> Floats:
        """One row for every few (r, few, w)."""
        merged = rows[:, -1].copy()
        merged[:, self.peaks] = np.fmax.reduce(rows[:, :, self.peaks], axis=1)
        return merged

    def _kept(self, level: int) -> Floats:
        """The rows (r, w) of a level, in their order."""
        number = self.rounds // STEP**level
        return np.asarray(self.levels[level, np.arange(max(number - LENGTH, 0), number) % LENGTH])


MOST = 0.99
"""No candidate that is looked at counts as surer to be clicked than this on average, however short the curve falls."""

LEDGERS = "ledgers."


class DrawnAccounts:
    """An account for each constraint that is charged what the host would have shown; none for other rankers."""

    def __init__(self, ranker: Ranker, specs: Sequence[ConstraintSpec]) -> None:
        own = ranker.accounts if isinstance(ranker, FairExp) else ()
        self.accounts = tuple(Account(each.constraint, ranker.n_features, prefix=each.prefix) for each in own)
        self._attributes = [each.attributes for each in specs]
        self._shares = [each.fixed_shares for each in specs]

    def groups(self, shown: Shown) -> list[Ints]:
        """By constraint the groups (m,) of what the host would have shown; nothing for other rankers."""
        if not self.accounts:
            return []
        drawn = shown.drawn
        return [groups_of(shown.considered, attributes)[drawn] for attributes in self._attributes]

    def show(self, shown: Shown, groups: Sequence[Ints], exposure: Floats) -> list[float]:
        """Charge what the host would have shown in place of this ranking; by constraint the gap after that."""
        gaps = []
        for number, (account, of_drawn) in enumerate(zip(self.accounts, groups, strict=True)):
            learned = shown.accounts[number].shares
            shares = self._shares[number] if learned is None else learned
            assert shares is not None
            account.book(_key(account, shown), shown.number, of_drawn, exposure, shares)
            gaps.append(account.ledger.largest_gap)
        return gaps

    def measure(self, shown: Shown, groups: Sequence[Ints], exposures: tuple[Floats, Floats]) -> None:
        """Put the second of `exposures` (m,) by position in place of the first, as if they were of the draw."""
        for account, of_drawn in zip(self.accounts, groups, strict=True):
            account.correct(_key(account, shown), shown.number, of_drawn, exposures, shown.memory)

    def gap(self, number: int, shares: Floats) -> float | None:
        """The largest gap that a constraint would have by the shares (G,) of now; None for rankers without a draw.

        Where there is an account for each query or segment it is that of the latest one, as it was then.
        """
        if not self.accounts:
            return None
        own = self.accounts[number]
        return (Ledger(shares, own.ledger.balance) if own.constraint.per is None else own.ledger).largest_gap

    def take_over(self, before: DrawnAccounts, remap: Remap) -> None:
        """Go on from the accounts of constraints of the same names."""
        known = {account.constraint.name: account for account in before.accounts}
        for account in self.accounts:
            if account.constraint.name in known:
                account.take_over(known[account.constraint.name], remap)

    def state(self) -> State:
        """All of it as arrays."""
        return {
            f"{number}.{key}": value
            for number, account in enumerate(self.accounts)
            for key, value in account.state().items()
            if key.startswith(LEDGERS)
        }

    def restore(self, arrays: State) -> None:
        """Hold what a `state()` holds."""
        for number, account in enumerate(self.accounts):
            begins = f"{number}."
            own = {key.removeprefix(begins): value for key, value in arrays.items() if key.startswith(begins)}
            account.restore({**account.state(), **own})


def expected_clicks(
    shown: Shown, attention: Floats, *, rate: tuple[float, float], log_odds: float | None
) -> tuple[float, float]:
    """The clicks expected of a ranking, and of what the host would have shown; 0 where scores say nothing.

    `attention` (m,) is how often positions are looked at, `rate` the clicks and the attention so far, `log_odds` what a
    unit of score says about clicks.
    """
    if log_odds is None:
        return 0.0, 0.0
    clicks, looked_at = rate
    typical = min((clicks + 1.0) / (looked_at + 2.0), MOST)
    scores = shown.considered.scores.astype(np.float64)
    odds = log_odds * scores[np.concatenate([shown.place, shown.drawn])].reshape(2, -1)
    mean = float(odds[0] @ attention) / (float(attention.sum()) or 1.0)
    base = log(typical / (1.0 - typical)) - mean
    clicked = 1.0 / (1.0 + np.exp(np.minimum(-(odds + base), 500.0)))
    own, drawn = (clicked @ attention).tolist()
    return own, drawn


def _key(account: Account, shown: Shown) -> str | None:
    """Which of an account's ledgers a ranking belongs to."""
    per = account.constraint.per
    return None if per is None else shown.query if per == "query" else shown.segment


COLUMNS = ("round", "at", "regret", "qualified", "clicks", "expected", "expected_as_drawn")
"""Round number, time and running totals, the last two of expected clicks. The largest gap since the row before follows
by constraint, then what it would have been as drawn, then in how many rounds each was met, then the exposure of its
groups."""

FIXED = len(COLUMNS)
PER_CONSTRAINT = 3


class Totals:
    """A fold over what was shown and what came back, for any ranker.

    `shares` is by constraint what each group is owed, None where that follows from what happens. Without groups there
    is none. What has "drawn" in its name is of what the host would have shown by itself (`service.totals.drawn`).

    >>> totals = Totals([np.ones(2)], [2], length=3)
    >>> for _ in range(4):
    ...     totals.show([np.array([0, 1])], np.array([1.0, 0.5]), regret=1, qualified=True, at=5.0)
    >>> totals.rounds, totals.exposure, totals.history()["gaps"][:, 0].tolist()
    (4, array([4., 2.]), [0.5, 1.0, 1.5, 2.0])
    """

    def __init__(self, shares: Sequence[Floats | None], sizes: Sequence[int], *, length: int) -> None:
        self._shares = shares
        self.exposures: list[Floats] = [np.zeros(size) for size in sizes]
        self.drawn_exposures: list[Floats] = [np.zeros(size) for size in sizes]
        self.met: Ints = np.zeros(len(sizes), dtype=np.int64)
        self.rounds = 0
        self.qualified = 0
        self.regret = 0.0
        self.events = 0
        self.updates = 0
        self.clicks = 0
        self.attention = 0.0
        """How often positions were looked at by the curve, all together."""
        self.expected = (0.0, 0.0)
        """Clicks expected of what was shown, and of what the host would have shown."""
        self.shown_at: Ints = np.zeros(length, dtype=np.int64)
        self.clicked_at: Ints = np.zeros(length, dtype=np.int64)
        peaks = slice(FIXED, FIXED + 2 * len(sizes))
        self._history = History(FIXED + PER_CONSTRAINT * len(sizes) + sum(sizes), peaks)

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
        weight: float = 1.0,
        drawn: Sequence[Ints] = (),
        drawn_gaps: Sequence[float] = (),
        expected: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """Count one ranking: the groups (m,) by constraint and the exposure (m,) of its positions, from `first` on.

        `gaps` and `met` say by constraint how far it is from what it is owed, and whether that is near enough; without
        them gaps are those of the exposure so far, and what is qualified is met. `drawn` and `drawn_gaps` are of what
        the host would have shown, `expected` clicks of what was shown and of that. `weight` is what attention is worth.
        """
        self.rounds += 1
        self.regret += regret
        self.qualified += bool(qualified)
        self.met = self.met + (bool(qualified) if met is None else np.array(met, dtype=np.int64))
        self.shown_at[first : first + len(exposure)] += 1
        self.attention += float(exposure.sum()) / weight
        self.expected = (self.expected[0] + expected[0], self.expected[1] + expected[1])
        _add(self.exposures, groups, exposure)
        _add(self.drawn_exposures, drawn, exposure)
        now = self.gaps() if gaps is None else gaps
        as_drawn = drawn_gaps or [np.nan] * len(now)
        counts = [self.rounds, at, self.regret, self.qualified, self.clicks, *self.expected]
        self._history.add(np.concatenate([counts, now, as_drawn, self.met, *self.exposures]))

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

    def measure(
        self,
        groups: Sequence[Ints],
        *,
        charged: Floats,
        measured: Floats,
        weight: float = 1.0,
        drawn: Sequence[Ints] = (),
    ) -> None:
        """Put what was measured (m,) in place of what was charged for a ranking, by constraint."""
        change = measured - charged
        self.attention += float(change.sum()) / weight
        _add(self.exposures, groups, change)
        _add(self.drawn_exposures, drawn, change)

    def history(self, *, points: int = 512, rounds: int | None = None, since: float | None = None) -> dict[str, Any]:
        """At most `points` rows as columns: of the latest `rounds`, of the time `since` then, or of all.

        `gaps` (r, C), `drawn_gaps` (r, C) and `met` (r, C) are by constraint, `exposures` a table (r, G) for each.
        `before` has the same of the row before, which is of zeros where all rounds are there.
        """
        by_round = (ROUND, max(self.rounds - rounds + 1, 1) if rounds is not None else 1)
        before, rows = self._history.since(*(by_round if since is None else (AT, since)))
        told = self._columns(self._history.thinned(rows, points))
        return {**told, "before": self._columns(before[None])}

    def _columns(self, rows: Floats) -> dict[str, Any]:
        columns: dict[str, Any] = {name: rows[:, number] for number, name in enumerate(COLUMNS)}
        gaps, drawn, met, *exposures = np.split(rows[:, FIXED:], self._borders(), axis=1)
        exposures = exposures[: len(self.exposures)]
        return {**columns, "gaps": gaps, "drawn_gaps": drawn, "met": met, "exposures": exposures}

    def _borders(self) -> Ints:
        """Where the columns after the fixed ones part: gaps, gaps as drawn, rounds met, and each exposure."""
        n = len(self.exposures)
        return np.cumsum([n] * PER_CONSTRAINT + [len(exposure) for exposure in self.exposures[:-1]])

    def changed(
        self, accounts: Sequence[tuple[int, Ints]], *, shares: Sequence[Floats | None], length: int, account: bool
    ) -> Totals:
        """The same with other constraints and another length; exposure from 0 unless `account` is kept.

        Each is the one of that number before (or `NEW`), and its groups (G,) are those of these numbers. In the
        history, a group has no exposure for as long as it was not there.
        """
        sizes = [len(groups) for _, groups in accounts]
        after = Totals(shares, sizes, length=max(length, len(self.shown_at)))
        for name in ("rounds", "qualified", "regret", "events", "updates", "clicks", "attention", "expected"):
            setattr(after, name, getattr(self, name))
        after.shown_at[: len(self.shown_at)] = self.shown_at
        after.clicked_at[: len(self.clicked_at)] = self.clicked_at
        width, old = after._history.levels.shape[2], self._history.levels
        after._history.levels = np.full((*old.shape[:2], width), np.nan)
        after._history.levels[..., :FIXED], after._history.rounds = old[..., :FIXED], self._history.rounds
        for number, (which, groups) in enumerate(accounts):
            if which != NEW:
                after._take_over(number, self, which, groups, account=account)
        return after

    def _take_over(self, number: int, before: Totals, which: int, groups: Ints, *, account: bool) -> None:
        """Go on with the constraint that was number `which` before."""
        self.met[number] = before.met[which]
        if account:
            shares = self._shares[number]
            even = np.ones(len(groups)) if shares is None else shares
            self.exposures[number] = taken_over(before.exposures[which], groups, even)
            self.drawn_exposures[number] = taken_over(before.drawn_exposures[which], groups, even)
        known = np.flatnonzero(groups != NEW)
        rows, old = self._history.levels, before._history.levels
        for column in range(PER_CONSTRAINT):
            at, was = FIXED + column * len(self.exposures), FIXED + column * len(before.exposures)
            rows[..., at + number] = old[..., was + which]
        own, other = self._first(number), before._first(which)
        rows[..., own + known] = old[..., other + groups[known]]

    def _first(self, number: int) -> int:
        """The column in which the exposure of a constraint's groups begins."""
        sizes = [len(exposure) for exposure in self.exposures]
        return FIXED + PER_CONSTRAINT * len(sizes) + sum(sizes[:number])

    def state(self) -> State:
        """Everything, as arrays."""
        counts = [self.rounds, self.qualified, self.events, self.updates, self.clicks]
        return {
            "counts": np.array(counts, dtype=np.int64),
            "sums": np.array([self.regret, self.attention, *self.expected]),
            "exposure": np.concatenate([np.zeros(0), *self.exposures]),
            "drawn": np.concatenate([np.zeros(0), *self.drawn_exposures]),
            "met": self.met.copy(),
            "shown_at": self.shown_at.copy(),
            "clicked_at": self.clicked_at.copy(),
            "rows": self._history.levels.copy(),
        }

    @staticmethod
    def restored(arrays: State, shares: Sequence[Floats | None], sizes: Sequence[int]) -> Totals:
        """The totals whose `state` this was, of groups with these shares."""
        totals = Totals(shares, sizes, length=len(arrays["shown_at"]))
        counts = [int(count) for count in np.asarray(arrays["counts"], dtype=np.int64)]
        totals.rounds, totals.qualified, totals.events, totals.updates, totals.clicks = counts
        totals.regret, totals.attention, *expected = np.asarray(arrays["sums"], dtype=np.float64).tolist()
        totals.expected = (expected[0], expected[1])
        totals.exposures, totals.drawn_exposures = (
            np.split(np.array(arrays[name], dtype=np.float64), np.cumsum(sizes)[:-1]) if sizes else []
            for name in ("exposure", "drawn")
        )
        totals.met = np.array(arrays["met"], dtype=np.int64)
        totals.shown_at = np.array(arrays["shown_at"], dtype=np.int64)
        totals.clicked_at = np.array(arrays["clicked_at"], dtype=np.int64)
        totals._history.levels, totals._history.rounds = np.array(arrays["rows"], dtype=np.float64), totals.rounds
        return totals


def _add(exposures: list[Floats], groups: Sequence[Ints], amounts: Floats) -> None:
    """Add amounts (m,) to what groups have received, by constraint, where its groups (m,) are given."""
    for number, of_positions in enumerate(groups):
        exposures[number] = exposures[number] + amounts_by_group(of_positions, amounts, len(exposures[number]))
