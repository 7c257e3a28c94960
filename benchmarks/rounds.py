"""Long runs: flat time and memory over 20,000 rounds, and what 1,000 whole rounds of a simulation cost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness import Bar, Outcome, Part, by_turns, compare, resampled, spread
from benchmarks.workloads import products
from fairexp.randomness import make_rng
from fairexp.simulation.run import run
from fairexp.simulation.settings import DataSettings, RunSettings

ROUNDS = 1000


def parts(quick: bool) -> Iterator[Part]:
    """A row for the whole loop, and two for a long run in a process of its own."""
    yield partial(whole_loop, turns=2 if quick else 5)
    yield partial(long_run, quick)


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
