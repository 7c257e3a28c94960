"""One round as it was played, and what it is measured by, the same way for every ranker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.fairness.ledger import Ledger
from fairexp.kernels.measures.quality import shown_quality
from fairexp.kernels.pairrank.logistic import graded_sums
from fairexp.lab.data import Dataset
from fairexp.lab.metrics import GAMMA, dataset_ndcg, misordered_pairs
from fairexp.lab.metrics.grades import MAX_GRADE
from fairexp.lab.metrics.ndcg import discounts
from fairexp.measures import (
    ADDED_REGRET,
    HELDOUT_NDCG,
    MEAN_ONLINE_NDCG,
    MISORDERED,
    NDCG,
    ONLINE_NDCG,
    QUALIFIED,
    UF,
    ZERO,
    check_irrelevant,
)
from fairexp.ranker import Ranker
from fairexp.reliability import N_BINS, Predictions, Reliability
from fairexp.types import Ranking

if TYPE_CHECKING:
    from fairexp.lab.offpolicy.propensity import Propensity

GRADED_EVERY = 20
"""Rounds from one in which candidates' orders are compared with their grades to the next: that takes all pairs."""

PROOF, GAP_BOUND = "proof", "gap_bound"
"""Columns of a trace: what is proven of a list and its gap (`Ranking.proof`)."""

_GAIN = np.exp2(np.arange(MAX_GRADE + 1)) - 1.0


@dataclass(frozen=True, slots=True, eq=False)
class PlayedRound:
    """One round: its number from 1, the query's index, what was shown, the true grades (n,), and the clicks (m,).

    `examined` (m,) are the positions that the user looked at, and `propensity` is how probable the list was, where that
    was asked for.
    """

    number: int
    query: int
    ranking: Ranking
    relevance: Ints
    clicks: Bools
    examined: Bools | None = None
    propensity: Propensity | None = None


class Meter:
    """Turns rounds into rows: fairness is audited from outside.

    `exposure` (k,) by position and `shares` (G,) define unfairness; `shares` None leaves it out. A row holds measures
    by their names, those of NDCG over `k` positions. `irrelevant` is the rule for queries without a relevant document:
    "zero" counts their NDCG as 0; with "skip" they have none (None), and no mean counts them. The sum, online NDCG, is
    the same by either.
    """

    def __init__(self, *, exposure: Floats, shares: Floats | None, k: int = 10, irrelevant: str = ZERO) -> None:
        self.exposure = exposure
        self.k = k
        self.irrelevant = check_irrelevant(irrelevant)
        self.ledger = None if shares is None else Ledger(shares)
        self._discount = discounts(k)
        self._names = tuple(
            measure.name
            for measure in (
                *(each @ k for each in (NDCG, ONLINE_NDCG, MEAN_ONLINE_NDCG, HELDOUT_NDCG)),
                *(MISORDERED, ADDED_REGRET, QUALIFIED, UF),
            )
        )
        self._online = self._counted = 0.0
        self._weight = 1.0

    def row(self, played: PlayedRound) -> dict[str, Any]:
        """The measurements of one round."""
        ranking = played.ranking
        quality, misordered = shown_quality(ranking.shown, played.relevance, _GAIN, self._discount)
        if misordered < 0:
            misordered = misordered_pairs(ranking.shown, played.relevance)  # says what is wrong
        counts = self.irrelevant == ZERO or bool(played.relevance.any())
        self._online += self._weight * quality
        self._counted += self._weight * counts
        self._weight *= GAMMA
        ndcg, online, mean, heldout, pairs, regret, qualified, unfairness = self._names
        row: dict[str, Any] = {
            "round": played.number,
            "query": played.query,
            ndcg: quality if counts else None,
            online: self._online,
            mean: self._online / self._counted if self._counted else None,
            "clicks": int(np.count_nonzero(played.clicks)),
            pairs: misordered,
            regret: ranking.added_regret,
            qualified: ranking.qualified,
            PROOF: ranking.proof,
            GAP_BOUND: ranking.gap_bound,
            heldout: None,
        }
        if self.ledger is not None and ranking.groups is not None:
            self.ledger.charge(ranking.groups, self.exposure[: len(ranking)])
            row[unfairness] = self.ledger.largest_gap
            row.update({f"exposure_{g}": amount for g, amount in enumerate(self.ledger.exposure.tolist())})
        return row

    def heldout_ndcg(self, ranker: Ranker, dataset: Dataset) -> float | None:
        """Mean NDCG@k of the ranker's scores on `dataset`, by the meter's rule; None where it cannot score them."""
        if not ranker.scores_unseen:
            return None
        scores = np.concatenate([ranker.score(features) for features, _, _ in dataset.chunks()])
        found = dataset_ndcg(scores, dataset.grades, dataset.offsets, k=self.k)
        if self.irrelevant == ZERO:
            return float(found.mean())
        relevant = np.maximum.reduceat(dataset.grades, dataset.offsets[:-1]) > 0
        return float(found[relevant].mean()) if relevant.any() else None


class GradedOrders:
    """How many orders are right by the grades, by how probable the ranker thinks them, every 20th round."""

    def __init__(self, ranker: Ranker) -> None:
        self._ranker = ranker
        self._has_beliefs = ranker.reliability() is not None
        self._sums = np.zeros((3, N_BINS))
        self._log_odds: float | None = None

    def add(self, played: PlayedRound) -> None:
        """Take in a round that was learned from."""
        to_go = -played.number % GRADED_EVERY
        if to_go == 1 and self._has_beliefs:  # as it will be when the next round is ranked
            self._log_odds = self._ranker.learner.click_log_odds()
        if to_go == 0 and self._log_odds is not None and played.ranking.belief is not None:
            scores = np.ascontiguousarray(played.ranking.belief.scores, dtype=np.float64)
            graded_sums(scores, np.asarray(played.relevance, dtype=np.int64), self._log_odds, self._sums)

    def reliability(self) -> Reliability | None:
        """How clicks bore out what the ranker thought, with what the grades say; None where it does not say."""
        found = self._ranker.reliability()
        return None if found is None else replace(found, grades=Predictions(self._sums.copy()))


def checkpoints(rounds: int, n_points: int = 40) -> set[int]:
    """The rounds after which held-out quality is measured: half of them evenly spaced, half geometrically.

    >>> sorted(checkpoints(1000, 8))
    [1, 10, 100, 250, 500, 750, 1000]
    """
    half = max(n_points // 2, 1)
    even = np.linspace(0, rounds, half + 1)[1:]
    geometric = np.geomspace(1, rounds, half)
    return {max(1, round(x)) for x in (*even, *geometric)}
