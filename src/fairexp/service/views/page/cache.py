"""Charts kept for a few seconds."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Hashable
from typing import Any

KEPT_SECONDS = 4.0
MOST = 64
"""Charts of so many policies, themes and ranges are kept."""


class ChartCache:
    """Charts made at most once every few seconds, however many watch: making them takes time from ranking."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._made: dict[Hashable, tuple[float, int, dict[str, Any]]] = {}
        self._lock = threading.Lock()

    def get(self, what: Hashable, version: int, rounds: int, make: Callable[[], dict[str, Any]]) -> Any:
        """The charts of `what`, made anew if they are old and there was something new since."""
        state = (version << 40) + rounds
        with self._lock:
            at, known, charts = self._made.get(what, (-math.inf, -1, {}))
            if known != state and self._clock() - at >= KEPT_SECONDS:
                charts = make()
                self._made.pop(what, None)
                self._made[what] = (self._clock(), state, charts)
                while len(self._made) > MOST:
                    del self._made[next(iter(self._made))]
            return charts
