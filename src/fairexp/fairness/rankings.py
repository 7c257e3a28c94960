"""The best ranking for one exploration draw under any number of demands: what several constraints ask of one round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Bools, Bytes, Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.fairness.ledger import amounts_by_group, signed_gaps, within
from fairexp.fairness.templates import (
    EFFORT,
    MAX_STATES,
    PLAIN_NODES,
    SCOPES,
    TIES,
    as_curve,
    as_order,
    as_owed,
    as_relation,
    check_tolerance,
    find_template,
    kept_reach,
    tie_keys,
)
from fairexp.kernels.demands.exchanges import Exchanges
from fairexp.kernels.demands.owed import Owed
from fairexp.kernels.demands.rankings import RankingSearch
from fairexp.kernels.search.gaps import largest_gap
from fairexp.kernels.search.lattice import Lattice, n_states
from fairexp.kernels.search.rounds import Aim, Draw, Effort, Round
from fairexp.validation import check_choice, check_count

MAX_WORDS = 2_048
"""Most words over the classes in each of two halves; with more, halves are shorter than the list."""


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
    classes, members = _classes(demands)
    n_groups, fairest = tuple(len(each.shares) for each in demands), ties == "fairest"
    keys = tie_keys(rng if fairest else None, len(members), len(exposure))
    idle = _idle(exposure.tobytes(), members.tobytes(), n_groups)
    try:
        search = idle.pop()
    except IndexError:
        search = _new_search(exposure.tobytes(), members, n_groups)
    shown, regret, exact, regret_bound, gap_bounds = search.solve(
        Draw(order, classes, *relation),
        Aim(np.zeros(len(members)), np.ones(len(members)), 0.0, scope == "displayed", fairest, keys),
        Effort(PLAIN_NODES, effort, 0, 0.0),
        np.concatenate([each.spent for each in demands]),
        np.concatenate([each.shares for each in demands]),
        np.array([each.tolerance for each in demands]),
    )
    idle.append(search)
    outcomes = tuple(outcome_of(shown, *each, exposure) for each in zip(demands, gap_bounds.tolist(), strict=True))
    return BestRanking(shown, regret, exact, regret_bound, outcomes)


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
    shown, regret = best.shown, best.added_regret
    if not best.exact:
        draw = Draw(order, demand.groups, *relation)
        shown, regret = _in_draws_order(draw, demand, best.template, exposure, scope=scope, ties=ties)
    outcome = outcome_of(shown, demand, best.unfairness_bound, exposure)
    return BestRanking(shown, regret, best.exact, min(best.regret_bound, regret), (outcome,))


def _in_draws_order(
    draw: Draw, demand: Demand, template: Ints, exposure: Floats, *, scope: str, ties: str
) -> tuple[Ints, int]:
    """What a template shows, and its added regret, once neighbours that need no reversal stand in the draw's order."""
    n_groups, fairest = len(demand.shares), ties == "fairest"
    round, owed = Round(exposure, n_groups), Owed(exposure, np.arange(n_groups)[:, None], (n_groups,))
    nobody = tie_keys(None, n_groups, len(exposure))
    round.begin(draw, Aim(demand.spent, demand.shares, demand.tolerance, scope == "displayed", fairest, nobody))
    owed.begin(demand.spent, demand.shares, np.array([demand.tolerance]))
    exchanges, gone = Exchanges(round, owed), [0] * n_groups
    exchanges.begin(template)
    exchanges.follow_draw(fairest)
    shown = []
    for group in np.asarray(exchanges.template).tolist():
        shown.append(round.queue[group, gone[group]])
        gone[group] += 1
    return np.array(shown, dtype=np.int64), exchanges.cost


def outcome_of(shown: Ints, demand: Demand, bound: float, exposure: Floats) -> Outcome:
    """What showing these documents makes of a demand."""
    template = demand.groups[shown]
    after = demand.spent + amounts_by_group(template, exposure, len(demand.shares))
    gap = largest_gap(after, demand.shares)
    return Outcome(template, after, signed_gaps(after, demand.shares), gap, within(gap, demand.tolerance), bound)


def _classes(demands: Sequence[Demand]) -> tuple[Ints, Ints]:
    """The class (n,) of each document, and the group of each class under each demand (m, C)."""
    classes, first = demands[0].groups, np.zeros(0, dtype=np.int64)
    for each in demands:
        _, first, classes = np.unique(classes * len(each.shares) + each.groups, return_index=True, return_inverse=True)
    return classes, np.stack([each.groups[first] for each in demands], axis=1)


@lru_cache(maxsize=64)
def _idle(exposure: bytes, members: bytes, n_groups: tuple[int, ...]) -> list[RankingSearch]:
    """Searches for this curve and these classes that nobody uses at the moment: each serves one thread at a time."""
    return []


def _new_search(exposure: bytes, members: Ints, n_groups: tuple[int, ...]) -> RankingSearch:
    """A search for this curve and these classes, with halves as long as there is room for their words."""
    curve, n_classes, length = np.frombuffer(exposure), len(members), 1
    while n_classes ** (length + 1) <= MAX_WORDS and 2 * length < len(curve):
        length += 1
    upper = min(length, (len(curve) + 1) // 2)
    lengths = (upper, min(length, len(curve) - upper))
    owed = Owed(curve, members, n_groups)
    beyond = sum(lengths) < len(curve) and n_states(len(curve), n_classes) <= MAX_STATES
    lattices = Lattice(upper, n_classes), Lattice(len(curve), n_classes) if beyond else None
    return RankingSearch(curve, owed, kept_reach(exposure), lengths, lattices)
