"""The one queue of a policy: how many rankings may wait, and who goes next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from fairexp.service.limit import Limit

Result = TypeVar("Result")
Begin = Callable[[], "asyncio.Future[Result]"]
"""Begins the work, in a thread, and returns what tells its end."""


@dataclass(eq=False)
class _Ticket:
    learns: bool
    passed: bool
    """Whether an update has been under way since it came."""
    called: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Queue:
    """One at a time, first come first served, but no ranking waits for more than one update.

    A ranking that an update has kept waiting goes before every other update. An update waits only for rankings that
    came before it, or that an earlier update kept waiting; so neither kind can shut out the other. Who waits takes no
    thread. `rankings` limits how many rankings are under way, from the request to the disk. For the event loop only.
    """

    def __init__(self, policy: str, *, most_rankings: int) -> None:
        self.rankings = Limit(f"rankings of {policy!r}", most=most_rankings, setting="max_waiting_rankings")
        self.waiting: list[_Ticket] = []
        self._at_work: _Ticket | None = None

    async def rank(self, begin: Begin[Result]) -> Result:
        """What a ranking comes to, begun when it is its turn."""
        return await self._run(begin, learns=False)

    async def learn(self, begin: Begin[Result]) -> Result:
        """What an update comes to, begun when it is its turn."""
        return await self._run(begin, learns=True)

    async def _run(self, begin: Begin[Result], *, learns: bool) -> Result:
        ticket = _Ticket(learns, passed=self._at_work is not None and self._at_work.learns)
        self.waiting.append(ticket)
        self._call_next()
        try:
            await ticket.called
            work = begin()
        except BaseException:
            self._leave(ticket)
            raise
        # A caller that goes away does not end the work, so the turn is given back by the work itself.
        work.add_done_callback(lambda _: self._leave(ticket))
        return await asyncio.shield(work)

    def _leave(self, ticket: _Ticket) -> None:
        if ticket in self.waiting:
            self.waiting.remove(ticket)
        if self._at_work is ticket:
            self._at_work = None
            self._call_next()

    def _call_next(self) -> None:
        while self._at_work is None and self.waiting:
            kept_waiting = (ticket for ticket in self.waiting if ticket.passed and not ticket.learns)
            ticket = next(kept_waiting, self.waiting[0])
            self.waiting.remove(ticket)
            if ticket.called.cancelled():
                continue
            self._at_work = ticket
            for other in self.waiting:
                other.passed = other.passed or ticket.learns
            ticket.called.set_result(None)
