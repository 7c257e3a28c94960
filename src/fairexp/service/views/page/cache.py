"""Charts kept for a few seconds."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any

KEPT_SECONDS = 4.0


class ChartCache:
    """Charts made at most once every few seconds, however many watch: making them takes time from ranking."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._made: dict[tuple[str, str], tuple[float, int, dict[str, Any]]] = {}
        self._lock = threading.Lock()

    def get(self, policy: str, theme: str, version: int, rounds: int, make: Callable[[], dict[str, Any]]) -> Any:
        """The charts of a policy, made anew if they are old and there was something new since."""
        state = (version << 40) + rounds
        with self._lock:
            at, known, charts = self._made.get((policy, theme), (-math.inf, -1, {}))
            if known != state and self._clock() - at >= KEPT_SECONDS:
                charts = make()
                self._made[policy, theme] = (self._clock(), state, charts)
            return charts
