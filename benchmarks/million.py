"""A very long simulation: `python -m benchmarks.million` plays 1,000,000 rounds of PairRank and tells time and memory.

Queries are of MQ2008's shape: about 15 documents, 46 features. The trace is written to a temporary folder. With
`--json`, all that is printed is what `benchmarks.simulation` and `benchmarks.curves` read.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.long_run import resident_bytes
from fairexp import PairRank
from fairexp.fairness.exposure import exposure_curve
from fairexp.lab.data import Dataset, world
from fairexp.lab.simulation import simulate
from fairexp.lab.simulation.result import TRACE, Result
from fairexp.lab.users import load_user

N_FEATURES, N_DOCUMENTS, N_QUERIES = 46, 15, 470
"""As in MQ2008; the number of queries is that of one of its training parts."""
POINTS = 20


def main() -> None:
    """Play the run and print what was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.million", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true", help="print the points as JSON, nothing else")
    chosen = parser.parse_args()
    points = play_long(chosen.rounds, tell=not chosen.json)
    if chosen.json:
        print(json.dumps(points))


def play_long(rounds: int, *, tell: bool) -> list[dict[str, float]]:
    """The processor's seconds for a round since the point before, and the memory held, along a run with a trace."""
    points: list[dict[str, float]] = []
    step = max(rounds // POINTS, 1)
    last = time.process_time()

    def note(row: dict[str, Any]) -> None:
        nonlocal last
        if row["round"] % step == 0:
            now = time.process_time()
            points.append({"round": row["round"], "seconds": (now - last) / step, "memory": resident_bytes()})
            last = now
            if tell:
                rate, held = 1e6 * points[-1]["seconds"], points[-1]["memory"] / 1e6
                print(f"{row['round']:>9,} rounds, {rate:.0f} µs of processor time a round, {held:.0f} MB", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        play_pairrank(small_queries(), rounds, Path(folder, "run"), progress=note)
        written = Path(folder, "run", TRACE).stat().st_size
    if tell:
        minutes = (time.perf_counter() - began) / 60
        print(f"{rounds:,} rounds in {minutes:.1f} minutes, with a trace of {written / 1e6:.0f} MB")
    return points


def play_pairrank(data: Dataset, rounds: int, folder: Path, **options: Any) -> Result:
    """A simulation of PairRank with perfect users on queries of this shape, its trace in `folder`."""
    return simulate(
        PairRank(N_FEATURES, length=10, seed=1),
        data,
        load_user("perfect", n_grades=5, seed=2),
        rounds=rounds,
        exposure=exposure_curve("reciprocal", 10),
        shares=np.ones(2),
        seed=3,
        folder=folder,
        **options,
    )


def small_queries() -> Dataset:
    """Queries of MQ2008's shape, cut from a synthetic world: 5 to 25 documents, with the first features."""
    data = world("mslr-pagerank", n_queries=100, seed=0)
    sizes = np.random.default_rng(0).integers(5, 2 * N_DOCUMENTS - 4, size=N_QUERIES)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    assert data.groups is not None and offsets[-1] <= data.n_documents
    return Dataset(
        features=np.ascontiguousarray(data.features[: offsets[-1], :N_FEATURES]),
        grades=data.grades[: offsets[-1]],
        offsets=offsets,
        query_ids=tuple(map(str, range(N_QUERIES))),
        groups=data.groups[: offsets[-1]],
        name="small queries",
    )


if __name__ == "__main__":
    main()
