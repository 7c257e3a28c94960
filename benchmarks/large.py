"""Very many documents (time and memory), and very many features with the full and the diagonal width."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path

import numpy as np

from benchmarks.harness import Bar, Outcome, Part, by_turns, compare, spread
from benchmarks.rank import rank_row
from benchmarks.update import update_row
from benchmarks.workloads import pool, warm_ranker
from fairexp import FairExp
from fairexp.arrays import Floats

MANY, LENGTH = 10_000, 50
WIDE, FEW = 2000, 100
SLAB = 500
PEAK = """
import json
from pathlib import Path
from benchmarks.large import ranker_for_many
from benchmarks.workloads import pool

def held(name):
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[name].split()[0]) * 1024

ranker, query = ranker_for_many(), pool({n}, 136, count=1)[0][0]
ranker.rank(pool(1000, 136, count=1)[0][0])
Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
before = held("VmRSS")
ranker.rank(query)
print(json.dumps(held("VmHWM") - before))
"""


def parts(quick: bool) -> Iterator[Part]:
    """Rows for 10,000 documents and for 2,000 features."""
    n = MANY // 4 if quick else MANY
    yield partial(many_row, n, turns=3 if quick else 7)
    yield partial(memory_row, n)
    yield partial(rank_row, FEW, WIDE, 1.5, turns=5 if quick else 20)
    yield partial(diagonal_row, FEW, WIDE, turns=20 if quick else 60)
    yield partial(update_row, WIDE, 3.0, turns=10 if quick else 30)


def many_row(n: int, *, turns: int) -> Iterator[Outcome]:
    """One ranking of very many documents against the products, which are taken in slabs: all at once would not fit."""
    ranker = ranker_for_many()
    queries = [query for query, _ in pool(n, 136, count=2)]
    turn = cycle(queries)
    a, b = by_turns(lambda: ranker.rank(next(turn)), slab_products(queries[0].features), turns=turns)
    what = f"FairExp(PairRank).rank, n={n:,}, d=136, k={LENGTH}"
    yield compare(what, f"X M^-1 X^T, {SLAB} rows at a time", Bar(1.5), a, b, note=f"{np.median(a):.2f} s")


def memory_row(n: int) -> Iterator[Outcome]:
    """What a process holds at most while it ranks, beyond what it held before, against floats for every pair."""
    command = [sys.executable, "-c", PEAK.format(n=n)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    extra, matrix = json.loads(done.stdout), 8 * n * n
    yield Outcome(
        what=f"memory that a ranking of {n:,} documents needs at its peak",
        against=f"an n x n matrix of float64 ({matrix / 1e6:,.0f} MB)",
        bar=Bar(0.25),
        ratio=extra / matrix,
        low=extra / matrix,
        high=extra / matrix,
        samples={"what": spread([float(extra)])},
    )


def diagonal_row(n: int, d: int, *, turns: int) -> Iterator[Outcome]:
    """`rank` with the diagonal width against its own floor: every feature over its count, and one product."""
    queries = pool(n, d)
    ranker = warm_ranker(queries, rounds=20, width="diagonal")
    turn = cycle(query for query, _ in queries)
    features, diagonal = queries[0][0].features, 1.0 + np.arange(d, dtype=np.float64)

    def floor() -> Floats:
        return np.asarray((features / diagonal) @ features.T)

    a, b = by_turns(lambda: ranker.rank(next(turn)), floor, turns=turns, times=(8, 8))
    what = f"FairExp(PairRank(width='diagonal')).rank, n={n}, d={d}, k=10"
    yield compare(what, "X D^-1 X^T, D diagonal", Bar(3.0), a, b, note=f"{1e3 * np.median(a):.1f} ms")


def ranker_for_many() -> FairExp:
    """FairExp around PairRank with long lists, warmed up on queries of usual size."""
    return warm_ranker(pool(125, 136), length=LENGTH, rounds=100)


def slab_products(features: Floats) -> Callable[[], Floats]:
    """X M^-1 X^T of these features (n, d), some rows at a time into the same place; returns the last of them."""
    inverse = np.linalg.inv(np.eye(features.shape[1]) + features[:300].T @ features[:300])
    place = np.empty((SLAB, len(features)))

    def products() -> Floats:
        weighted = features @ inverse
        for first in range(0, len(features), SLAB):
            slab = weighted[first : first + SLAB]
            np.matmul(slab, features.T, out=place[: len(slab)])
        return place[: len(slab)]

    return products
