"""Changing a store behind the service's back, as a bad disk or somebody with access to the database would."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from fairexp.service.store import open_store
from fairexp.service.store.base import Append, Kind
from fairexp.service.store.chain import START, sealed
from fairexp.service.store.migrations import Execute
from fairexp.service.store.sql import SqlStore

AT_ONCE = 500


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


def seal_entries(execute: Execute) -> None:
    """Give all entries their places in a new chain, as they are found.

    Where no head says what has expired, gaps up to the oldest snapshot count as that.
    """
    noted: dict[int, int] = dict(execute("SELECT policy, forgotten FROM heads", ()))
    execute("DELETE FROM heads", ())
    for (policy,) in execute("SELECT DISTINCT policy FROM log ORDER BY policy", ()):
        oldest = execute("SELECT MIN(seq) FROM snapshots WHERE policy = ?", (policy,))[0][0] or 0
        seq, digest, forgotten = 0, START.digest, 0
        while rows := execute(
            """SELECT seq, kind, at, payload, ranking, commitment FROM log
               WHERE policy = ? AND seq > ? ORDER BY seq LIMIT ?""",
            (policy, seq, AT_ONCE),
        ):
            for number, kind, at, payload, ranking, commitment in rows:
                entry = Append(policy, number, Kind(kind), at, bytes(payload), ranking, commitment=commitment or b"")
                entry = sealed(entry, digest)
                place = (entry.previous, entry.digest, policy, number)
                execute("UPDATE log SET previous = ?, digest = ? WHERE policy = ? AND seq = ?", place)
                forgotten = number - 1 if number > seq + 1 else forgotten
                seq, digest = number, entry.digest
        head = (policy, seq, digest, noted.get(policy, min(forgotten, oldest)))
        execute("INSERT INTO heads (policy, seq, digest, forgotten) VALUES (?, ?, ?, ?)", head)
