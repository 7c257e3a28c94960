"""Ranking and learning take turns at a policy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(eq=False)
class _Ticket:
    learns: bool
    passed: bool
    """Whether an update has been under way since it came."""


class Turns:
    """One at a time, first come first served, but no ranking waits for more than one update.

    A ranking that an update has kept waiting goes before every other update. An update waits only for rankings that
    came before it, or that an earlier update kept waiting; so neither kind can shut out the other.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.waiting: list[_Ticket] = []
        self._at_work: _Ticket | None = None

    @contextmanager
    def ranking(self) -> Iterator[None]:
        """Hold the turn for a ranking."""
        with self._turn(learns=False):
            yield

    @contextmanager
    def learning(self) -> Iterator[None]:
        """Hold the turn for an update."""
        with self._turn(learns=True):
            yield

    @contextmanager
    def _turn(self, *, learns: bool) -> Iterator[None]:
        with self._changed:
            ticket = _Ticket(learns, passed=self._at_work is not None and self._at_work.learns)
            self.waiting.append(ticket)
            self._changed.wait_for(lambda: self._at_work is None and self._next() is ticket)
            self.waiting.remove(ticket)
            self._at_work = ticket
            for other in self.waiting:
                other.passed = other.passed or learns
        try:
            yield
        finally:
            with self._changed:
                self._at_work = None
                self._changed.notify_all()

    def _next(self) -> _Ticket:
        kept_waiting = (ticket for ticket in self.waiting if ticket.passed and not ticket.learns)
        return next(kept_waiting, self.waiting[0])
