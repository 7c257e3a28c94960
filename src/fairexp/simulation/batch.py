"""Many runs at once, in processes of their own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from functools import partial
from pathlib import Path
from queue import Empty
from typing import Any

from fairexp.simulation.run import Result
from fairexp.simulation.settings import Settings, run
from fairexp.simulation.sharing import Shared, kind_of, open_shared, share

Progress = Callable[[int, dict[str, Any]], None]
"""Called with the number of a run and its latest row."""

REPORTS_PER_RUN = 100
_worker: dict[str, Any] = {}


def run_many(
    runs: Sequence[Settings],
    *,
    folder: Path | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Result | None]:
    """Results in the order of `runs`; None for those that an interrupt kept from starting.

    Each run with `folder` is kept below it as `Settings.label` says (a single run in the folder itself). `jobs`
    processes work at once (default: one per core); with one, runs happen in this process. Data is loaded once and
    shared by all of them.
    """
    places = [_place(settings, folder, alone=len(runs) == 1) for settings in runs]
    n_jobs = min(jobs or os.cpu_count() or 1, len(runs))
    if n_jobs <= 1:
        return _one_by_one(runs, places, progress)
    with tempfile.TemporaryDirectory(prefix="fairexp-", ignore_cleanup_errors=True) as place:
        return _side_by_side(runs, places, progress, n_jobs=n_jobs, shared=share(runs, Path(place)))


def _side_by_side(
    runs: Sequence[Settings],
    places: Sequence[Path | None],
    progress: Progress | None,
    *,
    n_jobs: int,
    shared: Shared,
) -> list[Result | None]:
    # Workers start with one BLAS thread each: the matrices are small, and the cores are taken.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    context = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
    reports, stop = context.Queue(), context.Event()
    with ProcessPoolExecutor(n_jobs, mp_context=context, initializer=_start, initargs=(reports, stop, shared)) as pool:
        futures = [pool.submit(_work, i, s, p) for i, (s, p) in enumerate(zip(runs, places, strict=True))]
        try:
            _follow(futures, reports, progress)
        except KeyboardInterrupt:
            # Workers leave signals to this process; each ends its run early and keeps what was done.
            stop.set()
            for future in futures:
                future.cancel()
            wait(futures)
    return [None if future.cancelled() else future.result() for future in futures]


def _one_by_one(
    runs: Sequence[Settings], places: Sequence[Path | None], progress: Progress | None
) -> list[Result | None]:
    results: list[Result | None] = []
    for number, (settings, place) in enumerate(zip(runs, places, strict=True)):
        if results and results[-1] is not None and results[-1].interrupted:
            results.extend([None] * (len(runs) - number))
            break
        report = None if progress is None else _every(settings, partial(progress, number))
        results.append(run(settings, folder=place, progress=report))
    return results


def _follow(futures: Sequence[Future[Result | None]], reports: Any, progress: Progress | None) -> None:
    pending = set(futures)
    while pending:
        try:
            number, row = reports.get(timeout=0.2)
            if progress is not None:
                progress(number, row)
        except Empty:
            pass
        pending = {future for future in pending if not future.done()}
        for future in set(futures) - pending:
            if not future.cancelled() and future.exception() is not None:
                for other in futures:
                    other.cancel()
                raise future.exception()  # type: ignore[misc]


def _start(reports: Any, stop: Any, shared: Shared) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker["reports"], _worker["stop"], _worker["data"] = reports, stop, open_shared(shared)


def _work(number: int, settings: Settings, place: Path | None) -> Result | None:
    if _worker["stop"].is_set():
        return None
    report = _every(settings, lambda row: _worker["reports"].put((number, row)))

    def report_unless_stopped(row: dict[str, Any]) -> None:
        if _worker["stop"].is_set():
            raise KeyboardInterrupt
        report(row)

    return run(settings, data=_worker["data"][kind_of(settings)], folder=place, progress=report_unless_stopped)


def _every(settings: Settings, report: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    """`report`, thinned out to about `REPORTS_PER_RUN` calls and the last round."""
    step = max(settings.rounds // REPORTS_PER_RUN, 1)

    def thinned(row: dict[str, Any]) -> None:
        if row["round"] % step == 0 or row["round"] == settings.rounds:
            report(row)

    return thinned


def _place(settings: Settings, folder: Path | None, *, alone: bool) -> Path | None:
    if folder is None:
        return None
    return folder if alone else folder / settings.label
