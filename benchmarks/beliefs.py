"""Arguments for `best_template`: beliefs as a learning PairRank has them, and beliefs made to be hard."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchmarks.workloads import pool, warm_ranker
from fairexp import FairExp, Query
from fairexp.arrays import Bools, Bytes, Floats, Ints
from fairexp.fairness import best_template
from fairexp.fairness.exposure import exposure_curve
from fairexp.fairness.search import BestTemplate

N_DOCUMENTS = 125


@dataclass(frozen=True)
class Case:
    """One call of `best_template`, but for the rule for ties."""

    order: Ints
    groups: Ints
    certain_order: Bools | Bytes
    exposure: Floats
    spent: Floats
    shares: Floats
    tolerance: float

    def solve(self, ties: str) -> BestTemplate:
        return best_template(
            self.order,
            self.groups,
            self.certain_order,
            exposure=self.exposure,
            spent=self.spent,
            shares=self.shares,
            tolerance=self.tolerance,
            ties=ties,
        )


@lru_cache(maxsize=1)
def typical(length: int, n_groups: int, *, count: int) -> list[Case]:
    """What FairExp asks of the optimiser in the last `count` of some hundred rounds with perfect users."""
    cases: list[Case] = []
    warm_up = 300

    def note(ranker: FairExp, query: Query) -> None:
        if ranker.n_ranked < warm_up:
            return
        belief = ranker.host.believe(query)
        costs, row = belief.costs
        assert query.groups is not None
        cases.append(
            Case(
                belief.draw,
                query.groups,
                np.ascontiguousarray(costs[np.ix_(row, row)]),
                ranker.exposure,
                ranker.ledger.exposure.copy(),
                ranker.ledger.shares,
                ranker.tolerance,
            )
        )

    queries = pool(N_DOCUMENTS, 136, n_groups=n_groups, count=40)
    warm_ranker(queries, length=length, rounds=warm_up + count, each=note)
    return cases


@lru_cache(maxsize=1)
def adversarial(length: int, n_groups: int, *, count: int) -> list[Case]:
    """Beliefs in which fairness and certainty pull apart, and accounts from which fairness is hard to reach.

    Everything is certain, or all beyond a random distance in score; groups go with the score, more or less; tolerances
    come down to where few templates are fair; accounts are off by up to a document at the top; curves fall as 1/p or as
    1/log(1 + p), where sums of exposure lie close together.
    """
    rng = np.random.default_rng(length * 10 + n_groups)
    return [_adversarial(length, n_groups, rng) for _ in range(count)]


def _adversarial(length: int, n_groups: int, rng: np.random.Generator) -> Case:
    scores = np.sort(rng.standard_normal(N_DOCUMENTS))[::-1]
    distance = 0.0 if rng.random() < 0.5 else rng.exponential(0.3)
    certain = scores[:, None] - scores[None, :] > distance
    bias = rng.choice([0.5, 1.0, 3.0, 10.0])
    rank = np.argsort(np.argsort(-(scores * bias + rng.standard_normal(N_DOCUMENTS))))
    groups = rng.permutation(n_groups)[rank * n_groups // N_DOCUMENTS]
    exposure = exposure_curve("logarithmic" if rng.random() < 0.5 else "reciprocal", length)
    shares = np.ones(n_groups) if rng.random() < 0.5 else rng.uniform(0.5, 2.0, size=n_groups)
    owed = rng.uniform(10.0, 1000.0) * shares
    return Case(
        order=np.arange(N_DOCUMENTS),
        groups=groups,
        certain_order=certain,
        exposure=exposure,
        spent=owed + rng.uniform(-1.0, 1.0, size=n_groups),
        shares=shares,
        tolerance=float(rng.choice([0.01, 0.03, 0.1, 0.3])),
    )
