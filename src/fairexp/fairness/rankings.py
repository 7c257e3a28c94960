"""The best ranking for one exploration draw under any number of demands: what several constraints ask of one round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Bools, Bytes, Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.fairness.demands import EFFORT, FOUND, LEAST, BestRanking, Demand, Outcome, Rules
from fairexp.fairness.least_gap import least_gaps
from fairexp.fairness.ledger import amounts_by_group, within
from fairexp.fairness.templates import (
    MAX_STATES,
    PLAIN_NODES,
    as_curve,
    as_order,
    as_owed,
    as_relation,
    check_tolerance,
    found_templates,
    kept_reach,
    only,
    tie_keys,
)
from fairexp.kernels.demands.rankings import RankingSearch
from fairexp.kernels.search.gaps import largest_gap
from fairexp.kernels.search.lattice import Lattice, n_states
from fairexp.kernels.search.owed import Owed
from fairexp.kernels.search.rounds import Aim, Draw, Effort

MAX_WORDS = 2_048
"""Most words over the classes in each of two halves; with more, halves are shorter than the list."""


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
    relation = as_relation(certain_order, len(documents)), np.arange(len(documents))
    rules = Rules(scope, ties, effort)
    return only(found_rankings(documents, checked, relation, curve[: len(documents)], rules, rng=rng))


def found_rankings(
    order: Ints,
    demands: Sequence[Demand],
    relation: tuple[Bools | Bytes, Ints],
    exposure: Floats,
    rules: Rules,
    *,
    parts: Sequence[float] = (1.0,),
    rng: np.random.Generator | None = None,
) -> Iterator[BestRanking | None]:
    """`best_ranking` without its checks: the best within each of `parts` of the tolerances, as they are asked for.

    Of a part that is not the last, None where no list was found within it. `relation` is `Belief.costs`, `exposure`
    (m,) has at most n entries.
    """
    if len(demands) == 1:
        yield from found_templates(order, demands[0], relation, exposure, rules, parts=parts, rng=rng)
        return
    for number, part in enumerate(parts, start=1):
        tighter = [each.within(part) for each in demands]
        yield _best_of_several(order, tighter, relation, exposure, rules, rng, last=number == len(parts))


def _best_of_several(
    order: Ints,
    demands: Sequence[Demand],
    relation: tuple[Bools | Bytes, Ints],
    exposure: Floats,
    rules: Rules,
    rng: np.random.Generator | None,
    *,
    last: bool,
) -> BestRanking | None:
    """The best ranking under more than one demand; None if none that meets all is found, but for the `last` try."""
    classes, members = _classes(demands)
    n_groups = tuple(len(each.shares) for each in demands)
    keys = tie_keys(rng if rules.fairest else None, len(members), len(exposure))
    effort, tolerances = Effort(PLAIN_NODES, rules.effort, 0, 0.0), np.array([each.tolerance for each in demands])
    idle = _idle(exposure.tobytes(), members.tobytes(), n_groups)
    try:
        search = idle.pop()
    except IndexError:
        search = _new_search(exposure.tobytes(), members, n_groups)
    search.begin(
        Draw(order, classes, *relation),
        Aim(np.zeros(len(members)), np.ones(len(members)), 0.0, rules.displayed_only, rules.fairest, keys),
        np.concatenate([each.spent for each in demands]),
        np.concatenate([each.shares for each in demands]),
        tolerances,
    )
    try:
        bounds = np.zeros(len(demands))
        if not search.within(effort):
            if not last:
                return None
            known, limits, bounds = least_gaps(search, classes[order[: len(exposure)]], rules.effort)
            search.around(np.maximum(limits, tolerances), known, effort)
        shown, regret, bound, exact = search.answer(), search.best.cost, search.bound, search.exact
    finally:
        idle.append(search)
    outcomes = tuple(outcome_of(shown, *each, exposure) for each in zip(demands, bounds.tolist(), strict=True))
    exact = exact and all(outcome.proof in (FOUND, LEAST) for outcome in outcomes)
    return BestRanking(shown, regret, exact, bound, outcomes)


def fairer_ranking(
    shown: Ints,
    drawn: Ints,
    draw: Ints,
    demands: Sequence[Demand],
    relation: tuple[Bools | Bytes, Ints],
    exposure: Floats,
    rules: Rules,
) -> BestRanking | None:
    """What showing a list (m,) comes to; None unless it meets all demands, with no larger gap than the `drawn` list.

    Added regret counts the orders of the `draw` that it reverses: of documents that are not in there none count.
    """
    outcomes = tuple(outcome_of(shown, each, 0.0, exposure) for each in demands)
    if not all(outcome.met for outcome in outcomes):
        return None
    for outcome, each in zip(outcomes, demands, strict=True):
        if not within(outcome.gap, outcome_of(drawn, each, 0.0, exposure).gap):
            return None
    regret = added_regret(shown, draw, relation, displayed_only=rules.displayed_only)
    return BestRanking(shown, regret, False, 0, outcomes)


def added_regret(shown: Ints, draw: Ints, relation: tuple[Bools | Bytes, Ints], *, displayed_only: bool) -> int:
    """What a list (m,) costs that reverses some orders of a draw, or passes over some of its documents.

    >>> certain = np.triu(np.ones((3, 3), dtype=bool), 1), np.arange(3)
    >>> [added_regret(np.array([2, 0]), np.arange(3), certain, displayed_only=only) for only in (False, True)]
    [2, 1]
    """
    costs, row = relation
    n, m = len(row), len(shown)
    place, at = np.full(n, n), np.full(n, m)
    place[draw], at[shown] = np.arange(len(draw)), np.arange(m)
    counted = shown[place[shown] < n]
    reversed_orders = (place[:, None] < place[counted]) & (at[:, None] > at[counted])
    if displayed_only:
        reversed_orders &= (at < m)[:, None]
    return int(costs[np.ix_(row, row[counted])].sum(where=reversed_orders, dtype=np.int64))


def outcome_of(shown: Ints, demand: Demand, bound: float, exposure: Floats) -> Outcome:
    """What showing these documents makes of a demand."""
    template = demand.groups[shown]
    after = demand.spent + amounts_by_group(template, exposure, len(demand.shares))
    gap = largest_gap(after, demand.shares)
    return Outcome.of(template, after, demand.shares, gap=gap, tolerance=demand.tolerance, bound=bound)


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
