"""The account of exposure that each group has received, and all arithmetic of fairness."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats, Ints
from fairexp.copies import shallow
from fairexp.errors import ArgumentError
from fairexp.fairness.sums import new_sum
from fairexp.kernels.search.gaps import SLACK, largest_gap
from fairexp.rankers.matching import NEW
from fairexp.validation import as_numbers, as_shares, check_number


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
        """Put what was measured in the place of what was projected when the ranking was shown, so many rounds ago."""
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
    return gap <= tolerance + SLACK


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
