"""Requests that carry an id of their own, so that asking once more gives the same ranking again."""

from __future__ import annotations

import threading
from collections import OrderedDict

RECENT = 1000
"""Ids at hand for each policy; twice as many for moments. Others are looked up in the store."""


class RecentRequests:
    """The latest request ids of a policy, each with its ranking's place in the log. Safe to call from several threads.

    Whoever finds an id neither here nor in the store knows that it is new for as long as `look` says the same: what
    comes meanwhile is put here before it is on disk, and whenever something goes the number that `look` tells changes.
    """

    def __init__(self, most: int = RECENT) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._seqs: OrderedDict[str, int] = OrderedDict()
        self._n_cuts = 0

    def __len__(self) -> int:
        return len(self._seqs)

    def look(self, request_id: str) -> tuple[int, int | None]:
        """How often ids have gone from here, and the seq of the ranking with this one, if it is here."""
        with self._lock:
            return self._n_cuts, self._seqs.get(request_id)

    def put(self, request_id: str, seq: int, *, committed: int) -> None:
        """Remember an id; now and then the oldest go, of those up to the entry `committed`, which the store has."""
        with self._lock:
            self._seqs[request_id] = seq
            self._seqs.move_to_end(request_id)
            if len(self._seqs) > 2 * self._most:
                self._cut(len(self._seqs) - self._most, committed)

    def let_go(self, *, committed: int) -> None:
        """Forget all that the store has."""
        with self._lock:
            self._cut(len(self._seqs), committed)

    def clear(self) -> None:
        """Forget all: the store knows best."""
        with self._lock:
            self._seqs.clear()
            self._n_cuts += 1

    def _cut(self, n: int, committed: int) -> None:
        for request_id, seq in list(self._seqs.items())[:n]:
            if seq <= committed:
                del self._seqs[request_id]
        self._n_cuts += 1
