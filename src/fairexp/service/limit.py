"""How much may be under way; more is refused at once, so that neither memory nor waiting grows without bound."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fairexp.service.problems import ServiceError

RETRY_SECONDS = 1.0


class Limit:
    """At most so many at a time; the rest is refused with a 503. For the event loop's thread only.

    >>> limit = Limit("rankings of 'shop'", most=1, setting="max_waiting_rankings")
    >>> with limit.place():
    ...     limit.check()
    Traceback (most recent call last):
    fairexp.service.problems.ServiceError: 1 rankings of 'shop' wait already, which is the most here \
(setting max_waiting_rankings); try again shortly
    """

    def __init__(self, what: str, *, most: int, setting: str) -> None:
        self._what, self._most, self._setting = what, most, setting
        self.taken = 0
        self.refused = 0

    def check(self) -> None:
        """A 503 if no place is free."""
        if self.taken < self._most:
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
    def place(self) -> Iterator[None]:
        """Take a place until the end of the block; a 503 if none is free."""
        self.check()
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1
