"""Runs on a Ray cluster: the same tasks, the same records."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from fairexp.errors import ArgumentError, ClusterLostError, MissingExtraError
from fairexp.lab.experiments.run.ray_driver import ENDED, ERROR, JOBS, OUTCOME, READY, STARTED, STOP, TELL, drive
from fairexp.lab.experiments.run.task import perform
from fairexp.lab.simulation.pool.processes import CONTEXT, SINGLE_THREADS, deaf_to_interrupts, environment

SILENCE_SECONDS = 10.0
"""Without any message for so long, the driver hangs: it sends one every second."""
CONNECT_SECONDS = 6.0
"""For connecting to a cluster that runs, once Ray is imported."""
START_SECONDS = 120.0
"""For importing Ray, and for starting a cluster of this machine's own."""
END_SECONDS = 3.0


class RayCluster:
    """Carries tasks out on the cluster at `address`, or on one of this machine's own where that is None.

    The data's folder must be at the same path on every machine; worlds need none. A node whose data are missing or
    differ is left out, and so is one that dies; `tell` hears of it, and their runs go elsewhere. Records travel back to
    this process, which keeps them. Ray runs in a separate process: where its head is gone, Ray ends or blocks the
    process that uses it.
    """

    def __init__(self, address: str | None = None, *, tell: Callable[[str], object] = lambda line: None) -> None:
        if find_spec("ray") is None:
            raise MissingExtraError("--on ray: Ray is not installed; run: pip install 'fairexp[ray]'")
        self._address, self._tell = address, tell
        self._jobs = 1
        self._connect()

    @property
    def jobs(self) -> int:
        """How many runs the cluster plays at once: one for each core of the nodes that take part."""
        return self._jobs

    def run(self, tasks: Sequence[Any], *, work: Callable[[Any], Any] = perform) -> Iterator[Any]:
        """What `work` returns for each task, in the order in which they come to an end."""
        if not self._end.alive:
            self._connect()
        ended = False
        try:
            self._send((list(tasks), work))
            while True:
                kind, content = self._hear(SILENCE_SECONDS)
                if kind == ENDED:
                    ended = True
                    return
                if kind == OUTCOME:
                    yield content
        finally:
            if not ended:
                self._end()

    def _connect(self) -> None:
        self._pipe, theirs = CONTEXT.Pipe()
        process = CONTEXT.Process(target=drive, args=(self._address, theirs), daemon=True)
        with environment(SINGLE_THREADS), deaf_to_interrupts():
            process.start()
        theirs.close()
        self._end = weakref.finalize(self, _end, self._pipe, process)
        try:
            kind, limit = "", START_SECONDS
            while kind != READY:
                kind, _ = self._hear(limit)
                limit = CONNECT_SECONDS if kind == STARTED and self._address is not None else START_SECONDS
        except ClusterLostError as error:
            process.kill()  # it may be waiting for what does not answer
            self._end()
            raise ArgumentError(
                "--on",
                "ray" if self._address is None else f"ray={self._address}, where no Ray cluster answers",
                "the address of a running Ray cluster, such as 10.0.0.1:6379 or auto",
            ) from error
        except BaseException:
            self._end()
            raise

    def _hear(self, seconds: float) -> tuple[str, Any]:
        """The next message of the driver; what it tells is handed on, and errors are raised."""
        try:
            if not self._pipe.poll(seconds):
                raise EOFError
            kind, content = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise ClusterLostError(self._address) from error
        if kind == ERROR:
            raise ClusterLostError(self._address) if isinstance(content, ClusterLostError) else content
        if kind == TELL:
            self._tell(content)
        elif kind in (READY, JOBS):
            self._jobs = content
        return kind, content

    def _send(self, message: Any) -> None:
        try:
            self._pipe.send(message)
        except OSError as error:
            raise ClusterLostError(self._address) from error


def _end(pipe: Connection, process: BaseProcess) -> None:
    """End the driver: in peace where it hears, so that Ray frees what it holds, and else by force."""
    try:
        pipe.send(STOP)
        while pipe.poll(END_SECONDS):
            pipe.recv()  # it may wait for a reader
    except (EOFError, OSError):
        pass  # it is gone, or closed its end
    process.join(END_SECONDS)
    process.kill()
    process.join()
    pipe.close()
