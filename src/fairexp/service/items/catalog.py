"""Fields of items and users, as policies keep them: written by events and requests, looked up by rankings."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any

import orjson

from fairexp.service.problems import ServiceError, invalid
from fairexp.service.store.base import Fields, ForgetItem, PutFields, Store, Table, Write
from fairexp.service.store.items import valid


class Catalog:
    """What a store keeps of items and users. Nothing is held in memory, so nothing has to be restored.

    `submit` hands writes to the log's writer, and `reading` turns a store's failure into a 503.
    """

    def __init__(
        self,
        store: Store,
        *,
        most_bytes: int,
        clock: Callable[[], float],
        submit: Callable[[Sequence[Write]], Future[None]],
        reading: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._store, self._most_bytes, self._clock = store, most_bytes, clock
        self._submit, self._reading = submit, reading
        self._lock = threading.Lock()
        self._written = 0

    def put(self, policy: int, table: Table, given: Sequence[Fields], *, most: int) -> Future[None]:
        """Keep fields of at most so many items or users of a policy; done when they are on disk."""
        now = self._clock()
        with self._lock:  # numbers in the order of submission
            first = self._written = max(self._written, time.time_ns())
            self._written += len(given)
            return self._submit([PutFields(policy, table, tuple(given), now, first, most, self._most_bytes)])

    def forget(self, policy: int, item: str) -> Future[None]:
        """Keep nothing of an item; done when that is on disk."""
        return self._submit([ForgetItem(policy, item)])

    def find(self, policy: int, table: Table, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The fields that count now, by id; items of which nothing is known are left out."""
        now = self._clock()
        with self._reading():
            found = self._store.fields(policy, table, ids)
        return {name: valid(known, now) for name, known in found.items()}

    def check_size(self, values: dict[str, Any], where: str) -> None:
        """A 422 for fields that would not fit into what one item may take."""
        problem = self.too_large(values, where)
        if problem is not None:
            raise problem

    def too_large(self, values: dict[str, Any], where: str) -> ServiceError | None:
        """The 422, if there is one."""
        size = len(orjson.dumps({name: [(0.0, None, value)] for name, value in values.items()}))
        if 2 * size <= self._most_bytes:
            return None
        expected = f"at most {self._most_bytes // 2} (half of the setting max_item_bytes)"
        return invalid(where, f"fields of {size} bytes", expected)
