"""Many seeds of one simulation on two cores against one at a time on one core."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.harness import Bar, Outcome, Part, spread
from fairexp.lab.simulation.pool.batch import run_many
from fairexp.lab.simulation.settings import DataSettings, RunSettings, loaded_parts

SPIN_SECONDS = 1.0


def parts(quick: bool) -> Iterator[Part]:
    """The row for eight seeds."""
    yield partial(seeds_row, rounds=300 if quick else 2500, turns=1 if quick else 2)


def seeds_row(*, rounds: int, turns: int) -> Iterator[Outcome]:
    """Eight seeds, loading the data included; before, either way has been gone once.

    Where the machine has less than two cores to give, the interval reaches up to what the ratio would be with two.
    """
    settings = RunSettings(ranker="fairexp-pairrank", data=DataSettings("mslr-pagerank"), rounds=rounds)
    runs = [settings.with_seed(seed) for seed in range(8)]
    for jobs in (1, 2):
        run_many([replace(settings, rounds=2)] * 2, jobs=jobs)
    one, two, cores = [], [], []
    for _ in range(turns):
        cores.append(cores_at_hand())
        one.append(_seconds(runs, jobs=1))
        two.append(_seconds(runs, jobs=2))
        cores.append(cores_at_hand())
    gains = np.array(one) / np.array(two)
    yield Outcome(
        what=f"{len(runs)} seeds of {rounds:,} rounds on 2 cores",
        against="one at a time on 1 core",
        bar=Bar(1.8, at_most=False),
        ratio=float(np.median(gains)),
        low=float(gains.min()),
        high=float(gains.max() * 2.0 / np.mean(cores)),
        samples={"one": spread(one), "two": spread(two), "cores": spread(cores)},
        note=f"two busy loops got {np.mean(cores):.2f} times as much done as one",
    )


def _seconds(runs: list[RunSettings], *, jobs: int) -> float:
    loaded_parts.cache_clear()  # both ways load the data once, and that counts
    started = time.perf_counter()
    run_many(runs, jobs=jobs)
    return time.perf_counter() - started


def cores_at_hand() -> float:
    """How much more two busy loops get done together than one alone: 2 on an idle machine with two cores."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("forkserver")) as pool:
        list(pool.map(_spin, [0.05, 0.05]))
        alone = pool.submit(_spin, SPIN_SECONDS).result()
        together = list(pool.map(_spin, [SPIN_SECONDS, SPIN_SECONDS]))
    return min(2.0, sum(together) / alone)


def _spin(for_seconds: float) -> int:
    """Turns of an empty loop within the time."""
    n, until = 0, time.perf_counter() + for_seconds
    while time.perf_counter() < until:
        n += 1
    return n
