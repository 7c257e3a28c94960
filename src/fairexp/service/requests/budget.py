"""How many bytes of bodies may be in memory at once, for all requests together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from fairexp.service.problems import ServiceError


class Arrival:
    """A body that is arriving, or is being read; `deadline` ends the wait for its next part."""

    def __init__(self) -> None:
        self.deadline: asyncio.Timeout | None = None
        self.size = 0
        self.whole = False
        self.dropped = False


class Budget:
    """Bytes of bodies. When there are too many, the largest body that is not whole yet is dropped.

    So whoever sends large bodies slowly makes room for the others. For the event loop's thread only.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._arrivals: set[Arrival] = set()
        self.used = 0
        self.refused = 0

    @contextmanager
    def arrival(self) -> Iterator[Arrival]:
        """A body, for as long as it takes memory."""
        arrival = Arrival()
        self._arrivals.add(arrival)
        try:
            yield arrival
        finally:
            self._forget(arrival)

    def add(self, arrival: Arrival, size: int) -> None:
        """More of a body has come; a 503 if it is the one that must go, or had to."""
        if arrival.dropped:
            raise self.problem()
        arrival.size += size
        self.used += size
        while self.used > self._most:
            growing = [each for each in self._arrivals if not each.whole]
            largest = max(growing, key=lambda each: each.size, default=arrival)
            self._forget(largest)
            self.refused += 1
            largest.dropped = True
            if largest is arrival:
                raise self.problem()
            if largest.deadline is not None and not largest.deadline.expired():
                largest.deadline.reschedule(0.0)

    def problem(self) -> ServiceError:
        """What the sender of a dropped body is told."""
        return ServiceError(
            "overloaded",
            f"body: {self._most} bytes of bodies are being read, which is the most here (setting max_bodies_bytes); "
            "try again shortly",
            status=503,
            retry_after=1.0,
        )

    def _forget(self, arrival: Arrival) -> None:
        if arrival in self._arrivals:
            self._arrivals.remove(arrival)
            self.used -= arrival.size
