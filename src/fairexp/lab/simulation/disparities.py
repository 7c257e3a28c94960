"""What fair rankers other than FairExp are fair to, measured from outside and the same way for every ranker."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.fairness.ledger import amounts_by_group
from fairexp.kernels.fairness.gaps import largest_gap
from fairexp.lab.simulation.meter import PlayedRound
from fairexp.measures import IMPACT_UF, ITEM_UF, LIST_UF, Measure


class Disparities:
    """Adds up, round by round, unfairness of each list by itself, in clicks, and to the documents of each query.

    `exposure` (k,) by position and `shares` (G,) are those that unfairness is measured by; without shares only what
    concerns documents is measured.
    """

    def __init__(self, *, exposure: Floats, shares: Floats | None) -> None:
        self._exposure, self._shares = exposure, shares
        self._clicks = np.zeros(0 if shares is None else len(shares))
        self._lists = 0.0
        self._rounds = 0
        self._given: dict[int, Floats] = {}
        self._grades: dict[int, Ints] = {}
        self._served: dict[int, int] = {}

    def add(self, played: PlayedRound) -> None:
        """Take in one round."""
        ranking, query = played.ranking, played.query
        amounts = self._exposure[: len(ranking)]
        self._rounds += 1
        if self._shares is not None and ranking.groups is not None:
            n_groups = len(self._shares)
            self._lists += largest_gap(amounts_by_group(ranking.groups, amounts, n_groups), self._shares)
            self._clicks += np.bincount(ranking.groups[played.clicks], minlength=n_groups)
        if query not in self._given:
            self._given[query] = np.zeros(len(played.relevance))
            self._grades[query] = played.relevance
            self._served[query] = 0
        self._given[query][ranking.shown] += amounts
        self._served[query] += 1

    def measures(self) -> dict[Measure, float | None]:
        """What the rounds so far came to; None where there were none, or no groups."""
        n = self._rounds
        if not n:
            return dict.fromkeys((LIST_UF, IMPACT_UF, ITEM_UF))
        moved = sum(
            served * between_equals(self._given[query], self._grades[query]) for query, served in self._served.items()
        )
        return {
            LIST_UF: None if self._shares is None else self._lists / n,
            IMPACT_UF: None if self._shares is None else largest_gap(self._clicks, self._shares),
            ITEM_UF: moved / n,
        }


def between_equals(exposure: Floats, grades: Ints) -> float:
    """The part of the `exposure` (n,) of one query's documents that would have to move between those of one grade (n,)
    for these to have had the same.

    >>> between_equals(np.array([1.0, 0.0, 0.5, 0.5]), np.array([2, 2, 0, 0]))
    0.25
    """
    total = float(exposure.sum())
    if total == 0.0:
        return 0.0
    kinds, kind = np.unique(grades, return_inverse=True)
    means = np.bincount(kind, exposure, len(kinds)) / np.bincount(kind, minlength=len(kinds))
    return float(np.abs(exposure - means[kind]).sum()) / (2 * total)
