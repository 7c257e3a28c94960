"""Rankings around documents that have their place: what is pinned leaves a smaller problem of the same kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf

import numpy as np

from fairexp.arrays import Bools, Bytes, Floats, Ints
from fairexp.fairness.demands import BestRanking, Demand, Rules
from fairexp.fairness.ledger import amounts_by_group
from fairexp.fairness.rankings import found_rankings, outcome_of


def found_around(
    pinned: Mapping[int, int],
    order: Ints,
    demands: Sequence[Demand],
    relation: tuple[Bools | Bytes, Ints],
    exposure: Floats,
    rules: Rules,
    *,
    parts: Sequence[float],
) -> Iterator[BestRanking | None]:
    """`found_rankings` with the documents `pinned` by position at their places.

    They are charged, and leave the draw and the curve; orders between them and others do not count.
    """
    positions, documents = np.array(list(pinned)), np.array(list(pinned.values()))
    free = np.delete(np.arange(len(exposure)), positions)
    if len(free) == 0:
        for part in parts:
            outcomes = tuple(outcome_of(documents, each.within(part), inf, exposure) for each in demands)
            yield BestRanking(documents, added_regret=0, exact=True, regret_bound=0, outcomes=outcomes)
        return
    left = np.setdiff1d(order, documents)
    number = np.empty(len(order), dtype=np.int64)
    number[left] = np.arange(len(left))
    certain, row = relation
    found = found_rankings(
        number[order[~np.isin(order, documents)]],
        [_without(each, documents, exposure[positions], left) for each in demands],
        (certain, row[left]),
        exposure[free],
        rules,
        parts=parts,
    )
    for best in found:
        if best is None:
            yield None
            continue
        shown: Ints = np.empty(len(exposure), dtype=np.int64)
        shown[positions], shown[free] = documents, left[best.shown]
        outcomes = tuple(
            outcome._replace(template=each.groups[shown]) for outcome, each in zip(best.outcomes, demands, strict=True)
        )
        yield best._replace(shown=shown, outcomes=outcomes)


def placed(pinned: Mapping[int, int], order: Ints, length: int) -> Ints:
    """The first of an order (n,) in a list (m,) in which documents `pinned` by position have their place.

    >>> placed({1: 3}, np.array([0, 1, 2, 3]), 3)
    array([0, 3, 1])
    """
    if not pinned:
        return order[:length]
    positions, documents = np.array(list(pinned)), np.array(list(pinned.values()))
    free = np.delete(np.arange(length), positions)
    shown: Ints = np.empty(length, dtype=np.int64)
    shown[positions], shown[free] = documents, order[~np.isin(order, documents)][: len(free)]
    return shown


def _without(demand: Demand, pinned: Ints, exposure: Floats, left: Ints) -> Demand:
    """The demand on the documents that are left when pinned ones have had their exposure."""
    charged = amounts_by_group(demand.groups[pinned], exposure, len(demand.shares))
    return demand._replace(groups=demand.groups[left], spent=demand.spent + charged)
