"""What databases have in common: one connection for writing, a few for reading, and failures as `StoreError`s."""

from __future__ import annotations

import queue
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

from fairexp.service.problems import CorruptRecordError, StoreError
from fairexp.service.store.migrations import Execute, Row

N_READERS = 4
WAIT_SECONDS = 15.0
"""How long a read waits for a connection that is free."""

Connection = TypeVar("Connection")


class PooledDatabase(ABC, Generic[Connection]):
    """A `Database` over a driver's connections; what is said in its dialect is up to the subclass.

    A place in the pool is None until somebody reads, and again after a failure: the next read connects anew.
    """

    failures: ClassVar[tuple[type[Exception], ...]]
    """What the driver raises."""

    def __init__(self) -> None:
        self._writer: Connection | None = None
        self._readers: queue.SimpleQueue[Connection | None] = queue.SimpleQueue()
        for _ in range(N_READERS):
            self._readers.put(None)

    def open(self, *, serving: bool) -> None:
        with self._as_store_errors():
            try:
                self._writer = self._open_writer(serving=serving)
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        writer, self._writer = self._writer, None
        self._let_go(writer)
        for _ in range(N_READERS):
            with suppress(queue.Empty):
                reader = self._readers.get(timeout=1.0)
                self._readers.put(None)
                self._let_go(reader)

    @contextmanager
    def transaction(self) -> Iterator[Execute]:
        with self._as_store_errors():
            if self._writer is None:
                raise StoreError("store: it is closed")
            with self._begin(self._writer):
                yield partial(self._execute, self._writer)

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        with self._as_store_errors():
            try:
                connection = self._readers.get(timeout=WAIT_SECONDS)
            except queue.Empty:
                raise StoreError("store: no connection for reading came free") from None
            try:
                connection = self._open_reader() if connection is None else connection
                return self._execute(connection, sql, parameters)
            except self.failures:
                self._let_go(connection)
                connection = None
                raise
            finally:
                self._readers.put(connection)

    @abstractmethod
    def _open_writer(self, *, serving: bool) -> Connection:
        """Connect for writing and, if `serving`, become the one server (`StoreBusyError` otherwise)."""

    @abstractmethod
    def _open_reader(self) -> Connection: ...

    @abstractmethod
    def _begin(self, connection: Connection) -> AbstractContextManager[object]:
        """A transaction, kept when it is left and undone when an error leaves it."""

    @abstractmethod
    def _execute(self, connection: Connection, sql: str, parameters: Sequence[Any]) -> list[Row]: ...

    def _let_go(self, connection: Any) -> None:
        with suppress(*self.failures):
            if connection is not None:
                connection.close()

    @contextmanager
    def _as_store_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(f"store: {error}") from error
        except self.failures as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            found = CorruptRecordError if self._tells_of_damage(error) else StoreError
            raise found(f"store: {first}") from error

    def _tells_of_damage(self, error: Any) -> bool:
        """Whether the database answers, but finds its own pages damaged."""
        return False
