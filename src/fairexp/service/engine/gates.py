"""How much may be under way; more is refused at once, so that neither memory nor waiting grows without bound."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fairexp.service.problems import ServiceError

if TYPE_CHECKING:
    from fairexp.service.settings import ServerSettings

RETRY_SECONDS = 1.0


class Gate:
    """Lets in `most` at a time, and refuses the rest with a 503. For the event loop's thread only.

    >>> gate = Gate("rankings of 'shop'", most=1, setting="max_waiting_rankings")
    >>> with gate.passage():
    ...     gate.check()
    Traceback (most recent call last):
    fairexp.service.problems.ServiceError: 1 rankings of 'shop' wait already, which is the most here \
(setting max_waiting_rankings); try again shortly
    """

    def __init__(self, what: str, *, most: int, setting: str) -> None:
        self._what, self._most, self._setting = what, most, setting
        self.inside = 0
        self.refused = 0

    def check(self) -> None:
        """A 503 if nobody else may come in."""
        if self.inside < self._most:
            return
        self.refused += 1
        raise ServiceError(
            "overloaded",
            f"{self._most} {self._what} wait already, which is the most here (setting {self._setting}); "
            "try again shortly",
            status=503,
            retry_after=RETRY_SECONDS,
        )

    @contextmanager
    def passage(self) -> Iterator[None]:
        """Be inside, or be refused."""
        self.check()
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1


class Gates:
    """A gate for the rankings of each policy, from the request to the disk, and one for requests with feedback."""

    def __init__(self, settings: ServerSettings) -> None:
        self._most = settings.max_waiting_rankings
        self._rankings: dict[str, Gate] = {}
        self.feedback = Gate(
            "requests with feedback", most=settings.max_waiting_feedback, setting="max_waiting_feedback"
        )

    def rankings(self, policy: str) -> Gate:
        """The gate of a policy that there is."""
        if policy not in self._rankings:
            gate = Gate(f"rankings of {policy!r}", most=self._most, setting="max_waiting_rankings")
            self._rankings[policy] = gate
        return self._rankings[policy]
