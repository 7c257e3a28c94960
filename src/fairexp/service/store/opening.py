"""A store by its address."""

from __future__ import annotations

from pathlib import Path

from fairexp.errors import ArgumentError
from fairexp.service.store.base import Store
from fairexp.service.store.sql import SqlStore
from fairexp.service.store.sqlite import SqliteDatabase


def open_store(address: str | Path) -> Store:
    """The store at a file path (SQLite) or a `postgresql://` URL; call `open` on it."""
    text = str(address)
    if text.startswith(("postgresql://", "postgres://")):
        from fairexp.service.store.postgres import PostgresDatabase

        return SqlStore(PostgresDatabase(text))
    if "://" in text:
        raise ArgumentError("store", repr(text), "a file path, or a URL that starts with postgresql://")
    return SqlStore(SqliteDatabase(Path(text)))
