"""Runs in processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from fairexp.experiments.performing import Outcome, perform
from fairexp.simulation.settings import Parts
from fairexp.simulation.sharing import Kind, Shared, kind_of, open_shared, share

ATTEMPTS = 2
"""How often a run may take its process with it before it counts as failed."""
_PREFIX = "fairexp-runs-"
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_data: dict[Kind, Parts] = {}
"""In a worker: the data of all runs, mapped."""


class LocalProcesses:
    """Carries tasks out in `jobs` processes (default: one per core), each with a single thread of its own.

    Data is loaded once, by this process, and mapped into memory by the others. A process that dies (out of memory, say)
    costs its run one attempt and no other run anything; processes end by themselves when this one is killed.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = jobs or os.cpu_count() or 1
        self._folder = _own_folder()
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._shared: Shared = {}

    def run(self, tasks: Sequence[Any], *, work: Callable[[Any], Any] = perform) -> Iterator[Any]:
        """What `work` returns for each task, in the order in which they come to an end."""
        waiting = deque(tasks)
        attempts: dict[str, int] = {}
        self._share(tasks)
        while waiting:
            with _pool(min(self.jobs, len(waiting)), self._shared) as pool:
                try:
                    yield from self._until_broken(pool, waiting, attempts, work)
                except BaseException:
                    _end(pool)
                    raise

    def _share(self, tasks: Sequence[Any]) -> None:
        """Put data that is new into files that every process can map."""
        new = [task.settings for task in tasks if (task.settings.data, task.settings.validate) not in self._shared]
        if new:
            self._shared.update(share(new, self._folder / str(len(self._shared))))

    def _until_broken(
        self, pool: ProcessPoolExecutor, waiting: deque[Any], attempts: dict[str, int], work: Callable[[Any], Any]
    ) -> Iterator[Any]:
        """Outcomes until all are done, or until a process died and the pool with it."""
        # No more tasks are handed out than there are processes: when one dies, few can have been the cause.
        running: dict[Future[Any], Any] = {}
        while waiting or running:
            while waiting and len(running) < self.jobs:
                task = waiting.popleft()
                running[pool.submit(_work, work, task)] = task
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            broken = [running.pop(future) for future in done if isinstance(future.exception(), BrokenProcessPool)]
            for future in done:
                if future in running:
                    running.pop(future)
                    yield future.result()
            if broken:
                yield from self._after_a_death([*broken, *running.values()], waiting, attempts)
                return

    def _after_a_death(self, lost: Sequence[Any], waiting: deque[Any], attempts: dict[str, int]) -> Iterator[Outcome]:
        for task in lost:
            attempts[task.key] = attempts.get(task.key, 0) + 1
            if attempts[task.key] >= ATTEMPTS:
                problem = f"the process that played it died {ATTEMPTS} times (out of memory, or killed)"
                yield Outcome(task.key, error=problem, trace=problem)
            else:
                waiting.append(task)


def _own_folder() -> Path:
    """A new folder for shared data, named after this process; those that killed processes left behind are removed."""
    top = Path(tempfile.gettempdir())
    for left in top.glob(f"{_PREFIX}*"):
        number = left.name.removeprefix(_PREFIX).partition("-")[0]
        if number.isdigit() and not _is_alive(int(number)):
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _work(work: Callable[..., Any], task: Any) -> Any:
    return work(task, data=_data.get(kind_of(task.settings)))


def _pool(jobs: int, shared: Shared) -> ProcessPoolExecutor:
    for name in _THREADS:  # matrices are small and cores are taken; also, sums then come out the same everywhere
        os.environ[name] = "1"
    context = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
    if os.name == "posix":  # imported once, then every process is a fork that has it all
        context.set_forkserver_preload(["fairexp.experiments.performing", "fairexp.experiments.trying"])
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=(shared,))


def _start(shared: Shared) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _data.update(open_shared(shared))
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _end(pool: ProcessPoolExecutor) -> None:
    """Stop the processes at once: what they were playing is lost, as a kill would lose it."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
