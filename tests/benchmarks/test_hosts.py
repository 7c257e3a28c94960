"""What rounds of hosts are held against."""

from __future__ import annotations

import numpy as np

from benchmarks.hosts import LENGTH, Idle, N, around, examined, few_queries, parts, played
from fairexp.rankers import RANKERS


def test_an_idle_ranker_plays_a_round_and_learns_nothing():
    queries, attraction = few_queries()
    idle, ranker = Idle(queries[0].features.shape[1], length=LENGTH), around("toprank")
    for number in range(30):
        for each in (idle, ranker):
            assert played(each, queries[number % 10], attraction, np.full(LENGTH, 0.3)) > 0.0
    assert idle.n_ranked == ranker.n_ranked == 30 and len(ranker.host.queries.records) == 10
    assert idle.rank(queries[0]).shown.tolist() == list(range(LENGTH)) and queries[0].n_candidates == N


def test_a_user_leaves_with_the_first_click():
    attraction = np.full(N, 0.5)
    assert examined(np.full(LENGTH, 0.9), attraction) == LENGTH
    assert examined(np.array([0.9, 0.39, *[0.9] * 8]), attraction) == 2


def test_every_per_query_host_has_a_row():
    names = [part.args[0] for part in parts(quick=True)]
    assert {"toprank", "batchrank", "recurrank", "dcm-kl-ucb", "c3-ucb"} <= set(names) <= set(RANKERS)
    assert "rba" not in names and len(names) == len(set(names))
