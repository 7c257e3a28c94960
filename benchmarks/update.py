"""One update by PairRank with 20 preferences against the linear algebra that it cannot avoid."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.linalg import lapack

from benchmarks.harness import Bar, Outcome, Part, compare, no_garbage
from benchmarks.workloads import pool, warm_ranker

N_CLICKS, LENGTH = 4, 9
"""4 clicked documents among 9 make 20 pairs, the last of them unclicked so that all 9 count as examined."""


def parts(quick: bool) -> Iterator[Part]:
    """The row of `update` at d = 136."""
    yield partial(update_row, 136, 2.0, turns=60 if quick else 300)


def update_row(d: int, limit: float, *, turns: int) -> Iterator[Outcome]:
    """`update` with 20 pairs at d features; every turn learns from a ranking of its own."""
    queries = pool(125, d)
    ranker = warm_ranker(queries, length=LENGTH, rounds=300 if d < 500 else 80, pairs="all")
    rng = np.random.default_rng(0)
    matrix, target = np.eye(d), rng.standard_normal(d)
    taken = np.empty((2, turns))
    with no_garbage():
        for turn in range(turns):
            query, grades = queries[turn % len(queries)]
            ranking = ranker.rank(query)
            clicks = np.zeros(LENGTH, dtype=bool)
            clicks[np.argsort(-grades[ranking.shown][:-1], kind="stable")[:N_CLICKS]] = True
            rows = rng.standard_normal((N_CLICKS * (LENGTH - N_CLICKS), d))
            started = time.perf_counter()
            ranker.update(ranking, clicks)
            between = time.perf_counter()
            matrix += rows.T @ rows
            lapack.dposv(matrix, target)
            taken[:, turn] = between - started, time.perf_counter() - between
    name = f"update with 20 pairs, d={d}"
    yield compare(name, "a rank-20 update and a Cholesky solve", Bar(limit), taken[0], taken[1])
