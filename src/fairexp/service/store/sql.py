"""The store in SQL, the same for every database; what differs is in the `Database` beneath it."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import singledispatchmethod
from typing import Any, Protocol

from fairexp.service.problems import StoreError
from fairexp.service.store.base import (
    ADMINISTRATION,
    AddAction,
    AddKey,
    AddPolicy,
    AddSnapshot,
    AddState,
    AddVersion,
    Append,
    DeletePolicy,
    Erase,
    Forget,
    ForgetItem,
    Head,
    Key,
    Kind,
    Purge,
    PutFields,
    RevokeKey,
    SkipTo,
    StoredSnapshot,
    Table,
    Write,
)
from fairexp.service.store.chain import START, sealed
from fairexp.service.store.codec import pack
from fairexp.service.store.items import Kept, all_fields, put_fields, read_fields
from fairexp.service.store.migrations import MIGRATIONS, Execute, Row
from fairexp.service.store.rows import (
    CONTEXT,
    encoded,
    entry_of,
    head_of,
    key_of,
    note_head,
    snapshot_of,
    write_context,
)

ENTRY = "policy, seq, kind, at, payload, ranking, commitment, previous, digest"
ENTRIES = f"""SELECT {", ".join("log." + name for name in ENTRY.split(", "))}, {CONTEXT}
              FROM log LEFT JOIN contexts ON contexts.policy = log.policy AND contexts.seq = log.seq"""
VERSION = "policy, version, seq, at, spec, parameters, action, origin, by_whom, lost"
KEY = "id, name, digest, roles, at, rate, revoked_at, policies"
OF_POLICY = {
    "contexts": "seq",
    "log": "seq",
    "snapshots": "seq",
    "versions": "version",
    "states": "version",
    "items": "id",
    "users": "id",
}
"""The tables that hold what belongs to a policy, and what tells its rows apart. Its head goes last: it says that a
deleted policy has more left."""

PURGED_AT_ONCE = 200
"""Rows in one transaction; of states, which may be large, one."""

SEQS = ("log", "heads", "snapshots", "versions")
"""The tables that tell of entries."""

DELETED = "-"
"""How the names of deleted policies begin in the store, and no others."""


class Database(Protocol):
    """A connection for writing, connections for reading, and one dialect of SQL. `?` marks a parameter."""

    def open(self, *, serving: bool) -> None: ...

    def close(self) -> None: ...

    def transaction(self) -> AbstractContextManager[Execute]:
        """One durable transaction on the writing connection; `StoreError` if it cannot be kept."""
        ...

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Rows as committed, from any thread."""
        ...

    def tidy(self) -> None:
        """Give back space, where that takes asking."""
        ...

    def serialize(self, execute: Execute) -> None:
        """Let no other process change the administrators' log until this transaction ends."""
        ...

    def scrub(self) -> None:
        """Let no copy remain of what was deleted, as far as the database can be asked for that."""
        ...

    def size(self) -> int: ...


