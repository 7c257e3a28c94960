"""Group commit: one thread that keeps whatever waits in one transaction, in the order in which it was handed in."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from fairexp.service.problems import StoreError, storage_unavailable
from fairexp.service.store.base import Store, Write

MAX_GROUP = 512
"""Submissions in one transaction."""


class Writer:
    """Commits what `submit` is given; a submission's future is done when it is on disk.

    After a failure everything that waits fails too, and nothing is accepted until `resume`: later submissions may
    build on earlier ones, so either all that precedes one is kept or it is refused.
    """

    def __init__(self, store: Store, *, failed: Callable[[StoreError], None]) -> None:
        self._store = store
        self._failed = failed
        self._waiting: deque[tuple[Sequence[Write], Future[None]]] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._broken = False
        self.groups = 0
        self.writes = 0
        self._thread = threading.Thread(target=self._run, name="fairexp-writer", daemon=True)
        self._thread.start()

    @property
    def broken(self) -> bool:
        """Whether the store failed and `resume` has not been called since."""
        return self._broken

    def submit(self, writes: Sequence[Write]) -> Future[None]:
        """Hand in writes that belong together. Order of calls is order on disk."""
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()  # a caller that goes away must not undo what others build on
        with self._changed:
            if self._broken or self._closing:
                raise storage_unavailable()
            self._waiting.append((writes, future))
            self._changed.notify()
        return future

    def resume(self) -> None:
        """Accept again, once all state in memory is what the store holds."""
        with self._changed:
            self._broken = False

    def close(self) -> None:
        """Commit what waits, then stop."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
                if not self._waiting:
                    return
                group = [self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_GROUP))]
            try:
                self._store.commit([write for writes, _ in group for write in writes])
            except Exception as error:
                self._fail(group, error)
                continue
            self.groups += 1
            self.writes += len(group)
            for _, future in group:
                future.set_result(None)

    def _fail(self, group: list[tuple[Sequence[Write], Future[None]]], error: Exception) -> None:
        problem = error if isinstance(error, StoreError) else StoreError(f"store: {type(error).__name__}: {error}")
        with self._changed:
            self._broken = True
            group += self._waiting
            self._waiting.clear()
        self._failed(problem)
        for _, future in group:
            future.set_exception(storage_unavailable())
