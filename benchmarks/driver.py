"""What an experiment's driver does for each outcome, with many runs left against few."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Bar, Outcome, Part, compare, no_garbage
from fairexp.lab.experiments.conduct import Stage
from fairexp.lab.experiments.plan.run import Run
from fairexp.lab.experiments.run.records import Records
from fairexp.lab.experiments.run.task import Outcome as Played
from fairexp.lab.simulation.settings import RunSettings
from fairexp.measures import HELDOUT_NDCG, VALIDATION_NDCG

MANY, FEW = 100_000, 500
OUTCOMES = 250
"""Outcomes that a sample is the mean of: half of those of the smaller experiment."""
KINDS = [
    (data, user, ranker)
    for data in ("web", "news")
    for user in ("perfect", "navigational", "informational")
    for ranker in ("pairrank", "fairexp-pairrank", "fairco", "pdgd", "dbgd")
]


def parts(quick: bool) -> Iterator[Part]:
    """The row for the cost of an outcome."""
    yield partial(outcome_row, many=MANY // 20 if quick else MANY, turns=2 if quick else 9)


def outcome_row(*, many: int, turns: int) -> Iterator[Outcome]:
    """Two stages of the same kinds of runs; records go nowhere, so that only the driver's own work counts."""
    sizes = {n: runs(n) for n in (many, FEW)}
    taken: dict[int, list[float]] = {n: [] for n in sizes}
    with no_garbage():
        for turn in range(turns + 1):
            for n, own in sizes.items():
                seconds = seconds_per_outcome(own)
                if turn:  # the first fills caches
                    taken[n].append(seconds)
    a, b = (np.array(each) for each in taken.values())
    yield compare(f"an outcome with {many:,} runs left", f"with {FEW:,}", Bar(1.5), a, b)


def runs(n: int) -> list[Run]:
    """As many runs, of all kinds alike."""
    return [
        Run(data, user, 1, ranker, {}, number, RunSettings(ranker=ranker, seed=number, user=user), "")
        for number in range(n)
        for data, user, ranker in [KINDS[number % len(KINDS)]]
    ]


def seconds_per_outcome(own: Sequence[Run]) -> float:
    """What the driver does between two outcomes, in the mean over the first `OUTCOMES`."""
    executor = _Instant()
    Stage(Records(_Nowhere()), executor, (), lambda progress: None, time.monotonic).play("final", own, retry=False)
    return executor.seconds / OUTCOMES


class _Instant:
    """Gives the first outcomes at once, and times how long it takes until it is asked for the next."""

    jobs = 2
    seconds = 0.0

    def run(self, tasks: Sequence[Any], *, work: Callable[[Any], Any] | None = None) -> Iterator[Played]:
        result = {HELDOUT_NDCG.name: 0.5, VALIDATION_NDCG.name: None}
        for task in tasks[:OUTCOMES]:
            record = {"result": result, "timing": {"seconds": 1.0, "processor_seconds": 1.0}}
            began = time.perf_counter()
            yield Played(task.key, record=record)
            self.seconds += time.perf_counter() - began


class _Nowhere:
    """A store that forgets."""

    place = "nowhere"
    writers = 1

    def write(self, name: str, text: str) -> None: ...

    def read(self, name: str) -> str | None:
        return None

    def names(self, folder: str) -> set[str]:
        return set()

    def delete(self, name: str) -> None: ...
