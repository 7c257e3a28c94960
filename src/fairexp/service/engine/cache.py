"""Things kept at hand within a budget of memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Cache(Generic[Value]):
    """Values by number in at most `most_bytes`: what was put there longest ago goes first.

    The latest stays even if it alone is too large, and so does what `may_go` holds on to.

    >>> cache = Cache[str](10)
    >>> for number, text in enumerate(("one", "two", "three")):
    ...     cache.put(number, text, n_bytes=len(text))
    >>> cache.get(0), cache.get(2), cache.n_bytes
    (None, 'three', 8)
    """

    def __init__(self, most_bytes: int, *, may_go: Callable[[Value], bool] = lambda value: True) -> None:
        self._most_bytes = most_bytes
        self._may_go = may_go
        self._places: OrderedDict[int, tuple[Value, int]] = OrderedDict()
        self.n_bytes = 0

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, number: int) -> bool:
        return number in self._places

    def get(self, number: int) -> Value | None:
        """The value, if it is here."""
        place = self._places.get(number)
        return None if place is None else place[0]

    def put(self, number: int, value: Value, *, n_bytes: int) -> None:
        """Put a value there, or say that it has grown; others go to make room."""
        self._take(number)
        if self.n_bytes + n_bytes > self._most_bytes:
            self._make_room(n_bytes)
        self._places[number] = (value, n_bytes)
        self.n_bytes += n_bytes

    def clear(self) -> None:
        """Forget all values."""
        self._places.clear()
        self.n_bytes = 0

    def _make_room(self, n_bytes: int) -> None:
        going = []
        left = self.n_bytes + n_bytes - self._most_bytes
        for number, (value, size) in self._places.items():
            if left <= 0:
                break
            if self._may_go(value):
                going.append(number)
                left -= size
        for number in going:
            self._take(number)

    def _take(self, number: int) -> None:
        _, size = self._places.pop(number, (None, 0))
        self.n_bytes -= size
