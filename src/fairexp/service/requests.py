"""Requests that carry an id of their own, so that asking once more gives the same ranking again."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import orjson

from fairexp.service.records import Floats32

RECENT = 1000
"""Ids at hand for each policy; twice as many for moments. Others are looked up in the store."""


class Place(NamedTuple):
    """Where a ranking stands in the log, and since when."""

    seq: int
    at: float


def digest_of_candidates(
    ids: Sequence[str], groups: Sequence[str | None], features: Floats32, k: int | None = None
) -> str:
    """A short digest of what a request asks to be ranked, as it was given: a new version of a policy changes nothing.

    >>> import numpy as np
    >>> digest_of_candidates(["a"], ["x"], np.zeros((1, 2), dtype=np.float32))
    '6a6b7ca8a3ed1eb7'
    """
    digest = hashlib.blake2b(orjson.dumps([list(ids), list(groups), k]), digest_size=8, person=b"fairexp-request")
    digest.update(features.tobytes())
    return digest.hexdigest()


class RecentRequests:
    """The latest request ids of a policy. Safe to call from several threads.

    Whoever finds an id neither here nor in the store knows that it is new for as long as `look` says the same: what
    comes meanwhile is put here before it is on disk, and whenever something goes the number that `look` tells changes.
    """

    def __init__(self, most: int = RECENT) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._places: OrderedDict[str, Place] = OrderedDict()
        self._n_cuts = 0

    def __len__(self) -> int:
        return len(self._places)

    def look(self, request_id: str) -> tuple[int, Place | None]:
        """How often ids have gone from here, and where the ranking with this one stands, if it is here."""
        with self._lock:
            return self._n_cuts, self._places.get(request_id)

    def put(self, request_id: str, place: Place, *, committed: int) -> None:
        """Remember an id; now and then the oldest go, of those up to the entry `committed`, which the store has."""
        with self._lock:
            self._places[request_id] = place
            self._places.move_to_end(request_id)
            if len(self._places) > 2 * self._most:
                self._cut(len(self._places) - self._most, committed)

    def let_go(self, *, committed: int) -> None:
        """Forget all that the store has."""
        with self._lock:
            self._cut(len(self._places), committed)

    def clear(self) -> None:
        """Forget all: the store knows best."""
        with self._lock:
            self._places.clear()
            self._n_cuts += 1

    def _cut(self, n: int, committed: int) -> None:
        for request_id, place in list(self._places.items())[:n]:
            if place.seq <= committed:
                del self._places[request_id]
        self._n_cuts += 1
