"""Two groupings of the same data, as the place that a claim is about."""

from __future__ import annotations

from typing import NamedTuple

_BETWEEN = "|"


class Groupings(NamedTuple):
    """The labels of less and of more balanced groups, and the users that both were shown to.

    >>> str(Groupings("uneven", "even", "navigational"))
    'uneven|even|navigational'
    >>> Groupings.of("uneven|even|navigational").settings
    ('uneven/navigational', 'even/navigational')
    """

    uneven: str
    even: str
    user: str

    @staticmethod
    def of(place: str) -> Groupings:
        """The groupings that `place` names."""
        return Groupings(*place.split(_BETWEEN))

    def __str__(self) -> str:
        return _BETWEEN.join(self)

    @property
    def settings(self) -> tuple[str, str]:
        """The two settings that are compared."""
        return f"{self.uneven}/{self.user}", f"{self.even}/{self.user}"


def groupings_at(place: str) -> Groupings | None:
    """The groupings that `place` names; None where it is one setting."""
    return Groupings.of(place) if _BETWEEN in place else None
