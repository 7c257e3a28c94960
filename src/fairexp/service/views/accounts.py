"""Constraints in an explanation: where each stood, what was owed, whether it was met, and what moved because of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.fairness.ledger import Ledger, amounts_by_group, within
from fairexp.service.log.shown import Account, Shown, groups_of
from fairexp.service.policies.constraints import ConstraintSpec
from fairexp.service.policies.spec import PolicySpec


def told_accounts(shown: Shown, spec: PolicySpec, *, is_fair: bool) -> list[dict[str, Any]]:
    """For each constraint its account before and after the ranking, what its groups lacked, and whether it was met."""
    return [
        {
            "constraint": each.title,
            "tolerance": each.tolerance if is_fair else None,
            "met": account.met,
            "gap": account.gap,
            "lacking": _lacking(account, each),
            "ledger": _ledger(shown, account, each),
        }
        for each, account in zip(spec.accounts, shown.accounts, strict=True)
    ]


def reasons(shown: Shown, spec: PolicySpec, position: int, passed: list[int]) -> list[str]:
    """The constraints for which the candidate at `position` stands above the considered ones that it `passed`.

    Those that would be further off than allowed, had one of these stood where it does, and it where that one does.
    """
    positions = {place: number for number, place in enumerate(shown.place.tolist())}
    found = []
    for each, account in zip(spec.accounts, shown.accounts, strict=True):
        groups = groups_of(shown.considered, each.attributes)
        own = groups[shown.place]
        # Many were passed, but only their groups matter, and where they stand.
        cases = {(int(groups[other]), positions.get(other)) for other in passed if groups[other] != own[position]}
        limit = each.tolerance if account.met else account.gap
        if any(not within(_gap_if_exchanged(shown, account, each, own, position, *case), limit) for case in cases):
            found.append(each.title)
    return found


def _gap_if_exchanged(
    shown: Shown, account: Account, constraint: ConstraintSpec, groups: Ints, position: int, group: int, at: int | None
) -> float:
    """The gap with a candidate of `group` at `position`, and the one that is there at the other's position, if any."""
    exchanged = groups.copy()
    if at is not None:
        exchanged[at] = groups[position]
    exchanged[position] = group
    after = account.spent + amounts_by_group(exchanged, _charged(shown), constraint.n_groups)
    return Ledger(_shares(account, constraint), after).largest_gap


def _charged(shown: Shown) -> Floats:
    """The exposure (m,) that each position was charged."""
    return np.zeros(len(shown.shown)) if shown.exposure is None else shown.exposure


def _shares(account: Account, constraint: ConstraintSpec) -> Floats:
    shares = constraint.fixed_shares if account.shares is None else account.shares
    assert shares is not None
    return shares


def _lacking(account: Account, constraint: ConstraintSpec) -> dict[str, float]:
    """By group the exposure that it was short of its share before the ranking; of those that were."""
    shares = _shares(account, constraint)
    short = shares * (account.spent.sum() / shares.sum()) - account.spent
    named = zip(constraint.group_names, short.tolist(), strict=True)
    return {name: amount for name, amount in named if not within(amount, 0.0)}


def _ledger(shown: Shown, account: Account, constraint: ConstraintSpec) -> dict[str, Any]:
    shares, names = _shares(account, constraint), constraint.group_names
    charged = amounts_by_group(groups_of(shown, constraint.attributes), _charged(shown), len(shares))
    after = account.spent + charged
    return {
        "before": _account(account.spent, shares, names),
        "charged": dict(zip(names, charged.tolist(), strict=True)),
        "after": _account(after, shares, names),
    }


def _account(exposure: Floats, shares: Floats, names: list[str]) -> dict[str, Any]:
    return {
        "exposure": dict(zip(names, exposure.tolist(), strict=True)),
        "unfairness": named_gaps(exposure, shares, names),
        "largest_gap": Ledger(shares, exposure).largest_gap,
    }


def named_gaps(exposure: Floats, shares: Floats, names: list[str]) -> list[dict[str, Any]]:
    """The signed gap of every pair of groups: positive where the first has had more than its due."""
    table = Ledger(shares, exposure).gaps()
    return [
        {"groups": [names[one], names[two]], "unfairness": float(table[one, two])}
        for one in range(len(names))
        for two in range(one + 1, len(names))
    ]
