"""Where the log is kept: one small interface, SQLite and PostgreSQL behind it."""

from fairexp.service.store.base import (
    AddKey,
    AddPolicy,
    AddSnapshot,
    AddVersion,
    Append,
    Context,
    Erase,
    Forget,
    Head,
    Key,
    RevokeKey,
    Store,
    Write,
)
from fairexp.service.store.opening import open_store

__all__ = [
    "AddKey",
    "AddPolicy",
    "AddSnapshot",
    "AddVersion",
    "Append",
    "Context",
    "Erase",
    "Forget",
    "Head",
    "Key",
    "RevokeKey",
    "Store",
    "Write",
    "open_store",
]
