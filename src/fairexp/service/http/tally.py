"""What happens too often for a line in the log each time: counted, and told to the log now and then."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from typing import Generic, TypeVar

Kind = TypeVar("Kind", bound=Hashable)


class Tally(Generic[Kind]):
    """How often each kind of thing happened since the log was last told. For the event loop's thread only.

    >>> tally = Tally[str](seconds=1.0)
    >>> for kind in ("idle", "full", "full"):
    ...     tally.note(kind)
    >>> tally.take(10.0), tally.take(11.0)
    (Counter({'full': 2, 'idle': 1}), Counter())
    """

    def __init__(self, *, seconds: float = 1.0) -> None:
        self._seconds = seconds
        self._untold: Counter[Kind] = Counter()
        self._told_at = -math.inf

    def __bool__(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self._untold)

    def note(self, kind: Kind) -> None:
        """It happened once more."""
        self._untold[kind] += 1

    def take(self, now: float) -> Counter[Kind]:
        """What to tell the log: nothing if it was told less than `seconds` ago, else all that happened since."""
        if not self._untold or now - self._told_at < self._seconds:
            return Counter()
        untold, self._untold, self._told_at = self._untold, Counter(), now
        return untold
