"""SQLite: one file in WAL mode, for its owner alone. A commit returns when it is on disk."""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from fairexp.service.problems import StoreBusyError
from fairexp.service.store.connections import PooledDatabase
from fairexp.service.store.migrations import Execute, Row

LOG = logging.getLogger("fairexp.service")
BUSY_SECONDS = 5.0
PAGES_AT_ONCE = 8000
PAGE_BYTES = 1024
"""Of a new file. A record takes a few of them, and what it leaves empty of the last is less than of larger ones."""

WAL_BYTES = 4_000_000
"""From this size on the write-ahead log is carried over into the file."""

OWNER_ONLY = 0o600
OTHERS = stat.S_IRWXG | stat.S_IRWXO


class SqliteDatabase(PooledDatabase[sqlite3.Connection]):
    """A database in the file at `path`, or where a symbolic link of that name leads: one file, one name, one lock."""

    failures = (sqlite3.Error,)

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = Path(os.path.realpath(path))
        self._lock: int | None = None
        self._log_to_empty = False
        """Whether a reader, in another process perhaps, kept the write-ahead log from being emptied."""

    def close(self) -> None:
        super().close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def tidy(self) -> None:
        with self._as_store_errors():
            if self._writer is not None:
                self._writer.execute(f"PRAGMA incremental_vacuum({PAGES_AT_ONCE})").fetchall()
                if self._log_to_empty:
                    self._empty_log(self._writer)

    def scrub(self) -> None:
        """Copy what is left of contexts and users, overwrite the tables that it was in, and empty the write-ahead log.

        Rows are overwritten when they are deleted, but pages that were split may hold a copy in what they leave empty.
        """
        with self._as_store_errors():
            if self._writer is not None:
                with self._begin(self._writer):
                    for table in ("contexts", "users"):
                        _rebuild(self._writer, table)
                self._empty_log(self._writer)

    def serialize(self, execute: Execute) -> None:
        """A writing transaction is alone as it is."""

    def size(self) -> int:
        return sum(file.stat().st_size for file in (self.path, self._beside("-wal")) if file.exists())

    def _beside(self, ending: str) -> Path:
        return self.path.with_name(self.path.name + ending)

    def _open_writer(self, *, serving: bool) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._close_to_others()
        self._check_names()
        if serving:
            self._take_lock()
        writer = self._connect()
        writer.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        writer.execute("PRAGMA auto_vacuum = INCREMENTAL")
        writer.execute("PRAGMA secure_delete = ON")
        writer.execute("PRAGMA temp_store = MEMORY")
        writer.execute(f"PRAGMA wal_autocheckpoint = {WAL_BYTES // PAGE_BYTES}")
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("PRAGMA synchronous = FULL")
        return writer

    def _open_reader(self) -> sqlite3.Connection:
        reader = self._connect()
        reader.execute("PRAGMA query_only = ON")
        return reader

    @contextmanager
    def _begin(self, connection: sqlite3.Connection) -> Iterator[None]:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

    def _execute(self, connection: sqlite3.Connection, sql: str, parameters: Sequence[Any]) -> list[Row]:
        return connection.execute(sql, parameters).fetchall()

    def _tells_of_damage(self, error: Any) -> bool:
        return (getattr(error, "sqlite_errorcode", 0) & 0xFF) == sqlite3.SQLITE_CORRUPT

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS)
        # A damaged text must not keep its whole row from being read: the digest tells which entry it is.
        connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
        return connection

    def _close_to_others(self) -> None:
        """Make the file before SQLite does, which gives its other files the same rights; narrow what was wider."""
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
        for file in (self.path, *map(self._beside, ("-wal", "-shm", ".lock"))):
            with suppress(FileNotFoundError):
                rights = stat.S_IMODE(file.stat().st_mode)
                if rights & OTHERS:
                    _narrow(file, rights)

    def _check_names(self) -> None:
        """Whoever opens the file by another name takes another lock, and misses what the write-ahead log holds."""
        n_names = self.path.stat().st_nlink
        if n_names > 1:
            raise StoreBusyError(
                f"store: {self.path} has {n_names} names (hard links), by each of which another server could use it; "
                "remove the others (find -samefile lists them), or give this server a copy"
            )

    def _empty_log(self, writer: sqlite3.Connection) -> None:
        (busy, *_) = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        self._log_to_empty = bool(busy)

    def _take_lock(self) -> None:
        """The lock goes with the process, however that ends."""
        file = os.open(self._beside(".lock"), os.O_RDWR | os.O_CREAT, OWNER_ONLY)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            raise StoreBusyError(f"store: another server uses {self.path}; stop it, or give this one its own") from None
        self._lock = file


def _narrow(file: Path, rights: int) -> None:
    try:
        file.chmod(rights & ~OTHERS)
        LOG.warning(f"store: {file} was open to others (mode {rights:o}); now it is its owner's alone")
    except PermissionError:
        LOG.warning(f"store: {file} is open to others (mode {rights:o}), and only its owner can change that: chmod 600")


def _rebuild(writer: sqlite3.Connection, name: str) -> None:
    known = "SELECT sql FROM sqlite_master WHERE tbl_name = ? AND sql IS NOT NULL ORDER BY type DESC"
    table, *indexes = [sql for (sql,) in writer.execute(known, (name,)).fetchall()]
    writer.execute(f"ALTER TABLE {name} RENAME TO {name}_before")
    writer.execute(table)
    writer.execute(f"INSERT INTO {name} SELECT * FROM {name}_before")
    writer.execute(f"DROP TABLE {name}_before")
    for index in indexes:
        writer.execute(index)
