"""Ranking ids: where a ranking stands in the log, signed, so that nobody can make one up."""

from __future__ import annotations

import hashlib
import hmac
import re

from fairexp.service.problems import ServiceError

_FORM = re.compile(r"([0-9]{1,9})-([0-9]{1,18})-([0-9a-f]{16})")


class RankingIds:
    """Makes and reads the ids of one store.

    >>> ids = RankingIds(b"secret")
    >>> ids.read(ids.make(3, 14))
    (3, 14)
    """

    def __init__(self, secret: bytes) -> None:
        self._keyed = hmac.new(secret, digestmod=hashlib.sha256)

    def make(self, policy: int, seq: int) -> str:
        """The id of the ranking that is entry `seq` of the policy's log."""
        place = f"{policy}-{seq}"
        return f"{place}-{self._tag(place)}"

    def read(self, ranking_id: str, field: str = "ranking_id") -> tuple[int, int]:
        """(policy, seq), or a 404 about the field that named it."""
        found = _FORM.fullmatch(ranking_id)
        if found:
            policy, seq, tag = found.groups()
            if hmac.compare_digest(self._tag(f"{policy}-{seq}"), tag):
                return int(policy), int(seq)
        raise unknown_ranking(ranking_id, field)

    def _tag(self, place: str) -> str:
        mac = self._keyed.copy()  # unlike hmac.digest, this does not let go of the interpreter's lock
        mac.update(place.encode())
        return mac.digest()[:8].hex()


def unknown_ranking(ranking_id: str, field: str = "ranking_id") -> ServiceError:
    """The 404 for a ranking that this service did not show."""
    return ServiceError(
        "unknown_ranking",
        f"{field}: {ranking_id[:80]!r} is not a ranking that this service has shown",
        status=404,
        field=field,
    )
