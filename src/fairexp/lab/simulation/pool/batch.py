"""Many runs at once, in processes of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairexp.lab.simulation.pool.paces import work
from fairexp.lab.simulation.pool.shared_data import SharedData
from fairexp.lab.simulation.pool.worker import is_stopping, keep_freed_memory, report
from fairexp.lab.simulation.result import Result
from fairexp.lab.simulation.run import run
from fairexp.lab.simulation.settings import Parts, RunSettings

if TYPE_CHECKING:
    from fairexp.lab.simulation.pool.workers import Workers

Progress = Callable[[int, dict[str, Any]], None]
"""Called with the number of a run and its latest row."""

REPORTS_PER_RUN = 100


def run_many(
    runs: Sequence[RunSettings],
    *,
    folder: Path | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Result | None]:
    """Results in the order of `runs`; None for those that an interrupt kept from starting.

    Each run with `folder` is kept below it as `RunSettings.label` says (a single run in the folder itself). `jobs`
    processes work at once (default: one per core); with one, runs happen in this process. Data is loaded once and
    shared by all of them.
    """
    places = [_place(settings, folder, alone=len(runs) == 1) for settings in runs]
    n_jobs = min(jobs or os.cpu_count() or 1, len(runs))
    if n_jobs == 1:
        return _one_by_one(runs, places, progress)
    from fairexp.lab.simulation.pool.workers import Workers

    return _side_by_side(runs, places, progress, Workers(n_jobs))


@dataclass(frozen=True)
class _Job:
    """What a worker is sent."""

    number: int
    settings: RunSettings
    place: Path | None


def _side_by_side(
    runs: Sequence[RunSettings], places: Sequence[Path | None], progress: Progress | None, workers: Workers
) -> list[Result | None]:
    jobs = [_Job(number, *job) for number, job in enumerate(zip(runs, places, strict=True))]
    # The longest begin, so that no process is alone at the end.
    jobs.sort(key=lambda job: -work(job.settings.ranker, job.settings.rounds))
    results: list[Result | None] = [None] * len(runs)
    problem: BaseException | None = None
    with SharedData() as data:
        for index, result in workers.play(jobs, _work, shared=data.of(runs), hear=partial(_tell, progress)):
            if isinstance(result, BaseException):
                problem = problem or result
                workers.stop()
            else:
                results[jobs[index].number] = result
    if problem is not None:
        raise problem
    return results


def _tell(progress: Progress | None, report: tuple[int, dict[str, Any]]) -> None:
    if progress is not None:
        progress(*report)


def _one_by_one(
    runs: Sequence[RunSettings], places: Sequence[Path | None], progress: Progress | None
) -> list[Result | None]:
    keep_freed_memory()
    results: list[Result | None] = []
    for number, (settings, place) in enumerate(zip(runs, places, strict=True)):
        if results and results[-1] is not None and results[-1].interrupted:
            results.extend([None] * (len(runs) - number))
            break
        report = None if progress is None else _every(settings, partial(progress, number))
        results.append(run(settings, folder=place, progress=report))
    return results


def _work(job: _Job, *, data: Parts | None) -> Result | None:
    """In a worker: play the run, unless all is to end."""
    if is_stopping():
        return None
    tell = _every(job.settings, lambda row: report((job.number, row)))

    def tell_unless_stopping(row: dict[str, Any]) -> None:
        if is_stopping():
            raise KeyboardInterrupt
        tell(row)

    return run(job.settings, data=data, folder=job.place, progress=tell_unless_stopping)


def _every(settings: RunSettings, report: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    """`report`, thinned out to about `REPORTS_PER_RUN` calls and the last round."""
    step = max(settings.rounds // REPORTS_PER_RUN, 1)

    def thinned(row: dict[str, Any]) -> None:
        if row["round"] % step == 0 or row["round"] == settings.rounds:
            report(row)

    return thinned


def _place(settings: RunSettings, folder: Path | None, *, alone: bool) -> Path | None:
    if folder is None:
        return None
    return folder if alone else folder / settings.label
