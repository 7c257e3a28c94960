"""Processes of this machine that play runs side by side, on data that is in memory once."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from fairexp.errors import FairexpError
from fairexp.lab.simulation.pool.processes import CONTEXT, SINGLE_THREADS, deaf_to_interrupts, environment
from fairexp.lab.simulation.pool.shared_data import Shared
from fairexp.lab.simulation.pool.worker import become_worker, work_on

TICK_SECONDS = 0.05
"""How long a worker's report may lie before it is looked at."""

Work = Callable[..., Any]
"""Called in a worker with a task and `data`, the parts that its settings name; found there by its name."""
Hear = Callable[[Any], None]


class ProcessDiedError(FairexpError):
    """The process that played a run died at every attempt."""

    def __init__(self, label: str, attempts: int) -> None:
        times = "once" if attempts == 1 else f"{attempts} times"
        self.problem = f"the process that played it died {times} (out of memory, or killed)"
        super().__init__(f"{label}: {self.problem}. Play fewer runs at once, or see what the system's log says.")


class Workers:
    """Plays tasks, which have `settings`, in `jobs` processes (default: one per core) of one thread each.

    Workers leave Ctrl-C to this process, and end by themselves when it is killed.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = jobs or os.cpu_count() or 1
        self._waiting: deque[int] = deque()
        self._stopping: Any = None

    def play(
        self, tasks: Sequence[Any], work: Work, *, shared: Shared, attempts: int = 1, hear: Hear | None = None
    ) -> Iterator[tuple[int, Any]]:
        """The number of each task and what `work` returned for it, or the exception it raised, in the order of ending.

        A process that dies costs its task one of its `attempts`; the last gives a `ProcessDiedError`. `hear` is handed
        what workers `report`; with it, Ctrl-C means `stop`; without, or when it comes again, it ends all at once.
        """
        self._waiting = deque(range(len(tasks)))
        self._stopping = CONTEXT.Event()
        died: Counter[int] = Counter()
        while self._waiting:
            with environment(SINGLE_THREADS), self._pool(shared, hear) as pool:
                try:
                    for number, result in self._results(pool, tasks, work):
                        if not isinstance(result, BrokenProcessPool):
                            yield number, result
                            continue
                        died[number] += 1
                        if died[number] < attempts and not self._stopping.is_set():
                            self._waiting.append(number)
                        else:
                            yield number, ProcessDiedError(tasks[number].settings.label, died[number])
                except BaseException:
                    pool.end()
                    raise

    def stop(self) -> None:
        """Let no further task start, and tell those under way (`is_stopping`); `play` gives what they come to."""
        self._waiting.clear()
        self._stopping.set()

    def _pool(self, shared: Shared, hear: Hear | None) -> _Pool:
        return _Pool(min(self.jobs, len(self._waiting)), shared, self._stopping, hear)

    def _results(self, pool: _Pool, tasks: Sequence[Any], work: Work) -> Iterator[tuple[int, Any]]:
        """Results until all are there, or until a process died and the pool with it."""
        finished: list[tuple[int, Any]] = []
        while (self._waiting or pool.running) and not pool.is_broken:
            while self._waiting and len(pool.running) < pool.size:
                number = self._waiting.popleft()
                pool.hand_out(number, work, tasks[number])
            yield from finished  # not before whoever was free has something to do
            finished = []
            try:
                finished = pool.next_finished()
            except KeyboardInterrupt:
                if not pool.listens or self._stopping.is_set():
                    raise
                self.stop()
        yield from finished


class _Pool(ProcessPoolExecutor):
    """Processes that live until one of them dies, and what they are at.

    No more tasks are handed out than there are processes: when one dies, few can have been the cause. Each
    process holds one end of a pipe and ends when the other, which is here, is closed: by `end`, or by the system where
    this process is killed.
    """

    def __init__(self, size: int, shared: Shared, stopping: Any, hear: Hear | None) -> None:
        self._reports = CONTEXT.SimpleQueue()
        theirs, self._lifeline = CONTEXT.Pipe(duplex=False)
        tools = (shared, stopping, self._reports, theirs)
        super().__init__(size, mp_context=CONTEXT, initializer=become_worker, initargs=tools)
        self._stopping, self._hear = stopping, hear
        self.size = size
        self.listens = hear is not None
        self.running: dict[Future[Any], int] = {}
        self.is_broken = False

    def hand_out(self, number: int, work: Work, task: Any) -> None:
        try:
            with deaf_to_interrupts():
                self.running[self.submit(work_on, task, work)] = number
        except BrokenProcessPool as error:  # a process died while it had nothing to do
            lost: Future[Any] = Future()
            lost.set_exception(error)
            self.running[lost] = number

    def next_finished(self) -> list[tuple[int, Any]]:
        """What ends next; after a death all that was under way."""
        done: set[Future[Any]] = set()
        while not done:
            done, _ = wait(self.running, timeout=TICK_SECONDS if self.listens else None, return_when=FIRST_COMPLETED)
            self._listen()
        self.is_broken = any(isinstance(future.exception(), BrokenProcessPool) for future in done)
        if self.is_broken:
            done, _ = wait(self.running)
        return [(self.running.pop(future), future.exception() or future.result()) for future in done]

    def _listen(self) -> None:
        while self._hear is not None and not self._reports.empty():
            report = self._reports.get()
            if not self._stopping.is_set():  # who interrupted has heard enough
                self._hear(report)

    def end(self) -> None:
        """Stop the processes at once: what they were playing is lost, as a kill would lose it."""
        self._lifeline.close()
        self.shutdown(wait=False, cancel_futures=True)
