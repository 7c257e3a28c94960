"""Requests that carry an id of their own, so that asking once more gives the same ranking again."""

from __future__ import annotations

from collections import OrderedDict

RECENT = 1000
"""Ids at hand for each policy; twice as many for moments. Others are looked up in the store."""


class RecentRequests:
    """The latest request ids of a policy, each with its ranking's place in the log, be it on disk yet or not.

    Under the policy's lock only.

    >>> recent = RecentRequests()
    >>> recent.put("r1", 7, committed=0)
    >>> recent.find("r1"), recent.find("r2")
    (7, None)
    """

    def __init__(self, most: int = RECENT) -> None:
        self._most = most
        self._seqs: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._seqs)

    def find(self, request_id: str) -> int | None:
        """The seq of the ranking with this id, if it is here."""
        return self._seqs.get(request_id)

    def put(self, request_id: str, seq: int, *, committed: int) -> None:
        """Remember an id; now and then the oldest go, of those up to the entry `committed`, which the store has."""
        self._seqs[request_id] = seq
        self._seqs.move_to_end(request_id)
        if len(self._seqs) > 2 * self._most:
            self._cut(len(self._seqs) - self._most, committed)

    def let_go(self, *, committed: int) -> None:
        """Forget all that the store has."""
        self._cut(len(self._seqs), committed)

    def clear(self) -> None:
        """Forget all: the store knows best."""
        self._seqs.clear()

    def _cut(self, n: int, committed: int) -> None:
        for request_id, seq in list(self._seqs.items())[:n]:
            if seq <= committed:
                del self._seqs[request_id]
