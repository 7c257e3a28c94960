"""The best ranking for one exploration draw under any number of demands: what several constraints ask of one round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Bools, Bytes, Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.fairness.ledger import amounts_by_group, signed_gaps, within
from fairexp.fairness.templates import (
    EFFORT,
    SCOPES,
    TIES,
    as_curve,
    as_order,
    as_owed,
    as_relation,
    check_tolerance,
    find_template,
)
from fairexp.kernels.search.gaps import largest_gap
from fairexp.validation import check_choice, check_count


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """What one constraint asks of one round.

    `groups` (n,) of the documents, what each group has been charged so far in `spent` (G,), what it is owed in `shares`
    (G,), and the tolerance that no pair of groups may miss that by.
    """

    groups: Ints
    spent: Floats
    shares: Floats
    tolerance: float


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a ranking makes of one demand.

    `template` (m,) holds the groups from the top position down; `exposure` (G,) is by group after the round;
    `unfairness` after it is signed for two groups and a (G, G) matrix for more, `gap` its largest magnitude over pairs;
    `met`: whether that is within the tolerance. Where it is not, no ranking that does as well by the demands before it
    has a gap below `gap_bound`.
    """

    template: Ints
    exposure: Floats
    unfairness: float | Floats
    gap: float
    met: bool
    gap_bound: float


@dataclass(frozen=True, slots=True, eq=False)
class BestRanking:
    """What `best_ranking` found: `shown` (m,) document indices from the top down, and an `Outcome` for each demand.

    No ranking that does as well by all demands has less added regret than `regret_bound`. `exact`: whether that and
    the outcomes' bounds are reached, so that nothing is better.
    """

    shown: Ints
    added_regret: int
    exact: bool
    regret_bound: int
    outcomes: tuple[Outcome, ...]

    @property
    def qualified(self) -> bool:
        """Whether all demands are met."""
        return all(outcome.met for outcome in self.outcomes)


def best_ranking(
    order: ArrayLike,
    demands: Sequence[Demand],
    certain_order: ArrayLike,
    *,
    exposure: ArrayLike,
    scope: str = "full",
    ties: str = "draw",
    effort: int = EFFORT,
    rng: np.random.Generator | None = None,
) -> BestRanking:
    """The ranking that meets every demand at the least added regret.

    Demands come in the order of their priority. If they cannot all be met, the gap of the first is within its tolerance
    if any ranking allows that, and else the least; given that, so is the second's; and so on. Among the rankings that
    do so the least added regret decides, and then `ties`: "draw" takes the one closest to the draw from the top down,
    "fairest" the smallest gap of the first demand, then the draw, or chance where `rng` is given. All else is as in
    `best_template`, but that the draw's order is kept among documents that no demand tells apart.

    >>> provider, kind = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> even = {"spent": np.zeros(2), "shares": np.ones(2), "tolerance": 0.1}
    >>> best = best_ranking([0, 1, 2, 3], [Demand(provider, **even), Demand(kind, **even)],
    ...                     np.zeros((4, 4), dtype=bool), exposure=[1, 1])
    >>> best.shown, [outcome.gap for outcome in best.outcomes]
    (array([0, 3]), [0.0, 0.0])
    """
    curve, documents = as_curve(exposure), as_order(order)
    if len(demands) == 0:
        raise ArgumentError("demands", "none", "at least one")
    checked = [
        Demand(*as_owed(each.groups, each.spent, each.shares, n=len(documents)), check_tolerance(each.tolerance))
        for each in demands
    ]
    relation = as_relation(certain_order, len(documents))
    check_choice("scope", scope, SCOPES)
    check_choice("ties", ties, TIES)
    return find_ranking(
        documents,
        checked,
        (relation, np.arange(len(documents))),
        exposure=curve[: len(documents)],
        scope=scope,
        ties=ties,
        effort=check_count("effort", effort),
        rng=rng,
    )


