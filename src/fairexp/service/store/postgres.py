"""PostgreSQL: one writing connection that holds the server's lock, and a few for reading."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fairexp.errors import MissingExtraError
from fairexp.service.problems import StoreBusyError, StoreError
from fairexp.service.store.sql import Execute, Row

try:
    import psycopg
except ImportError as error:  # pragma: no cover
    raise MissingExtraError(
        "store: PostgreSQL needs the package 'psycopg'; run: pip install 'fairexp[service]'"
    ) from error

N_READERS = 4
CONNECT_SECONDS = 5
STATEMENT_SECONDS = 15
SERVER_LOCK = 0x66616972
"""The advisory lock that the one server of a database holds."""

TYPES = {"BLOB": "BYTEA"}
"""SQLite's words for types, in PostgreSQL."""


class PostgresDatabase:
    """The database at `url`, e.g. postgresql://user@host/name."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._writer: psycopg.Connection[Row] | None = None
        self._readers: queue.SimpleQueue[psycopg.Connection[Row] | None] = queue.SimpleQueue()
        for _ in range(N_READERS):
            self._readers.put(None)

    def open(self, *, serving: bool) -> None:
        with _as_store_errors():
            self._writer = self._connect()
            if serving and not self._writer.execute("SELECT pg_try_advisory_lock(%s)", (SERVER_LOCK,)).fetchall()[0][0]:
                self.close()
                raise StoreBusyError("store: another server uses this database; stop it, or give this one its own")

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            with contextlib.suppress(psycopg.Error):
                writer.close()
        for _ in range(N_READERS):
            with contextlib.suppress(psycopg.Error, queue.Empty):
                reader = self._readers.get(timeout=1.0)
                self._readers.put(None)
                if reader is not None:
                    reader.close()

    @contextmanager
    def transaction(self) -> Iterator[Execute]:
        with _as_store_errors():
            connection = self._writer
            if connection is None:
                raise StoreError("store: it is closed")
            with connection.transaction():

                def execute(sql: str, parameters: Sequence[Any]) -> list[Row]:
                    cursor = connection.execute(_translated(sql), tuple(parameters) or None)
                    return cursor.fetchall() if cursor.description else []

                yield execute

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        with _as_store_errors():
            try:
                connection = self._readers.get(timeout=STATEMENT_SECONDS)
            except queue.Empty:
                raise StoreError("store: no connection for reading came free") from None
            try:
                if connection is None or connection.closed:
                    connection = self._connect()
                return connection.execute(_translated(sql), tuple(parameters) or None).fetchall()
            except psycopg.OperationalError:
                if connection is not None:
                    connection.close()
                connection = None
                raise
            finally:
                self._readers.put(connection)

    def tidy(self) -> None:
        """Autovacuum does it."""

    def size(self) -> int:
        return int(self.read("SELECT pg_database_size(current_database())")[0][0])

    def _connect(self) -> psycopg.Connection[Row]:
        return psycopg.connect(
            self.url,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            application_name="fairexp",
            options=f"-c statement_timeout={STATEMENT_SECONDS * 1000} -c synchronous_commit=on",
            keepalives_idle=5,
            keepalives_interval=2,
            keepalives_count=3,
        )


def _translated(sql: str) -> str:
    """Our SQL has no text with a question mark or BLOB in it, so plain replacement is safe."""
    for ours, theirs in TYPES.items():
        sql = sql.replace(f" {ours} ", f" {theirs} ")
    return sql.replace("?", "%s")


@contextmanager
def _as_store_errors() -> Iterator[None]:
    try:
        yield
    except (psycopg.Error, OSError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise StoreError(f"store: {first}") from error
