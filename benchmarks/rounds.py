"""Whole rounds: rank and update against their floors, 1,000 of a simulation, time and memory over 20,000."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from scipy.linalg import lapack

from benchmarks.harness import Bar, Outcome, Part, by_turns, compare, no_garbage, resampled, spread
from benchmarks.workloads import documents, products
from fairexp import FairExp, PairRank
from fairexp.lab.simulation.run import run
from fairexp.lab.simulation.settings import DataSettings, RunSettings
from fairexp.lab.users import load_user
from fairexp.randomness import make_rng
from fairexp.rankers.pairrank.pairs import preference_rows

ROUNDS = 1000
PER_TURN = 8
"""Rounds that make one sample of a whole round."""


def parts(quick: bool) -> Iterator[Part]:
    """Rows for a round and for the whole loop, and two for a long run in a separate process."""
    yield partial(round_row, turns=20 if quick else 100)
    yield partial(whole_loop, turns=2 if quick else 5)
    yield partial(long_run, quick)


def round_row(*, turns: int) -> Iterator[Outcome]:
    """rank and update, on another query each time, against the products, a rank-m update and a Cholesky solve.

    The floor learns from as many rows as the clicks gave, and solves nothing where they gave none.
    """
    data = documents("mslr-pagerank")
    ranker = FairExp(PairRank(data.n_features, length=10, seed=1), tolerance=0.1, seed=2)
    user, rng = load_user("perfect", n_grades=5, seed=3), np.random.default_rng(0)
    inverse, target = np.eye(data.n_features), rng.standard_normal(data.n_features)
    matrix, taken = np.eye(data.n_features), np.zeros((2, turns))
    with no_garbage():
        for number in range(-300, turns * PER_TURN):
            query, grades = data.query(number % data.n_queries), data.grades[data.rows(number % data.n_queries)]
            started = time.perf_counter()
            ranking = ranker.rank(query)
            ranked = time.perf_counter()
            clicks = user.browse(ranking, grades)
            clicked = time.perf_counter()
            ranker.update(ranking, clicks)
            updated = time.perf_counter()
            rows = preference_rows(ranking.features, clicks)
            floor_started = time.perf_counter()
            products(query.features, inverse)
            if len(rows):
                matrix += rows.T @ rows
                lapack.dposv(matrix, target)
            if number >= 0:
                taken[0, number // PER_TURN] += ranked - started + updated - clicked
                taken[1, number // PER_TURN] += time.perf_counter() - floor_started
    what = f"a round of FairExp(PairRank), rank and update, about {data.n_documents // data.n_queries} documents, d=136"
    yield compare(what, "X M^-1 X^T, a rank-m update and a Cholesky solve", Bar(1.8), taken[0], taken[1])


def whole_loop(*, turns: int) -> Iterator[Outcome]:
    """1,000 rounds of FairExp-PairRank, users and metrics included, against the products of the queries they draw."""
    settings = RunSettings(ranker="fairexp-pairrank", data=DataSettings("mslr-pagerank"), rounds=ROUNDS, seed=0)
    train, _ = settings.data.load()
    drawn = make_rng(np.random.SeedSequence(settings.seed).spawn(3)[0])
    queries = [train.query(int(drawn.integers(train.n_queries))).features for _ in range(ROUNDS)]
    inverse = np.eye(train.n_features)

    def floor() -> None:
        for features in queries:
            products(features, inverse)

    a, b = by_turns(lambda: run(settings), floor, turns=turns)
    what = f"{ROUNDS:,} rounds of FairExp-PairRank, users and metrics included"
    yield compare(what, "X M^-1 X^T of every round", Bar(20.0), a, b)


def long_run(quick: bool) -> Iterator[Outcome]:
    """Rows for time and memory late in a run against early in it."""
    script = Path(__file__).with_name("long_run.py")
    command = [sys.executable, "-m", f"benchmarks.{script.stem}", *(["--quick"] if quick else [])]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=script.parents[1])
    found = json.loads(done.stdout)
    late, early = np.array(found["late_seconds"]), np.array(found["early_seconds"])
    low, high = resampled(np.column_stack([late, early]), lambda pairs: float(pairs[:, 0].sum() / pairs[:, 1].sum()))
    yield Outcome(
        what=f"mean round (rank + update), rounds {found['late']}",
        against=f"rounds {found['early']} of the same run",
        bar=Bar(1.2),
        ratio=float(late.mean() / early.mean()),
        low=low,
        high=high,
        samples={"what": spread(late), "against": spread(early)},
    )
    memory = found["memory"]
    growth = memory["late"] / memory["early"]
    yield Outcome(
        what=f"resident memory at round {found['rounds']:,}",
        against="at round 1,000",
        bar=Bar(1.05),
        ratio=growth,
        low=growth,
        high=growth,
        samples={name: spread([float(size)]) for name, size in memory.items()},
    )