class SqlStore:
    """A `Store` over a `Database`."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._serving = False
        self._secret = b""
        self._heads: dict[int, Head] = {}

    def open(self, *, serving: bool) -> None:
        self._serving = serving
        self.database.open(serving=serving)
        try:
            self._migrate()
            self._secret = self._make_secret()
            rows = self.database.read(
                "SELECT policy, seq, digest, forgotten FROM heads WHERE policy <> ?", (ADMINISTRATION.policy,)
            )
            self._heads = {policy: head_of(row) for policy, *row in rows}
        except BaseException:
            self.database.close()
            raise

    def reopen(self) -> None:
        self.database.close()
        self.open(serving=self._serving)
        with self.database.transaction() as execute:
            execute("DELETE FROM settings WHERE name = 'probe'", ())
            execute("INSERT INTO settings (name, value) VALUES ('probe', ?)", (secrets.token_bytes(4096),))

    def close(self) -> None:
        self.database.close()

    def _migrate(self) -> None:
        with self.database.transaction() as execute:
            execute("CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, at DOUBLE PRECISION NOT NULL)", ())
            applied = {name for (name,) in execute("SELECT name FROM migrations", ())}
            unknown = sorted(applied - MIGRATIONS.keys())
            if unknown:
                raise StoreError(
                    f"store: it was made by a newer fairexp, which applied {', '.join(unknown)}; install that version"
                )
            for name, steps in MIGRATIONS.items():
                if name not in applied:
                    for step in steps:
                        execute(step, ()) if isinstance(step, str) else step(execute)
                    execute("INSERT INTO migrations (name, at) VALUES (?, ?)", (name, time.time()))

    def _make_secret(self) -> bytes:
        with self.database.transaction() as execute:
            found = execute("SELECT value FROM settings WHERE name = 'secret'", ())
            if found:
                return bytes(found[0][0])
            fresh = secrets.token_bytes(32)
            execute("INSERT INTO settings (name, value) VALUES ('secret', ?)", (fresh,))
            return fresh

    def secret(self) -> bytes:
        return self._secret

    def commit(self, writes: Sequence[Write]) -> None:
        before = self._heads.copy()
        try:
            with self.database.transaction() as execute:
                for write in writes:
                    self._write(write, execute)
                self._note_heads(before, execute)
        except BaseException:
            self._heads = before
            raise
        if any(isinstance(write, Forget) for write in writes):
            self.database.tidy()
        if any(isinstance(write, Erase) for write in writes):
            self.database.scrub()

    def _note_heads(self, before: dict[int, Head], execute: Execute) -> None:
        for policy, head in self._heads.items():
            if before.get(policy) is not head:
                note_head(policy, head, execute)

    @singledispatchmethod
    def _write(self, write: Write, execute: Execute) -> None:
        raise TypeError(f"write: {type(write).__name__} is not something that a store keeps")

    @_write.register
    def _(self, write: Append, execute: Execute) -> None:
        self._heads[write.policy] = self._append(write, self._heads.get(write.policy, START), execute)

    def _append(self, write: Append, head: Head, execute: Execute) -> Head:
        if write.seq != head.seq + 1:
            raise StoreError(f"store: entry {write.seq} cannot follow entry {head.seq} in the log of a policy")
        entry = sealed(write, head.digest)
        row = (entry.policy, entry.seq, int(entry.kind), entry.at, entry.payload, entry.ranking)
        place = (entry.commitment or None, entry.previous, entry.digest)
        execute(f"INSERT INTO log ({ENTRY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, *place))
        if entry.context is not None:
            write_context(execute, entry.policy, entry.seq, entry.context)
        return Head(entry.seq, entry.digest, head.forgotten)

    @_write.register
    def _(self, write: AddAction, execute: Execute) -> None:
        # Other processes write here too (`fairexp keys`), so where the log ends is asked for, not remembered.
        self.database.serialize(execute)
        found = execute("SELECT seq, digest, forgotten FROM heads WHERE policy = ?", (ADMINISTRATION.policy,))
        head = head_of(found[0]) if found else START
        payload = pack({"by": write.by, "action": write.action, "policy": write.policy, "details": write.details}, {})
        entry = Append(ADMINISTRATION.policy, head.seq + 1, Kind.ACTION, write.at, payload)
        note_head(ADMINISTRATION.policy, self._append(entry, head, execute), execute)

    @_write.register
    def _(self, write: AddPolicy, execute: Execute) -> None:
        execute("INSERT INTO policies (id, name, at) VALUES (?, ?, ?)", (write.policy, write.name, write.at))

    @_write.register
    def _(self, write: AddVersion, execute: Execute) -> None:
        row = (write.policy, write.version, write.seq, write.at, write.spec, write.parameters)
        told = (write.action, write.origin, write.by, write.lost)
        execute(f"INSERT INTO versions ({VERSION}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, *told))

    @_write.register
    def _(self, write: AddState, execute: Execute) -> None:
        payload = pack(write.meta, write.arrays)
        row = (write.policy, write.version, write.seq, write.at, payload, hashlib.sha256(payload).digest())
        execute("INSERT INTO states (policy, version, seq, at, payload, digest) VALUES (?, ?, ?, ?, ?, ?)", row)
        execute("DELETE FROM states WHERE policy = ? AND version <= ?", (write.policy, write.version - write.keep))

    @_write.register
    def _(self, write: DeletePolicy, execute: Execute) -> None:
        note_head(write.policy, self._heads.pop(write.policy, START), execute)
        name = f"{DELETED}{write.policy}{DELETED}{write.name}"
        execute("UPDATE policies SET name = ? WHERE id = ?", (name, write.policy))

    @_write.register
    def _(self, write: Purge, execute: Execute) -> None:
        for table, key in OF_POLICY.items():
            some = f"SELECT {key} FROM {table} WHERE policy = ? LIMIT ?"
            if execute(some, (write.policy, 1)):
                most = 1 if table in ("snapshots", "states") else PURGED_AT_ONCE
                of_some = (write.policy, write.policy, most)
                execute(f"DELETE FROM {table} WHERE policy = ? AND {key} IN ({some})", of_some)
                return
        execute("DELETE FROM heads WHERE policy = ?", (write.policy,))

    @_write.register
    def _(self, write: SkipTo, execute: Execute) -> None:
        self._heads[write.policy] = replace(self._heads.get(write.policy, START), seq=write.seq)

    @_write.register
    def _(self, write: AddSnapshot, execute: Execute) -> None:
        head = self._heads.get(write.policy, START)
        link = {"log_digest": head.digest.hex()} if head.seq == write.seq else {}
        payload = pack({**write.meta, **link}, write.arrays)
        digest = hashlib.sha256(payload).digest()
        execute("DELETE FROM snapshots WHERE policy = ? AND seq = ?", (write.policy, write.seq))
        row = (write.policy, write.seq, write.at, payload, digest)
        execute("INSERT INTO snapshots (policy, seq, at, payload, digest) VALUES (?, ?, ?, ?, ?)", row)

    @_write.register
    def _(self, write: Forget, execute: Execute) -> None:
        # Feedback that is still to be replayed after the snapshot needs its ranking, however old that is.
        expired = """FROM log WHERE policy = ? AND seq <= ? AND at < ? AND NOT EXISTS (
                         SELECT 1 FROM log AS later
                         WHERE later.policy = log.policy AND later.ranking = log.seq AND later.seq > ?)"""
        which = (write.policy, write.seq, write.before, write.snapshot)
        last = execute(f"SELECT MAX(seq) {expired}", which)[0][0]
        execute(f"DELETE FROM contexts WHERE policy = ? AND seq IN (SELECT seq {expired})", (write.policy, *which))
        execute(f"DELETE {expired}", which)
        head = self._heads.get(write.policy, START)
        if last is not None and last > head.forgotten:
            self._heads[write.policy] = replace(head, forgotten=last)
        execute("DELETE FROM snapshots WHERE policy = ? AND seq < ?", (write.policy, write.snapshot))

    @_write.register
    def _(self, write: Erase, execute: Execute) -> None:
        execute("DELETE FROM contexts WHERE user_id = ?", (encoded(write.user),))
        execute("DELETE FROM users WHERE id = ?", (encoded(write.user),))

    @_write.register
    def _(self, write: PutFields, execute: Execute) -> None:
        put_fields(write, execute)

    @_write.register
    def _(self, write: ForgetItem, execute: Execute) -> None:
        execute("DELETE FROM items WHERE policy = ? AND id = ?", (write.policy, encoded(write.id)))

    @_write.register
    def _(self, write: AddKey, execute: Execute) -> None:
        key = write.key
        roles, policies = ",".join(key.roles), ",".join(key.policies) or None
        row = (key.id, key.name, key.digest, roles, key.at, key.rate, key.revoked_at, policies)
        execute(f"INSERT INTO keys ({KEY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    @_write.register
    def _(self, write: RevokeKey, execute: Execute) -> None:
        execute("UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (write.at, write.id))

    def policies(self) -> list[AddPolicy]:
        sql = "SELECT id, name, at FROM policies WHERE name NOT LIKE ? ORDER BY id"
        return [AddPolicy(*row) for row in self.database.read(sql, (f"{DELETED}%",))]

    def deleted_policies(self) -> set[str]:
        rows = self.database.read("SELECT name FROM policies WHERE name LIKE ?", (f"{DELETED}%",))
        return {name.split(DELETED, 2)[2] for (name,) in rows}

    def unpurged(self) -> list[int]:
        sql = "SELECT policy FROM heads JOIN policies ON policies.id = heads.policy WHERE policies.name LIKE ?"
        return [policy for (policy,) in self.database.read(sql, (f"{DELETED}%",))]

    def last_policy(self) -> int:
        return self.database.read("SELECT MAX(id) FROM policies")[0][0] or 0

    def versions(self, policy: int) -> list[AddVersion]:
        sql = f"SELECT {VERSION} FROM versions WHERE policy = ? ORDER BY version"
        return [AddVersion(*row) for row in self.database.read(sql, (policy,))]

    def version_states(self, policy: int) -> list[int]:
        sql = "SELECT version FROM states WHERE policy = ? ORDER BY version"
        return [version for (version,) in self.database.read(sql, (policy,))]

    def version_state(self, policy: int, version: int) -> StoredSnapshot | None:
        sql = "SELECT seq, at, payload, digest FROM states WHERE policy = ? AND version = ?"
        rows = self.database.read(sql, (policy, version))
        return snapshot_of(rows[0]) if rows else None

    def snapshots(self, policy: int) -> Iterator[StoredSnapshot]:
        for seq in self.snapshot_seqs(policy):
            sql = "SELECT seq, at, payload, digest FROM snapshots WHERE policy = ? AND seq = ?"
            yield from (snapshot_of(row) for row in self.database.read(sql, (policy, seq)))

    def snapshot_seqs(self, policy: int) -> list[int]:
        sql = "SELECT seq FROM snapshots WHERE policy = ? ORDER BY seq DESC"
        return [seq for (seq,) in self.database.read(sql, (policy,))]

    def entries(self, policy: int, *, after: int, limit: int) -> list[Append]:
        sql = f"{ENTRIES} WHERE log.policy = ? AND log.seq > ? ORDER BY log.seq LIMIT ?"
        return [entry_of(row) for row in self.database.read(sql, (policy, after, limit))]

    def entry(self, policy: int, seq: int) -> Append | None:
        rows = self.database.read(f"{ENTRIES} WHERE log.policy = ? AND log.seq = ?", (policy, seq))
        return entry_of(rows[0]) if rows else None

    def feedback(self, policy: int, ranking: int) -> list[Append]:
        sql = f"{ENTRIES} WHERE log.policy = ? AND log.ranking = ? ORDER BY log.seq"
        return [entry_of(row) for row in self.database.read(sql, (policy, ranking))]

    def latest(
        self, policy: int, kind: Kind, *, limit: int, before: int | None = None, query_id: str | None = None
    ) -> list[Append]:
        below = 2**62 if before is None else before
        if query_id is None:
            which: str = "log.seq < ?"
            values: tuple[Any, ...] = (below,)
        else:  # from the query's rankings to their entries, however many others there are
            which = """log.seq IN (SELECT seq FROM contexts WHERE policy = ? AND query_id = ? AND seq < ?
                                   ORDER BY seq DESC LIMIT ?)"""
            values = (policy, encoded(query_id), below, limit)
        sql = f"{ENTRIES} WHERE log.policy = ? AND log.kind = ? AND {which} ORDER BY log.seq DESC LIMIT ?"
        return [entry_of(row) for row in self.database.read(sql, (policy, int(kind), *values, limit))]

    def named(self, request_id: str) -> dict[int, tuple[int, float]]:
        sql = """SELECT log.policy, log.seq, log.at FROM contexts
                 JOIN log ON log.policy = contexts.policy AND log.seq = contexts.seq
                 WHERE contexts.request_id = ? ORDER BY log.policy, log.seq"""
        return {policy: (seq, at) for policy, seq, at in self.database.read(sql, (encoded(request_id),))}

    def shown_to(self, user: str) -> int:
        return int(self.database.read("SELECT COUNT(*) FROM contexts WHERE user_id = ?", (encoded(user),))[0][0])

    def head(self, policy: int) -> Head:
        rows = self.database.read("SELECT seq, digest, forgotten FROM heads WHERE policy = ?", (policy,))
        return head_of(rows[0]) if rows else START

    def last_seq(self, policy: int) -> int:
        ends = [self.database.read(f"SELECT MAX(seq) FROM {table} WHERE policy = ?", (policy,))[0][0] for table in SEQS]
        return max((end for end in ends if isinstance(end, int)), default=0)

    def bounds(self, policy: int) -> tuple[int, int]:
        low, high = self.database.read("SELECT MIN(seq), MAX(seq) FROM log WHERE policy = ?", (policy,))[0]
        return low or 0, high or 0

    def fields(self, policy: int, table: Table, ids: Sequence[str]) -> dict[str, Kept]:
        return read_fields(policy, table, ids, self.database.read)

    def all_fields(self, policy: int, table: Table, *, after: str | None, limit: int) -> dict[str, Kept]:
        return all_fields(policy, table, b"" if after is None else encoded(after), limit, self.database.read)

    def keys(self) -> list[Key]:
        return [key_of(row) for row in self.database.read(f"SELECT {KEY} FROM keys ORDER BY at, id")]

    def size(self) -> int:
        return self.database.size()
