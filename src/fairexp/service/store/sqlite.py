"""SQLite: one file in WAL mode, one writing connection, a few for reading. A commit returns when it is on disk."""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairexp.service.problems import StoreBusyError, StoreError
from fairexp.service.store.sql import Execute, Row

N_READERS = 4
BUSY_SECONDS = 5.0
PAGES_AT_ONCE = 2000


class SqliteDatabase:
    """A database in the file at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer: sqlite3.Connection | None = None
        self._readers: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()
        self._n_readers = 0
        self._lock: int | None = None

    def open(self, *, serving: bool) -> None:
        with _as_store_errors():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if serving:
                self._take_lock()
            self._writer = self._connect()
            self._writer.execute("PRAGMA auto_vacuum = INCREMENTAL")
            self._writer.execute("PRAGMA journal_mode = WAL")
            self._writer.execute("PRAGMA synchronous = FULL")
            for _ in range(N_READERS):
                reader = self._connect()
                reader.execute("PRAGMA query_only = ON")
                self._readers.put(reader)
                self._n_readers += 1

    def close(self) -> None:
        writer, self._writer = self._writer, None
        with contextlib.suppress(sqlite3.Error):
            if writer is not None:
                writer.close()
        while self._n_readers:
            self._n_readers -= 1
            with contextlib.suppress(sqlite3.Error, queue.Empty):
                self._readers.get(timeout=1.0).close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @contextmanager
    def transaction(self) -> Iterator[Execute]:
        with _as_store_errors():
            connection = self._writer
            if connection is None:
                raise StoreError("store: it is closed")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield lambda sql, parameters: connection.execute(sql, parameters).fetchall()
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        with _as_store_errors():
            try:
                connection = self._readers.get(timeout=BUSY_SECONDS)
            except queue.Empty:
                raise StoreError("store: no connection for reading came free") from None
            try:
                return connection.execute(sql, parameters).fetchall()
            finally:
                self._readers.put(connection)

    def tidy(self) -> None:
        with _as_store_errors():
            if self._writer is not None:
                self._writer.execute(f"PRAGMA incremental_vacuum({PAGES_AT_ONCE})").fetchall()

    def size(self) -> int:
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS)

    def _take_lock(self) -> None:
        """The lock goes with the process, however that ends."""
        file = os.open(self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            raise StoreBusyError(f"store: another server uses {self.path}; stop it, or give this one its own") from None
        self._lock = file


@contextmanager
def _as_store_errors() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"store: {error}") from error
