"""Large bodies are read in a separate process: however long that takes, this one goes on answering.

A thread would not do, because decoding holds the interpreter's lock.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any, TypeVar

from fairexp.service.limit import Limit
from fairexp.service.problems import ServiceError

if TYPE_CHECKING:
    from fairexp.service.settings import ServerSettings

LOG = logging.getLogger("fairexp.service")
Result = TypeVar("Result")
PATIENCE_SECONDS = 30.0
"""After this time without an answer the process is taken for stuck, killed, and replaced."""
NICENESS = 5


class Reader:
    """Reads bodies by a function of `bodies`: small ones at once, large ones in the process, one after the other."""

    def __init__(self, settings: ServerSettings) -> None:
        self._large = settings.large_body_bytes
        self.limit = Limit("large bodies", most=settings.max_waiting_bodies, setting="max_waiting_bodies")
        self.lost = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="fairexp-read")
        self._lock = threading.Lock()
        self._worker: _Worker | None = None

    @property
    def pid(self) -> int | None:
        """The process, if there is one."""
        return None if self._worker is None else self._worker.process.pid

    def start(self) -> _Worker:
        """The process, started if there is none, without waiting until it can read."""
        with self._lock:
            if self._worker is None:
                self._worker = _Worker()
            return self._worker

    def stop(self) -> None:
        """End the process, and give up what waits for it."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._discard()

    async def read(self, function: Callable[..., Result], body: bytes, **options: Any) -> Result:
        """What the function makes of the body."""
        if len(body) <= self._large:
            return function(body, **options)
        with self.limit.place():
            call = partial(self._elsewhere, function, body, options)
            return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    def _elsewhere(self, function: Callable[..., Result], body: bytes, options: dict[str, Any]) -> Result:
        try:
            done, result = self.start().ask(function, body, options)
        except (EOFError, OSError) as error:
            self.lost += 1
            LOG.error("the reader of large bodies is lost, and replaced", extra={"facts": {"problem": repr(error)}})
            self._discard()
            raise ServiceError(
                "reader_lost", "body: it could not be read to its end; try again shortly", status=503, retry_after=1.0
            ) from None
        if done:
            return result  # type: ignore[no-any-return]
        code, message, status, field = result
        raise ServiceError(code, message, status=status, field=field)

    def _discard(self) -> None:
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()


class _Worker:
    """The process and the line to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._line, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_work, args=(theirs,), name="fairexp-reader", daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, function: Callable[..., Any], body: bytes, options: dict[str, Any]) -> tuple[bool, Any]:
        """(True, what the function returned) or (False, what it refused)."""
        patience = threading.Timer(PATIENCE_SECONDS, self.process.kill)
        patience.start()
        try:
            self._line.send((function, options))
            self._line.send_bytes(body)
            answer: tuple[bool, Any] = self._line.recv()
        finally:
            patience.cancel()
        return answer

    def end(self) -> None:
        """Kill it: it holds nothing that could be lost."""
        self.process.kill()
        self.process.join()
        self._line.close()


def _work(line: Connection) -> None:
    """Read what comes until the other end is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then ends us
    with suppress(OSError, AttributeError):
        os.nice(NICENESS)  # whoever sends large bodies may wait for those who do not
    give_back = _trimmer()
    with suppress(EOFError, OSError):
        while True:
            function, options = line.recv()
            try:
                answer = (True, function(line.recv_bytes(), **options))
            except ServiceError as error:
                answer = (False, (error.code, str(error), error.status, error.field))
            line.send(answer)
            del answer
            give_back()


def _trimmer() -> Callable[[], object]:
    """Returns memory that is free to the system, where the C library can."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return lambda: None
    return partial(trim, 0)
