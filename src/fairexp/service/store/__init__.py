"""Where the log is kept: one small interface, SQLite and PostgreSQL behind it."""

from fairexp.service.store.base import (
    AddAction,
    AddKey,
    AddPolicy,
    AddSnapshot,
    AddState,
    AddVersion,
    Append,
    Context,
    DeletePolicy,
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
    "AddAction",
    "AddKey",
    "AddPolicy",
    "AddSnapshot",
    "AddState",
    "AddVersion",
    "Append",
    "Context",
    "DeletePolicy",
    "Erase",
    "Forget",
    "Head",
    "Key",
    "RevokeKey",
    "Store",
    "Write",
    "open_store",
]
