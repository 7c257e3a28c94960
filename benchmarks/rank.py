"""One ranking by FairExp(PairRank) against the matrix products that it cannot avoid."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import cycle

from benchmarks.harness import Bar, Outcome, Part, by_turns, compare
from benchmarks.workloads import floor, pool, warm_ranker

SHAPES = ((125, 136, 1.6), (1000, 136, 1.25), (24, 700, 1.3))


def parts(quick: bool) -> Iterator[Part]:
    """Rows for n documents, d features, lists of 10."""
    for n, d, limit in SHAPES:
        yield partial(rank_row, n, d, limit, turns=20 if quick else 100)


def rank_row(n: int, d: int, limit: float, *, turns: int) -> Iterator[Outcome]:
    """`rank` at n documents and d features, after some hundred rounds of learning."""
    queries = pool(n, d)
    ranker = warm_ranker(queries, rounds=100 if n > 500 else 40 if d > 1000 else 300)
    turn = cycle(query for query, _ in queries)
    times = max(1, 8 * 125 // n)
    a, b = by_turns(lambda: ranker.rank(next(turn)), floor(n, d), turns=turns, times=(times, times))
    yield compare(f"FairExp(PairRank).rank, n={n}, d={d}, k=10", "X M^-1 X^T, same dtype", Bar(limit), a, b)
