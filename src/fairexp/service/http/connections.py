"""Who is connected: how many may be, who makes room for whom, and who has kept us waiting for too long."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from fairexp.service.http.tally import Tally
from fairexp.service.settings import ServerSettings

LOG = logging.getLogger("fairexp.service")
SWEEP_SECONDS = 0.5
LOG_SECONDS = 10.0
RESERVE = 128
"""Files that are kept for other things than connections; a quarter of those allowed, where that is more."""


class Connection(Protocol):
    """What is known of a connection here; `due` is when it will have taken too long over what it does."""

    due: float | None

    def late(self) -> None: ...

    def make_room(self) -> None: ...


class Connections:
    """All connections of a server, those without a request in the order in which they came to rest.

    For the event loop's thread only.
    """

    def __init__(self, settings: ServerSettings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self.clock = clock
        self.most = min(settings.max_connections, _files_for_connections())
        self.closed: Counter[str] = Counter()
        self._all: set[Connection] = set()
        self._resting: dict[Connection, None] = {}
        self._ticking = False
        self._tally = Tally[str](seconds=LOG_SECONDS)

    def __len__(self) -> int:
        return len(self._all)

    def admit(self, connection: Connection) -> bool:
        """Let a new connection in, if need be in place of the one at rest for longest; False if all are at work."""
        if len(self._all) >= self.most:
            oldest = next(iter(self._resting), None)
            if oldest is None:
                self.note("full")
                return False
            self.leave(oldest)
            self.note("made_room")
            oldest.make_room()
        self._all.add(connection)
        self._resting[connection] = None
        if not self._ticking:
            self._ticking = True
            self._tick()
        return True

    def rest(self, connection: Connection) -> None:
        """The connection has no request under way."""
        if connection in self._all:
            self._resting.pop(connection, None)
            self._resting[connection] = None

    def work(self, connection: Connection) -> None:
        """A request of the connection is under way."""
        self._resting.pop(connection, None)

    def leave(self, connection: Connection) -> None:
        """The connection is gone, or as good as gone."""
        self._all.discard(connection)
        self._resting.pop(connection, None)

    def note(self, reason: str) -> None:
        """Count a connection that we ended or refused."""
        self.closed[reason] += 1
        if reason != "idle":
            self._tally.note(reason)

    def sweep(self) -> None:
        """End what is overdue, and tell the log what ended since it was last told, now and then."""
        now = self.clock()
        for connection in [each for each in self._all if each.due is not None and each.due <= now]:
            connection.late()
        if ended := self._tally.take(now):
            facts = {"connections": len(self), "most": self.most, **ended}
            LOG.warning("connections refused or ended", extra={"facts": facts})

    def _tick(self) -> None:
        self.sweep()
        self._ticking = bool(self._all or self._tally)
        if self._ticking:
            asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._tick)


def raise_file_limit() -> None:
    """Allow this process as many open files as the system lets it have."""
    try:
        import resource
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _files_for_connections() -> int:
    try:
        import resource
    except ImportError:
        return 500
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return 1_000_000
    return max(files - max(RESERVE, files // 4), 8)
