"""Changing a store behind the service's back, as a bad disk or somebody with access to the database would."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from fairexp.service.store import open_store
from fairexp.service.store.migrations import Execute, seal_entries
from fairexp.service.store.sql import SqlStore


@contextmanager
def tampering(address: str) -> Iterator[Execute]:
    """SQL on the store, kept when the block is left."""
    store = cast(SqlStore, open_store(address))
    store.open(serving=False)
    with store.database.transaction() as execute:
        yield execute
    store.close()


def flip(execute: Execute, column: str, seq: int, *, policy: int = 1) -> None:
    """Another value in one column of an entry; of bytes, one bit in the middle."""
    (found,) = execute(f"SELECT {column} FROM log WHERE policy = ? AND seq = ?", (policy, seq))[0]
    if isinstance(found, bytes):
        changed = bytearray(found)
        changed[len(changed) // 2] ^= 1
        other: object = bytes(changed)
    else:
        other = (found or 0) + 1
    execute(f"UPDATE log SET {column} = ? WHERE policy = ? AND seq = ?", (other, policy, seq))


def delete(execute: Execute, *seqs: int, policy: int = 1) -> None:
    """Entries that are gone."""
    for seq in seqs:
        execute("DELETE FROM log WHERE policy = ? AND seq = ?", (policy, seq))


def swap(execute: Execute, one: int, other: int, *, policy: int = 1) -> None:
    """Two entries, each in the other's place."""
    for old, new in ((one, -1), (other, one), (-1, other)):
        execute("UPDATE log SET seq = ? WHERE policy = ? AND seq = ?", (new, policy, old))


def seal_anew(execute: Execute) -> None:
    """A new chain over whatever is there: what somebody would do who knows how."""
    execute("DELETE FROM heads", ())
    seal_entries(execute)
