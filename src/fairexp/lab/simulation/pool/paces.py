"""What rounds take, by kind of run, learned while runs are played; and how long those to come will take."""

from __future__ import annotations

from collections import defaultdict

from fairexp.registry import relative_cost

Kind = tuple[str, str, str]
"""Data, user and ranker: rounds of one kind take about as long as each other."""

LOOP = 1.0
"""What a round takes besides its ranker (users, measures), in the unit of `relative_cost`."""


class Paces:
    """Takes in rounds and the seconds that they took, and says what others will take.

    A kind of which nothing was played yet is taken to cost what its ranker's `relative_cost` says, beside the same
    ranker with other users, or other rankers on the same data, or all there are. Neither taking in nor asking gets
    slower with the number of runs: only sums by kind are kept.

    >>> paces = Paces()
    >>> paces.expect(("world", "perfect", "mine"), "pdgd", rounds=150)
    >>> paces.add(("world", "perfect", "mine"), "pdgd", rounds=100, seconds=2.0)
    >>> paces.seconds(("world", "perfect", "mine"), "pdgd", rounds=10), paces.left()
    (0.2, 1.0)
    """

    def __init__(self) -> None:
        self._seconds: defaultdict[tuple[str, ...], float] = defaultdict(float)
        self._work: defaultdict[tuple[str, ...], float] = defaultdict(float)
        self._expected: defaultdict[tuple[Kind, str], int] = defaultdict(int)

    def expect(self, kind: Kind, ranker: str, *, rounds: int) -> None:
        """Count so many rounds more as to come; fewer where it is negative, as for rounds that nobody timed."""
        self._expected[kind, ranker] += rounds

    def add(self, kind: Kind, ranker: str, *, rounds: int, seconds: float) -> None:
        """Take in rounds of a kind, which are then no longer to come; `ranker` is a registry name or import path."""
        self.expect(kind, ranker, rounds=-rounds)
        for level in _levels(kind) if rounds else ():
            self._seconds[level] += seconds
            self._work[level] += work(ranker, rounds)

    def seconds(self, kind: Kind, ranker: str, *, rounds: int) -> float | None:
        """What so many rounds will take; None before any were played."""
        nearest = next((level for level in _levels(kind) if level in self._work), None)
        return None if nearest is None else self._seconds[nearest] / self._work[nearest] * work(ranker, rounds)

    def left(self) -> float | None:
        """What all rounds to come will take; None before any were played."""
        times = (self.seconds(kind, ranker, rounds=rounds) for (kind, ranker), rounds in self._expected.items())
        return sum(time or 0.0 for time in times) if self._work else None


def _levels(kind: Kind) -> tuple[tuple[str, ...], ...]:
    """What is like a kind, the most alike first: the kind, its ranker with any user, its data, everything."""
    data, _, ranker = kind
    return kind, (data, ranker), (data,), ()


def work(ranker: str, rounds: int) -> float:
    """How long rounds take, in no unit: enough to begin with the longest runs.

    >>> work("pdgd", 100) < work("pairrank", 100)
    True
    """
    return rounds * (LOOP + relative_cost(ranker))
