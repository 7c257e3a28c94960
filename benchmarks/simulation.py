"""What the simulation adds to ranking and learning, on small queries: users, metrics, the trace; and its memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness import Bar, Outcome, Part, by_turns, compare, spread
from benchmarks.million import N_DOCUMENTS, N_FEATURES, play_pairrank, small_queries
from fairexp import PairRank
from fairexp.lab.simulation import play
from fairexp.lab.simulation.result import Result
from fairexp.lab.users import load_user
from fairexp.randomness import make_rng

SHAPE = f"about {N_DOCUMENTS} documents, {N_FEATURES} features"


def parts(quick: bool) -> Iterator[Part]:
    """A row for the loop around the ranker, and one for a long run's memory."""
    yield partial(loop_row, rounds=1000 if quick else 3000, turns=3 if quick else 10)
    yield partial(memory_row, 10_000 if quick else 100_000)


def loop_row(*, rounds: int, turns: int) -> Iterator[Outcome]:
    """A whole simulation against the same calls of `rank` and `update`, with the clicks that it saw."""
    data = small_queries()
    ranker, user = PairRank(N_FEATURES, length=10, seed=1), load_user("perfect", n_grades=5, seed=2)
    seen = [(data.query(done.query), done.clicks) for done in play(ranker, data, user, rounds=rounds, rng=make_rng(3))]

    def whole() -> Result:
        with tempfile.TemporaryDirectory() as folder:
            return play_pairrank(data, rounds, Path(folder, "run"))

    def alone() -> None:
        again = PairRank(N_FEATURES, length=10, seed=1)
        for query, clicks in seen:
            again.update(again.rank(query), clicks)

    a, b = by_turns(whole, alone, turns=turns)
    what = f"a simulated round of PairRank, {SHAPE}: user, metrics and trace"
    yield compare(what, "its rank and update alone", Bar(1.5), a, b)


def memory_row(rounds: int) -> Iterator[Outcome]:
    """Memory at the end of a simulation that writes its trace, against that after a tenth of it."""
    command = [sys.executable, "-m", "benchmarks.million", "--json", "--rounds", str(rounds)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    points = json.loads(done.stdout)
    early = next(point for point in points if point["round"] >= rounds // 10)
    growth = points[-1]["memory"] / early["memory"]
    per_round = float(np.median([point["seconds"] for point in points]))
    yield Outcome(
        what=f"resident memory of a simulation at round {rounds:,}",
        against=f"at round {early['round']:,}",
        bar=Bar(1.05),
        ratio=growth,
        low=growth,
        high=growth,
        samples={"what": spread([points[-1]["memory"]]), "against": spread([early["memory"]])},
        note=f"{1e6 * per_round:.0f} µs of processor time a round: {per_round * 1e6 / 60:.1f} minutes for a million",
    )
