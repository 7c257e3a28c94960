"""What FairExp spends on being fairer than it must: never more than the slack, and only where it says."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp import FairExp, PairRank, Query
from fairexp.fairness.exposure import exposure_curve

N, SHOWN, SLACK = 24, 8, 4.0
CURVE = exposure_curve("reciprocal", SHOWN)


def fair(slack, tolerance):
    return FairExp(PairRank(5, length=SHOWN, seed=1), tolerance=tolerance, slack=slack, seed=2)


def rounds(ranker, count=150, one_group=0.0):
    """Queries whose better documents are mostly of group 0, with clicks on those; each with the state before it.

    `one_group` of them have candidates of that group only.
    """
    rng = np.random.default_rng(0)
    truth = rng.normal(size=5)
    for _ in range(count):
        features = rng.random((N, 5))
        worth = features @ truth
        groups = (worth + 2.0 * worth.std() * rng.normal(size=N) < np.median(worth)).astype(int)
        if rng.random() < one_group:
            groups[:] = 0
        before = ranker.state()
        ranking = ranker.rank(Query(features, groups))
        yield Query(features, groups), before, ranking
        ranker.update(ranking, ranking.features @ truth > np.median(worth))


def allowed(tolerance, gap):
    """The part of the tolerance to come within, and what may be spent on that."""
    most = SLACK * N / SHOWN
    if tolerance <= 1.0:
        return 0.1, most * min(0.1 / tolerance, 1.0) ** 2
    return max((gap - 1.0) / tolerance, 0.1), most * (gap / tolerance / 2) ** 2


@pytest.mark.parametrize("one_group", [0.0, 0.3])
@pytest.mark.parametrize("tolerance", [0.05, 0.1, 0.4, 2.0, 6.0])
def test_at_most_the_slack_is_spent_and_only_for_a_smaller_gap(tolerance, one_group):
    """A twin that has no slack says from the same state what the best within the tolerance would have cost."""
    ranker, twin = fair(SLACK, tolerance), fair(0.0, tolerance)
    n_fairer = 0
    for query, before, ranking in rounds(ranker, one_group=one_group):
        gap = twin.restore(before).ledger.largest_gap
        aim, most = allowed(tolerance, gap)
        best = twin.rank(query)
        assert ranking.qualified == best.qualified == (abs(ranking.unfairness) <= tolerance + 1e-9)
        if not best.qualified:
            assert ranking.shown.tolist() == best.shown.tolist()
            continue
        assert best.added_regret - 1e-9 <= ranking.added_regret <= best.added_regret + most + 1e-9
        if ranking.shown.tolist() != best.shown.tolist():
            assert abs(ranking.unfairness) <= aim * tolerance + 1e-9
            n_fairer += abs(ranking.unfairness) < abs(best.unfairness) - 1e-9
    assert n_fairer > 10


@pytest.mark.parametrize("tolerance", [2.0, 6.0])
def test_a_wide_tolerance_is_not_used_up(tolerance):
    """Without slack the gap stays near the limit, where every list must be corrected whatever that costs."""
    gaps = [
        np.mean([abs(ranking.unfairness) for _, _, ranking in rounds(fair(slack, tolerance), 400)])
        for slack in (0.0, SLACK, 4 * SLACK)
    ]
    assert gaps[0] > 0.85 * tolerance and gaps[1] < 0.95 * gaps[0] and gaps[2] < 0.9 * gaps[1]


def test_without_a_limit_nothing_is_spent():
    ranker, host = fair(SLACK, np.inf), PairRank(5, length=SHOWN, seed=1)
    for query, before, ranking in rounds(ranker, 40):
        alone = {key.removeprefix("host."): value for key, value in before.items() if key.startswith("host.")}
        draw = host.restore(alone).believe(query, ranker.stream.at(int(before["n_ranked"]))).draw
        assert ranking.shown.tolist() == draw[:SHOWN].tolist() and ranking.added_regret == 0.0