def find_ranking(
    order: Ints,
    demands: Sequence[Demand],
    relation: tuple[Bools | Bytes, Ints],
    *,
    exposure: Floats,
    scope: str,
    ties: str,
    effort: int,
    rng: np.random.Generator | None = None,
) -> BestRanking:
    """`best_ranking` without its checks; `relation` is a `Belief.relation`, `exposure` (m,) has at most n entries."""
    if len(demands) == 1:
        return _for_one(order, demands[0], relation, exposure=exposure, scope=scope, ties=ties, effort=effort, rng=rng)
    return _exhaustive(order, demands, relation, exposure=exposure, scope=scope, ties=ties)


def _for_one(
    order: Ints,
    demand: Demand,
    relation: tuple[Bools | Bytes, Ints],
    *,
    exposure: Floats,
    scope: str,
    ties: str,
    effort: int,
    rng: np.random.Generator | None,
) -> BestRanking:
    """The best ranking for one demand: its groups' best template."""
    best = find_template(
        order,
        demand.groups,
        relation,
        exposure=exposure,
        spent=demand.spent,
        shares=demand.shares,
        tolerance=demand.tolerance,
        scope=scope,
        ties=ties,
        effort=effort,
        rng=rng,
    )
    gap = largest_gap(best.exposure, demand.shares)
    outcome = Outcome(best.template, best.exposure, best.unfairness, gap, best.qualified, best.unfairness_bound)
    return BestRanking(best.shown, best.added_regret, best.exact, best.regret_bound, (outcome,))


def outcome_of(shown: Ints, demand: Demand, exposure: Floats, bound: float) -> Outcome:
    """What showing these documents makes of a demand."""
    template = demand.groups[shown]
    after = demand.spent + amounts_by_group(template, exposure, len(demand.shares))
    gap = largest_gap(after, demand.shares)
    return Outcome(template, after, signed_gaps(after, demand.shares), gap, within(gap, demand.tolerance), bound)


def _exhaustive(
    order: Ints,
    demands: Sequence[Demand],
    relation: tuple[Bools | Bytes, Ints],
    *,
    exposure: Floats,
    scope: str,
    ties: str,
) -> BestRanking:
    """All rankings one by one, until the search for several demands is written."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    certain, row = relation
    above = certain[np.ix_(row, row)] & (place[:, None] < place[None, :])
    classes = np.unique(np.stack([each.groups for each in demands]), axis=1, return_inverse=True)[1].ravel()
    queues = [[int(d) for d in order if classes[d] == c] for c in range(classes.max() + 1)]

    def words(gone: tuple[int, ...], shown: list[int]) -> list[list[int]]:
        if len(shown) == len(exposure):
            return [shown]
        found = []
        for c, queue in enumerate(queues):
            if gone[c] < len(queue):
                found += words((*gone[:c], gone[c] + 1, *gone[c + 1 :]), [*shown, queue[gone[c]]])
        return found

    rankings = [np.array(shown) for shown in words((0,) * len(queues), [])]
    gaps = np.array([[outcome_of(shown, each, exposure, 0.0).gap for each in demands] for shown in rankings])
    kept, bounds = np.ones(len(rankings), dtype=np.bool_), []
    for c, each in enumerate(demands):
        least = float(gaps[kept, c].min())
        bounds.append(least)
        kept &= gaps[:, c] <= max(each.tolerance, least) + 1e-9

    def regret(shown: Ints) -> int:
        waiting = np.ones(len(order), dtype=np.bool_) if scope == "full" else np.isin(np.arange(len(order)), shown)
        total = 0
        for document in shown:
            waiting[document] = False
            total += int((above[:, document] & waiting).sum())
        return total

    costs = {i: regret(rankings[i]) for i in np.flatnonzero(kept)}
    least_cost = min(costs.values())
    equals = [i for i, cost in costs.items() if cost == least_cost]
    if ties == "fairest":
        fairest = min(gaps[i, 0] for i in equals)
        equals = [i for i in equals if gaps[i, 0] <= fairest + 1e-9]
    shown = rankings[min(equals, key=lambda i: place[rankings[i]].tolist())]
    outcomes = tuple(outcome_of(shown, each, exposure, bound) for each, bound in zip(demands, bounds, strict=True))
    return BestRanking(shown, least_cost, True, least_cost, outcomes)
