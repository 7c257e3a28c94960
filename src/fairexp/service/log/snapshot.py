"""The state of a policy at some entry of its log, as the store has it."""

from __future__ import annotations

import hashlib
from typing import Any

from fairexp.arrays import State
from fairexp.service.problems import CorruptRecordError
from fairexp.service.store.base import StoredSnapshot
from fairexp.service.store.codec import unpack


def read_snapshot(snapshot: StoredSnapshot) -> tuple[dict[str, Any], State, bytes | None]:
    """What a snapshot holds, and the digest of the log's entry that it was taken after; a version's state has none."""
    if hashlib.sha256(snapshot.payload).digest() != snapshot.digest:
        raise CorruptRecordError(f"snapshot {snapshot.seq}: its bytes are not those that were written")
    meta, arrays = unpack(snapshot.payload)
    link = meta.get("log_digest")
    return meta, arrays, None if link is None else bytes.fromhex(link)
