"""What rounds take, by kind of run, learned while runs are played."""

from __future__ import annotations

from fairexp.registry import relative_cost

Kind = tuple[str, str, str]
"""Data, user and ranker: rounds of one kind take about as long as each other."""

LOOP = 1.0
"""What a round takes besides its ranker (users, measures), in the unit of `relative_cost`."""


class Paces:
    """Takes in rounds and the seconds that they took, and says what others will take.

    A kind of which nothing was played yet is taken to cost what its ranker's `relative_cost` says, beside the same
    ranker with other users, or other rankers on the same data, or all there are.

    >>> paces = Paces()
    >>> paces.add(("world", "perfect", "mine"), "pdgd", rounds=100, seconds=2.0)
    >>> paces.seconds(("world", "perfect", "mine"), "pdgd", rounds=10)
    0.2
    """

    def __init__(self) -> None:
        self._seconds: dict[Kind, float] = {}
        self._rounds: dict[Kind, int] = {}
        self._work: dict[Kind, float] = {}

    def add(self, kind: Kind, ranker: str, *, rounds: int, seconds: float) -> None:
        """Take in rounds of a kind; `ranker` is the registry's name or an import path."""
        self._seconds[kind] = self._seconds.get(kind, 0.0) + seconds
        self._rounds[kind] = self._rounds.get(kind, 0) + rounds
        self._work[kind] = self._work.get(kind, 0.0) + work(ranker, rounds)

    def seconds(self, kind: Kind, ranker: str, *, rounds: int) -> float | None:
        """What so many rounds will take; None before any were played."""
        if self._rounds.get(kind):
            return self._seconds[kind] / self._rounds[kind] * rounds
        alike = self._alike(kind)
        if not alike:
            return None
        return sum(self._seconds[one] for one in alike) / sum(self._work[one] for one in alike) * work(ranker, rounds)

    def _alike(self, kind: Kind) -> list[Kind]:
        data, _, ranker = kind
        known = [one for one, rounds in self._rounds.items() if rounds]
        same_data = [one for one in known if one[0] == data]
        return [one for one in same_data if one[2] == ranker] or same_data or known


def work(ranker: str, rounds: int) -> float:
    """How long rounds take, in no unit: enough to begin with the longest runs.

    >>> work("pdgd", 100) < work("pairrank", 100)
    True
    """
    return rounds * (LOOP + relative_cost(ranker))
