"""Where constraints stand: now, before a ranking, and after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairexp.arrays import Floats
from fairexp.fairness.fairexp import FairExp
from fairexp.fairness.ledger import Ledger, amounts_by_group
from fairexp.ranker import Ranker
from fairexp.service.log.shown import Account
from fairexp.service.policies.constraints import ConstraintSpec
from fairexp.service.totals import Totals
from fairexp.types import Query, Ranking

Demand = tuple[Floats, Floats | None]
"""What a constraint counts its groups (G,) to have had, and what they are owed where the policy does not say."""


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """Where a constraint stands: what its groups (G,) have had as it counts that, and are owed; its largest gap.

    `errors` (G,) say how far shares may be off that are learned. `spent` is None where there is an account for each
    query or segment; the gap is then that of the latest one.
    """

    spent: Floats | None
    shares: Floats
    errors: Floats
    gap: float


def standing(number: int, constraint: ConstraintSpec, ranker: Ranker, totals: Totals) -> Standing:
    """Where the constraint of this number stands now: by the ranker's account, or by the totals where it has none."""
    if not isinstance(ranker, FairExp):
        shares, spent = constraint.fixed_shares, totals.exposures[number]
        assert shares is not None
        return Standing(spent, shares, np.zeros(len(shares)), Ledger(shares, spent).largest_gap)
    own = ranker.accounts[number]
    owed, errors = own.shares.now(), own.shares.standard_errors()
    if own.constraint.per is not None:
        return Standing(None, owed, errors, own.ledger.largest_gap)
    balance = own.ledger.balance
    return Standing(balance, owed, errors, Ledger(owed, balance).largest_gap)


def demands_of(query: Query, ranker: Ranker, totals: Totals) -> list[Demand]:
    """What each constraint demands before a query is ranked."""
    if not isinstance(ranker, FairExp):
        return [(exposure, None) for exposure in totals.exposures]
    found: list[Demand] = []
    for account in ranker.accounts:
        demand = account.demand(query)
        found.append((demand.spent * query.weight, demand.shares if account.shares.accrues else None))
    return found


def settled(
    demands: list[Demand], constraints: list[ConstraintSpec], ranker: Ranker, ranking: Ranking, exposure: Floats
) -> tuple[Account, ...]:
    """Where each constraint stood before a ranking, and how it came out of it, with the exposure (m,) of the shown."""
    if isinstance(ranker, FairExp):
        told = zip(demands, ranking.gaps.items(), ranking.met.values(), strict=True)
        return tuple(Account(name, *of, gap, met) for of, (name, gap), met in told)
    if not demands:
        return ()
    ((spent, _),), (one,) = demands, constraints
    assert one.fixed_shares is not None and ranking.groups is not None
    after = spent + amounts_by_group(ranking.groups, exposure, one.n_groups)
    return (Account(one.title, spent, None, Ledger(one.fixed_shares, after).largest_gap, ranking.qualified),)
