"""Where the log is kept: one small interface, SQLite and PostgreSQL behind it.

`opening` finds the store for an address. `base` is its interface and what is written; `sql` does it for both, with
the tables of `migrations`, arrays as bytes by `codec` and the digests of `chain`, on `sqlite` or `postgres`, which
share `connections`; `rows` makes records of rows, `items` keeps fields of items and users.
"""

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
    Fields,
    Forget,
    Head,
    Key,
    PutFields,
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
    "Fields",
    "Forget",
    "Head",
    "Key",
    "PutFields",
    "RevokeKey",
    "Store",
    "Write",
    "open_store",
]
