"""PairRank and FairExp keep the contract with other parameters than the defaults, which `test_table` checks."""

from __future__ import annotations

import pytest

from fairexp import FairExp, PairRank
from fairexp.checks import check_ranker

ROUNDS = 1500
"""Rows wait to be added to M for 64 updates at most; the run must be long enough to see that saw several times."""

VARIANTS = [{}, {"pairs": "all"}, {"within_block": "random"}, {"within_block": "score"}, {"width": "diagonal"}]


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_pairrank(options):
    """The window is small, so that it is full, and memory level, well within the check's rounds."""
    check_ranker(lambda seed: PairRank(5, window=32, seed=seed, **options), rounds=ROUNDS)


def test_pairrank_with_full_history():
    check_ranker(lambda seed: PairRank(5, history="full", seed=seed), rounds=60)


@pytest.mark.parametrize("ties", ["draw", "fairest"])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_fairexp(ties, n_groups):
    check_ranker(
        lambda seed: FairExp(PairRank(5, window=32), tolerance=0.3, shares=[1.0] * n_groups, ties=ties, seed=seed),
        n_groups=n_groups,
        rounds=ROUNDS,
    )
