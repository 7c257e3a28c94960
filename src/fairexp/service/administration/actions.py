"""What administrators did, from the log that keeps it."""

from __future__ import annotations

from typing import Any

from fairexp.service.store.base import ADMINISTRATION, Kind, Store
from fairexp.service.store.chain import checked
from fairexp.service.store.codec import unpack


def latest_actions(store: Store, *, limit: int, before: int | None = None) -> list[dict[str, Any]]:
    """The latest actions, newest first, below the number `before` if given: when, who, what, to which policy."""
    entries = store.latest(ADMINISTRATION.policy, Kind.ACTION, limit=limit, before=before)
    return [{"number": entry.seq, "at": entry.at, **unpack(checked(entry).payload)[0]} for entry in entries]
