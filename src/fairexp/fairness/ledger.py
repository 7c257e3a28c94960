"""How much exposure each group has received, summed exactly, and how far that is from the target shares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats, Ints, State
from fairexp.copies import shallow
from fairexp.errors import ArgumentError
from fairexp.kernels.fairness.gaps import EPSILON, largest_gap
from fairexp.remap import NEW
from fairexp.validation import as_numbers, as_shares, check_count, check_number


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


class Ledger:
    """Exposure by group, and how far it is from the groups' shares.

    Group g is owed a share w_g of the exposure. The unfairness of a pair is E_g - (w_g / w_h) E_h, so the ratios
    beta_gh = w_g / w_h are transitive by construction; with two groups it is the paper's signed UF_t.

    Exposure is added up since the beginning, over the last `window` rounds, or so that a round counts half as much
    after `half_life` more. Where shares change as rounds go by, the ledger `accrues`: each round is owed by the shares
    of its time, and the unfairness of a pair is (E_g - O_g) - (w_g / w_h) (E_h - O_h), which is the same as above where
    they never change.

    >>> ledger = Ledger(shares=(1.0, 1.0))
    >>> ledger.charge(np.array([0, 1, 0]), np.array([1.0, 0.5, 0.25]))
    >>> ledger.exposure, ledger.unfairness
    (array([1.25, 0.5 ]), 0.75)
    """

    def __init__(
        self,
        shares: Sequence[float] | Floats,
        exposure: Floats | None = None,
        *,
        window: int | None = None,
        half_life: float | None = None,
        accrues: bool = False,
    ) -> None:
        self.shares = as_shares(shares)
        self.accrues = accrues
        self.sum = new_sum(2 if accrues else 1, len(self.shares), window=window, half_life=half_life)
        if exposure is not None:
            self.exposure = _as_account(exposure, self.shares)

    @property
    def n_groups(self) -> int:
        return len(self.shares)

    @property
    def exposure(self) -> Floats:
        """What each group (G,) has received."""
        return np.asarray(self.sum.now()[0])

    @exposure.setter
    def exposure(self, exposure: Floats) -> None:
        """Let groups have received this; where the ledger accrues, they were owed it by the present shares."""
        self.sum.set(self._rows(np.asarray(exposure, dtype=np.float64)))

    @property
    def balance(self) -> Floats:
        """What gaps are of (G,): exposure, or where the ledger accrues, exposure less what was owed."""
        return self._balance(self.sum.now())

    @property
    def balance_ahead(self) -> Floats:
        """The balance (G,) that the next round's exposure is added to."""
        return self._balance(self.sum.ahead())

    @property
    def unfairness(self) -> float | Floats:
        """The signed gap of groups 0 and 1; with more groups the matrix (G, G) of every pair's."""
        return signed_gaps(self.balance, self.shares)

    def gaps(self) -> Floats:
        """The signed gap of every pair (G, G), however many groups there are."""
        return pair_gaps(self.balance, self.shares)

    @property
    def largest_gap(self) -> float:
        """The largest magnitude of unfairness over pairs g < h: what the tolerance limits."""
        return float(largest_gap(self.balance, self.shares))

    def amounts(self, groups: Ints, exposure: Floats) -> Floats:
        """The exposure (G,) that positions with these `groups` (m,) and `exposure` (m,) give each group."""
        return amounts_by_group(groups, exposure, self.n_groups)

    def keeps(self, tolerance: float) -> bool:
        """Whether every pair is within `tolerance`."""
        return within(self.largest_gap, tolerance)

    def copied(self) -> Ledger:
        """One that can be charged without a change here."""
        other = shallow(self)
        other.sum = self.sum.copied()
        return other

    def charge(self, groups: Ints, exposure: Floats) -> None:
        """Book the exposure (m,) of shown positions to the groups (m,) that hold them."""
        self.sum.add(self._rows(self.amounts(groups, exposure)))

    def replace(self, groups: Ints, *, projected: Floats, measured: Floats, rounds_ago: int = 0) -> None:
        """Put what was measured in place of what was projected when the ranking was shown, so many rounds ago."""
        self.sum.correct(rounds_ago, self._rows(self.amounts(groups, measured) - self.amounts(groups, projected)))

    def take_over(self, before: Ledger, groups: Ints) -> None:
        """Go on from the account of groups that were number `groups` (G,) in `before`; see `taken_over`."""
        exposure = taken_over(before.exposure, groups, self.shares)
        rows = self._rows(exposure)
        if self.accrues and before.accrues:
            known = groups != NEW
            surplus = np.zeros(self.n_groups)
            surplus[known] = before.balance[groups[known]]
            rows[1] = exposure - (surplus - surplus.sum() * self.shares / self.shares.sum())
        self.sum.set(rows)

    def forget(self) -> None:
        """Start anew: nobody has received anything."""
        self.sum.forget()

    def _rows(self, amounts: Floats) -> Floats:
        """Exposure (G,) as the rows that are added up, with what was owed of it where that accrues."""
        if not self.accrues:
            return amounts[None, :]
        return np.stack([amounts, amounts.sum() * self.shares / self.shares.sum()])

    def _balance(self, rows: Floats) -> Floats:
        balance: Floats = rows[0] - rows[1] if self.accrues else rows[0]
        return balance


