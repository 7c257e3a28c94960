"""The records of one round's search: what constraints demand of a ranking, by which rules, and what was found.

They are tuples because a round makes several, and nothing is made faster.
"""

from __future__ import annotations

from typing import NamedTuple

from fairexp.arrays import Floats, Ints
from fairexp.fairness.ledger import signed_gaps, within
from fairexp.kernels.search.gaps import SLACK, largest_gap
from fairexp.validation import check_choice, check_count

TIES = ("draw", "fairest")
SCOPES = ("full", "displayed")
EFFORT = 4_000
"""Steps of the search per ranking, of about a third of a microsecond each; beyond them the best so far is taken."""

AIM = 0.1
"""The part of a tolerance that slack is spent on coming within; within less nothing is gained."""

NARROW = 0.1
"""Up to what part of the top position's exposure a tolerance is so narrow that all of the slack may be spent."""


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

    def aim(self, top: float) -> float:
        """What part of a slack may be spent on coming within `AIM` of the tolerance.

        `top` is the top position's exposure. A tolerance up to that is kept or missed by single lists, and there is
        less to spend the wider it is. Within a wider one the gap builds up over rounds, and `lift` keeps it back.

        >>> import numpy as np
        >>> balance = {"groups": np.array([0, 1]), "spent": np.array([9.0, 5.0]), "shares": np.ones(2)}
        >>> [Demand(**balance, tolerance=tolerance).aim(top=1.0) for tolerance in (0.1, 0.5, 2.0)]
        [1.0, 0.04, 0.0]
        """
        return 1.0 / max(self.tolerance / (NARROW * top), 1.0) ** 2 if self.tolerance <= top else 0.0

    def lift(self, top: float) -> Floats | None:
        """What part of a lift (G,) each group's documents have within a tolerance wider than the `top` exposure.

        The group furthest behind has that of the one furthest ahead and as much more as the gap has used up of the
        tolerance. None where nothing is to be lifted.

        >>> import numpy as np
        >>> balance = {"groups": np.array([0, 1]), "spent": np.array([9.0, 5.0]), "shares": np.ones(2)}
        >>> Demand(**balance, tolerance=8.0).lift(top=1.0), Demand(**balance, tolerance=0.1).lift(top=1.0)
        (array([-0.25,  0.25]), None)
        """
        if self.tolerance <= top:
            return None
        received = self.spent / self.shares
        apart = float(received.max() - received.min())
        used = min(largest_gap(self.spent, self.shares) / self.tolerance, 1.0)
        return (received.mean() - received) * (used / apart) if apart > 0.0 and used > 0.0 else None


FOUND, LEAST, IMPOSSIBLE, UNPROVEN = PROOFS = ("found", "least", "impossible", "unproven")
"""What is proven of a ranking, in one word:

- `found`: it is within the tolerance.
- `least`: it is beyond the tolerance, and no ranking has a smaller gap.
- `impossible`: it is beyond the tolerance, and so is every ranking. One with a smaller gap may exist.
- `unproven`: it is beyond the tolerance, and a ranking within it may exist.

No ranking has a gap below the `gap_bound` that comes with the word. Of several demands the first one beyond its
tolerance decides. There `least` says that no ranking does better by any demand without doing worse by one before it.
"""


def is_least(gap: float, bound: float) -> bool:
    """Whether a gap is the least if no ranking has one below `bound`: what rounding adds must not decide."""
    return gap <= bound + 2.0 * SLACK


class Outcome(NamedTuple):
    """What a ranking makes of one demand.

    `template` (m,) holds the groups from the top position down; `exposure` (G,) is by group after the round, and `gap`
    is how far it misses the `shares` (G,), by the largest magnitude over pairs. No ranking that does as well by the
    demands before it has a gap below `gap_bound`, unless it is met, and `proof` is one of `PROOFS`.
    """

    template: Ints
    exposure: Floats
    shares: Floats
    gap: float
    gap_bound: float
    proof: str

    @staticmethod
    def of(template: Ints, exposure: Floats, shares: Floats, *, gap: float, tolerance: float, bound: float) -> Outcome:
        """The outcome of a gap that no ranking is below `bound` with."""
        bound = min(max(bound, 0.0), gap)
        if within(gap, tolerance):
            proof = FOUND
        elif is_least(gap, bound):
            proof, bound = LEAST, gap
        else:
            proof = UNPROVEN if within(bound, tolerance) else IMPOSSIBLE
        return Outcome(template, exposure, shares, gap, bound, proof)

    @property
    def met(self) -> bool:
        """Whether the gap is within the tolerance."""
        return self.proof == FOUND

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

    @property
    def missed(self) -> Outcome | None:
        """The outcome of the first demand that is not met, if any."""
        return next((outcome for outcome in self.outcomes if not outcome.met), None)

    @property
    def proof(self) -> str:
        """What is proven of all demands together: one of `PROOFS`."""
        if self.missed is None:
            return FOUND
        if all(outcome.proof in (FOUND, LEAST) for outcome in self.outcomes):
            return LEAST
        return UNPROVEN if self.missed.proof == UNPROVEN else IMPOSSIBLE

    @property
    def gap_bound(self) -> float:
        """What the gap of the first demand that is not met is at least; if all are, the bound of the first."""
        return (self.missed or self.outcomes[0]).gap_bound
