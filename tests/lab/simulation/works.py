"""What tests have workers do, and the tasks: importable by name, as workers need it."""

from __future__ import annotations

import os
import resource
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairexp.lab.simulation.pool.worker import is_stopping, report
from fairexp.lab.simulation.settings import DataSettings, RunSettings
from tests.waiting import until

SMALL = RunSettings(ranker="random", data=DataSettings("mslr-pagerank", n_queries=5), rounds=10, n_points=2)


@dataclass(frozen=True)
class Task:
    """A number to do something with, and a file to leave a mark in."""

    number: int
    mark: str = ""
    settings: RunSettings = SMALL


def square(task: Task, *, data: Any) -> int:
    report(task.number)
    if task.number < 0:
        raise ArithmeticError(f"{task.number} is below 0")
    return task.number**2


def threads_of_blas(task: Task, *, data: Any) -> str | None:
    """The threads that BLAS was told to take."""
    return os.environ.get("OPENBLAS_NUM_THREADS")


def die(task: Task, *, data: Any) -> str:
    """Kill this process; with a mark, only where nobody has done so before."""
    if task.mark:
        if Path(task.mark).exists():
            return "survived"
        Path(task.mark).touch()
    os.kill(os.getpid(), signal.SIGKILL)
    return "unreachable"


def until_stopped(task: Task, *, data: Any) -> str:
    report("under way")
    until(is_stopping, "nobody said that it should stop")
    return "stopped"


def page_faults(task: Task, *, data: Any) -> int:
    """How many pages the system hands out for temporary matrices of half a megabyte, after the first few."""
    for _ in range(5):
        np.ones(2**16).sum()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(100):
        np.ones(2**16).sum()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def maps_features(task: Task, *, data: Any) -> bool:
    train, _, _ = data
    return isinstance(train.features, np.memmap) and train.n_queries == 5


def echo(item: object) -> None:
    sys.stdout.write(f"{item}\n")
    sys.stdout.flush()