def within(gap: float, tolerance: float) -> bool:
    """Whether a gap counts as within `tolerance`: what rounding adds must not decide.

    >>> within(0.1 + 1e-12, 0.1), within(0.101, 0.1)
    (True, False)
    """
    return gap <= tolerance + EPSILON


def amounts_by_group(groups: Ints, exposure: Floats, n_groups: int) -> Floats:
    """The exposure (G,) that positions with these `groups` (m,) and `exposure` (m,) give each group."""
    return np.asarray(np.bincount(groups, weights=exposure, minlength=n_groups), dtype=np.float64)


def taken_over(before: Floats, groups: Ints, shares: Floats) -> Floats:
    """The exposure (G,) of groups that were number `groups` (G,) in `before`.

    Those that stay keep their account. A group that is new starts where its share says that it should stand: at the
    others' exposure per share, taken together.

    >>> taken_over(np.array([6.0, 3.0, 9.0]), np.array([0, 1, NEW]), np.array([2.0, 1.0, 2.0]))
    array([6., 3., 6.])
    """
    known = groups != NEW
    after: Floats = np.zeros(len(groups))
    after[known] = before[groups[known]]
    if known.any():
        after[~known] = shares[~known] * (after[known].sum() / shares[known].sum())
    return after


def signed_gaps(exposure: Floats, shares: Floats) -> float | Floats:
    """E_0 - (w_0 / w_1) E_1 for two groups; the matrix (G, G) of E_g - (w_g / w_h) E_h for more."""
    if len(shares) == 2:
        (received, other), (owed, to_other) = exposure.tolist(), shares.tolist()
        return float(received - owed / to_other * other)
    return pair_gaps(exposure, shares)


def pair_gaps(exposure: Floats, shares: Floats) -> Floats:
    """E_g - (w_g / w_h) E_h at [..., g, h], for exposure (..., G) by group."""
    return np.asarray(exposure[..., :, None] - shares[:, None] / shares * exposure[..., None, :])


def shares_from(beta: float | None, shares: ArrayLike | None) -> Floats:
    """The shares that `beta` (two groups) or `shares` (any number) stand for; equal ones if both are None."""
    if beta is not None and shares is not None:
        raise ArgumentError("beta", f"{beta!r} together with shares={shares!r}", "one of the two")
    if shares is not None:
        return as_shares(shares)
    return np.array([1.0 if beta is None else check_number("beta", beta, above=0.0), 1.0])


def _as_account(exposure: Floats, shares: Floats) -> Floats:
    given = as_numbers("exposure", exposure, n=len(shares), each="share")
    if not np.isfinite(given).all():
        raise ArgumentError("exposure", repr(exposure), f"{len(shares)} finite numbers, one per share")
    return given
