"""PostgreSQL: the connection that writes also holds the server's lock, so whoever lost it cannot write."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fairexp.errors import MissingExtraError
from fairexp.service.problems import StoreBusyError, StoreError
from fairexp.service.store.connections import PooledDatabase
from fairexp.service.store.migrations import Execute, Row

try:
    import psycopg
except ImportError as error:  # pragma: no cover
    raise MissingExtraError(
        "store: PostgreSQL needs the package 'psycopg'; run: pip install 'fairexp[service]'"
    ) from error

CONNECT_SECONDS = 5
STATEMENT_SECONDS = 15
LOCK_SECONDS = 1.0
"""PostgreSQL may take a moment to notice that the connection of the server before is closed."""

SERVER_LOCK = 0x66616972
"""The advisory lock that the one server of a database holds."""

ACTIONS_LOCK = SERVER_LOCK + 1
"""The advisory lock that whoever records an action holds until its transaction ends."""

PASSWORD_FILE = "password_file"
"""The part of a URL that names a file with the password."""

WORDS = {"BLOB": "BYTEA", "WITHOUT ROWID": ""}
"""SQLite's words for types and tables, in PostgreSQL."""

PgConnection = psycopg.Connection[Row]


class PostgresDatabase(PooledDatabase[PgConnection]):
    """The database at `url`, e.g. postgresql://user@host/name.

    `?password_file=PATH` has the password in a file instead, as containers are given secrets; it is read for every
    connection, so a new password needs no restart.
    """

    failures = (psycopg.Error,)

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url, self._password_file = _without_password_file(url)

    def tidy(self) -> None:
        """Autovacuum does it."""

    def serialize(self, execute: Execute) -> None:
        execute("SELECT pg_advisory_xact_lock(?)", (ACTIONS_LOCK,))

    def scrub(self) -> None:
        """Copy what is left of contexts and users and give up the files it was in; or, if that takes too long, do not.

        Autovacuum then does what it can.
        """
        with self._as_store_errors():
            if self._writer is not None:
                for table in ("contexts", "users"):
                    with suppress(psycopg.errors.QueryCanceled):
                        self._writer.execute(f"VACUUM (FULL) {table}")

    def size(self) -> int:
        return int(self.read("SELECT pg_database_size(current_database())")[0][0])

    def _open_writer(self, *, serving: bool) -> PgConnection:
        writer = self._open_reader()
        until = time.monotonic() + LOCK_SECONDS
        while serving and not self._execute(writer, "SELECT pg_try_advisory_lock(?)", (SERVER_LOCK,))[0][0]:
            if time.monotonic() > until:
                self._let_go(writer)
                raise StoreBusyError("store: another server uses this database; stop it, or give this one its own")
            time.sleep(0.02)
        return writer

    def _open_reader(self) -> PgConnection:
        secret: dict[str, Any] = {} if self._password_file is None else {"password": _password(self._password_file)}
        return psycopg.connect(
            self.url,
            **secret,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            application_name="fairexp",
            options=f"-c statement_timeout={STATEMENT_SECONDS * 1000} -c synchronous_commit=on",
            keepalives_idle=5,
            keepalives_interval=2,
            keepalives_count=3,
        )

    def _begin(self, connection: PgConnection) -> AbstractContextManager[object]:
        return connection.transaction()

    def _tells_of_damage(self, error: Any) -> bool:
        return isinstance(error, psycopg.errors.DataCorrupted | psycopg.errors.IndexCorrupted)

    def _execute(self, connection: PgConnection, sql: str, parameters: Sequence[Any]) -> list[Row]:
        cursor = connection.execute(_translated(sql), tuple(parameters) or None)
        return cursor.fetchall() if cursor.description else []


def _without_password_file(url: str) -> tuple[str, Path | None]:
    """A URL as PostgreSQL's own library reads it, and the file with the password if it names one.

    >>> _without_password_file("postgresql://fairexp@db/fairexp?sslmode=require&password_file=/run/secrets/db")
    ('postgresql://fairexp@db/fairexp?sslmode=require', PosixPath('/run/secrets/db'))
    """
    place, _, query = url.partition("?")
    parts = [each.partition("=") for each in query.split("&") if each]
    named = [unquote(value) for name, _, value in parts if name == PASSWORD_FILE]
    if not named:
        return url, None
    rest = "&".join("".join(each) for each in parts if each[0] != PASSWORD_FILE)
    return place + ("?" + rest if rest else ""), Path(named[-1])


def _password(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        told = error.strerror if isinstance(error, OSError) else "no text"
        remedy = "It must hold the password and nothing else, and the user who runs this must be able to read it."
        given = f"store: {PASSWORD_FILE}: expected a file that can be read, got {path} ({told})"
        raise StoreError(f"{given}. {remedy}") from None


@cache
def _translated(sql: str) -> str:
    """Our SQL has no text with a question mark or BLOB in it, so plain replacement is safe."""
    for ours, theirs in WORDS.items():
        sql = re.sub(rf"\b{ours}\b", theirs, sql)
    return sql.replace("?", "%s")
