"""The records of one round's search: what constraints demand of a ranking, by which rules, and what was found.

They are tuples because a round makes several, and nothing is made faster.
"""

from __future__ import annotations

from typing import NamedTuple

from fairexp.arrays import Floats, Ints
from fairexp.fairness.ledger import signed_gaps
from fairexp.validation import check_choice, check_count

TIES = ("draw", "fairest")
SCOPES = ("full", "displayed")
EFFORT = 4_000
"""Steps of the search per ranking, of about a third of a microsecond each; beyond them the best so far is taken."""


class Rules:
    """How rankings compare: over which `scope` regret is counted and how `ties` are settled; and the effort."""

    __slots__ = ("displayed_only", "effort", "fairest")

    def __init__(self, scope: str, ties: str, effort: int) -> None:
        self.displayed_only = check_choice("scope", scope, SCOPES) == "displayed"
        self.fairest = check_choice("ties", ties, TIES) == "fairest"
        self.effort = check_count("effort", effort)


class Demand(NamedTuple):
    """What one constraint asks of one round.

    `groups` (n,) of the documents, what each group has been charged so far in `spent` (G,), what it is owed in `shares`
    (G,), and the tolerance that no pair of groups may miss that by.
    """

    groups: Ints
    spent: Floats
    shares: Floats
    tolerance: float

    def within(self, part: float) -> Demand:
        """The same for a part of the tolerance."""
        return self._replace(tolerance=part * self.tolerance)


class Outcome(NamedTuple):
    """What a ranking makes of one demand.

    `template` (m,) holds the groups from the top position down; `exposure` (G,) is by group after the round, and `gap`
    is how far it misses the `shares` (G,), by the largest magnitude over pairs; `met`: whether that is within the
    tolerance. Where it is not, no ranking that does as well by the demands before it has a gap below `gap_bound`.
    """

    template: Ints
    exposure: Floats
    shares: Floats
    gap: float
    met: bool
    gap_bound: float

    @property
    def unfairness(self) -> float | Floats:
        """After the round: signed for two groups, and a (G, G) matrix for more."""
        return signed_gaps(self.exposure, self.shares)


class BestRanking(NamedTuple):
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
