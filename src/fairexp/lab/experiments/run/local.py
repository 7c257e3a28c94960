"""Runs in processes of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fairexp.lab.experiments.run.task import Outcome, perform
from fairexp.lab.simulation.pool.shared_data import SharedData
from fairexp.lab.simulation.pool.workers import ProcessDiedError, Workers

ATTEMPTS = 2
"""How often a run may take its process with it before it counts as failed."""


class LocalProcesses:
    """Carries tasks out in `jobs` processes (default: one per core), each with a single thread of its own.

    Data is loaded once, by this process, and mapped into memory by the others. A process that dies (out of memory, say)
    costs its run one attempt and no other run anything; processes end by themselves when this one is killed.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self._workers = Workers(jobs)
        self._data = SharedData()

    @property
    def jobs(self) -> int:
        return self._workers.jobs

    def run(self, tasks: Sequence[Any], *, work: Callable[[Any], Any] = perform) -> Iterator[Any]:
        """What `work` returns for each task, in the order in which they come to an end."""
        shared = self._data.of(task.settings for task in tasks)
        for number, result in self._workers.play(tasks, work, shared=shared, attempts=ATTEMPTS):
            if isinstance(result, ProcessDiedError):
                yield Outcome(tasks[number].key, error=result.problem, trace=result.problem)
            elif isinstance(result, BaseException):
                raise result
            else:
                yield result
