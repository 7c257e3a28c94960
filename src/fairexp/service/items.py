"""The items of a policy: what is kept of each, and how often each was shown and clicked."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from fairexp.arrays import State
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


MOST = 20_000
"""Items that are counted; of more, those shown longest ago are forgotten."""

STRENGTH = 20.0
"""A rate is drawn to the mean of all items as if the item had been shown so often more, and clicked at that rate."""


class ItemCounters:
    """Counts by item, as of the latest entry of the log.

    >>> counters = ItemCounters()
    >>> for _ in range(20):
    ...     counters.show(["a", "b"])
    >>> counters.click(["a"] * 10)
    >>> counters.columns(["a", "b", "c"], ["shown", "clicked", "rate"])
    array([[20.   , 10.   ,  0.375],
           [20.   ,  0.   ,  0.125],
           [ 0.   ,  0.   ,  0.25 ]], dtype=float32)
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._counts: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self.n_shown = 0
        self.n_clicked = 0

    def __len__(self) -> int:
        return len(self._counts)

    def __contains__(self, name: str) -> bool:
        return name in self._counts

    def show(self, ids: Iterable[str]) -> None:
        """Count items as shown once more."""
        for name in ids:
            shown, clicked = self._counts.pop(name, (0, 0))
            self._counts[name] = (shown + 1, clicked)
            self.n_shown += 1
        while len(self._counts) > self._most:
            self._counts.popitem(last=False)

    def click(self, ids: Iterable[str]) -> None:
        """Count items as clicked once more; of those forgotten since nothing is known, and nothing is kept."""
        for name in ids:
            self.n_clicked += 1
            if name in self._counts:
                shown, clicked = self._counts[name]
                self._counts[name] = (shown, clicked + 1)

    def of(self, name: str) -> dict[str, float]:
        """What is counted of one item."""
        shown, clicked = self._counts.get(name, (0, 0))
        mean = self.n_clicked / max(self.n_shown, 1)
        return {"shown": shown, "clicked": clicked, "rate": (clicked + STRENGTH * mean) / (shown + STRENGTH)}

    def columns(self, ids: Sequence[str], kinds: Sequence[str]) -> NDArray[np.float32]:
        """The counters of these kinds (n, kinds) as features of items."""
        counts = [self.of(name) for name in ids]
        return np.array([[each[kind] for kind in kinds] for each in counts], dtype=np.float32)

    def copy(self) -> ItemCounters:
        """The same counts, to go on from."""
        return ItemCounters.restored(self.state())

    def state(self) -> State:
        """Everything, as arrays."""
        names = np.frombuffer(orjson.dumps(list(self._counts)), dtype=np.uint8)
        counts = np.array(list(self._counts.values()), dtype=np.int64).reshape(-1, 2)
        return {"names": names, "counts": counts, "totals": np.array([self.n_shown, self.n_clicked], dtype=np.int64)}

    @staticmethod
    def restored(arrays: State) -> ItemCounters:
        """The counters whose `state` this was."""
        counters = ItemCounters()
        names = orjson.loads(np.asarray(arrays["names"], dtype=np.uint8).tobytes())
        counts = np.asarray(arrays["counts"], dtype=np.int64).tolist()
        counters._counts.update((name, (shown, clicked)) for name, (shown, clicked) in zip(names, counts, strict=True))
        counters.n_shown, counters.n_clicked = np.asarray(arrays["totals"], dtype=np.int64).tolist()
        return counters
