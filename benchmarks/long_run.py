"""A long run of FairExp-PairRank in a separate process; prints what `benchmarks.rounds` needs as JSON.

Early and late rounds of one run lie a minute apart, and the machine may have changed in between. So the run's state is
saved before both; afterwards two copies continue from there by turns, on the same queries.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from fairexp import FairExp, PairRank
from fairexp.lab.data import Dataset, world
from fairexp.lab.users import User, load_user

BATCH = 50
"""Rounds that make a sample."""


def main() -> None:
    """Play a run and print what was measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--trace", action="store_true", help="print time and memory along a run instead")
    chosen = parser.parse_args()
    print(json.dumps(trace() if chosen.trace else late_and_early(quick=chosen.quick)))


def trace(*, rounds: int = 10_000, every: int = 500) -> list[dict[str, float]]:
    """The median seconds of a round, and the resident memory after it, along a run."""
    data = world("mslr-pagerank", n_queries=200, seed=0)
    ranker, user = new_ranker(data.n_features), load_user("perfect", n_grades=5, seed=0)
    drawn = np.random.default_rng(0).integers(data.n_queries, size=rounds)
    points = []
    for start in range(0, rounds, every):
        taken = [play(ranker, data, user, int(index)) for index in drawn[start : start + every]]
        points.append({"round": start + every, "seconds": float(np.median(taken)), "memory": resident_bytes()})
    return points


def late_and_early(*, quick: bool) -> dict[str, object]:
    """Seconds of late rounds and of early ones, measured by turns, and the memory held then."""
    rounds, late_from = (4000, 3000) if quick else (20_000, 15_000)
    early_from, early_to = 500, 1000
    data = world("mslr-pagerank", n_queries=200, seed=0)
    ranker, user = new_ranker(data.n_features), load_user("perfect", n_grades=5, seed=0)
    drawn = np.random.default_rng(0).integers(data.n_queries, size=rounds)
    memory = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, index in enumerate(drawn):
            if number in (early_from, late_from):
                np.savez(Path(folder, f"{number}.npz"), **ranker.state())
            if number == early_to:
                memory["early"] = resident_bytes()
            play(ranker, data, user, int(index))
        memory["late"] = resident_bytes()
        states = {at: dict(np.load(Path(folder, f"{at}.npz"))) for at in (early_from, late_from)}
    late = new_ranker(data.n_features).restore(states[late_from])
    early_seconds, late_seconds = [], []
    for start in range(late_from, rounds, BATCH):
        if (start - late_from) % (early_to - early_from) == 0:
            early = new_ranker(data.n_features).restore(states[early_from])
        batch = drawn[start : start + BATCH]
        late_seconds.append(float(np.mean([play(late, data, user, int(index)) for index in batch])))
        early_seconds.append(float(np.mean([play(early, data, user, int(index)) for index in batch])))
    return {
        "rounds": rounds,
        "late": f"{late_from:,} to {rounds:,}",
        "early": f"{early_from:,} to {early_to:,}",
        "late_seconds": late_seconds,
        "early_seconds": early_seconds,
        "memory": memory,
    }


def new_ranker(n_features: int) -> FairExp:
    """The default learner inside FairExp."""
    return FairExp(PairRank(n_features, length=10, seed=1), tolerance=0.1, beta=1.0, seed=2)


def play(ranker: FairExp, data: Dataset, user: User, index: int) -> float:
    """One round on query `index`; the seconds that `rank` and `update` took."""
    query, relevance = data.query(index), data.relevance(index)
    started = time.perf_counter()
    ranking = ranker.rank(query)
    between = time.perf_counter()
    clicks = user.browse(ranking, relevance)
    resumed = time.perf_counter()
    ranker.update(ranking, clicks)
    return (between - started) + (time.perf_counter() - resumed)


def resident_bytes() -> int:
    """Memory that this process holds at present."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


if __name__ == "__main__":
    main()
