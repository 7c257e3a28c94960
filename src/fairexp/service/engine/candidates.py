"""What a request asks to be ranked."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from fairexp.arrays import Ints
from fairexp.service.log.considered import Floats32


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """What a request asks to be ranked: `ids`, group numbers (n,) and features (n, d) as the policy declares them.

    With constraints, numbers of labels (n,) by attribute instead of groups. `pinned` is the candidate that must stand
    at a position, both from 0; `segment` is what accounts are kept by, and `weight` what attention is worth. `asked` is
    a digest of all that where the request has an id; `whole` says that the answer tells all candidates.
    A page that continues the ranking at the entry `after` begins at the position `first`, from 0.
    """

    ids: list[str]
    groups: Ints | None
    features: Floats32
    k: int | None = None
    context: dict[str, Any] = field(default_factory=dict)
    asked: str = ""
    whole: bool = False
    after: int | None = None
    first: int = 0
    labels: dict[str, Ints] = field(default_factory=dict)
    pinned: dict[int, int] = field(default_factory=dict)
    segment: str | None = None
    weight: float = 1.0

    def without(self, ids: Collection[str]) -> Candidates:
        """The same without those that an earlier page has shown."""
        kept = [place for place, name in enumerate(self.ids) if name not in ids]
        return replace(
            self,
            ids=[self.ids[place] for place in kept],
            groups=None if self.groups is None else self.groups[kept],
            labels={name: values[kept] for name, values in self.labels.items()},
            features=self.features[kept],
        )


def query_key(query_id: str) -> str:
    """What stands for a query's id in entries and in what was learned: its text, which may be a user's, does not stay.

    >>> query_key("shoes")
    '10ff2e0522957c768742b50d58dcc706'
    """
    return hashlib.blake2b(query_id.encode(), digest_size=16, person=b"fairexp-query").hexdigest()
