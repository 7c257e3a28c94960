"""Rankers compared by the clicks on their interleaved lists, pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.interleaving.methods import mix
from fairexp.interleaving.mixed import Interleaved
from fairexp.randomness import Seed, make_rng
from fairexp.statistics import holm, signed_effect
from fairexp.types import Query


class Scorer(Protocol):
    """Whatever scores documents by their features: our rankers, and anybody's."""

    def score(self, features: Floats, /) -> Floats:
        """One score (n,) for each row of features (n, d), higher for what belongs above."""


@dataclass(frozen=True)
class Pair:
    """How often `first` was preferred to `second` over `visits`, where a tie is half a win.

    `low` to `high` is the 95% interval of `win_rate`, and `p` the two-sided p-value of 1/2, corrected for the number of
    pairs (Holm); all None from a single visit. Student's t and a sign test must agree on a winner.
    """

    first: str
    second: str
    visits: int
    win_rate: float
    low: float | None
    high: float | None
    p: float | None


class Comparison:
    """Preferences between rankers called `names`, gathered visit by visit; for clicks that come when they come.

    >>> from fairexp.interleaving import interleave
    >>> comparison = Comparison(["old", "new"])
    >>> for seed in range(20):
    ...     mixed = interleave([["a", "b"], ["b", "a"]], seed=seed)
    ...     comparison.add(mixed, clicks=mixed.shown == "b")
    >>> comparison.pairs()[0].win_rate
    0.0
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        if len(self.names) < 2 or len(set(self.names)) < len(self.names):
            raise ArgumentError("names", self.names, "two names or more that differ from each other")
        self._couples = list(combinations(range(len(self.names)), 2))
        self._outcomes: list[list[float]] = [[] for _ in self._couples]

    def add(self, mixed: Interleaved, clicks: ArrayLike) -> None:
        """Count the clicks on one mixed list; its rankers are in the order of `names`."""
        preferences = mixed.preferences(clicks)
        if len(preferences) != len(self.names):
            raise ArgumentError("mixed", f"{len(preferences)} lists", f"{len(self.names)}, one for each ranker")
        for outcomes, couple in zip(self._outcomes, self._couples, strict=True):
            outcomes.append(float(preferences[couple]))

    def pairs(self) -> list[Pair]:
        """A row for each pair of rankers, in the order of `names`; none before the first visit."""
        if not self._outcomes[0]:
            return []
        found = [signed_effect(outcomes) for outcomes in self._outcomes]
        corrected = holm([each.p for each in found])
        rows = []
        for (a, b), each, p in zip(self._couples, found, corrected, strict=True):
            rate, low, high = (_rate(value) for value in (each.mean, each.low, each.high))
            rows.append(Pair(self.names[a], self.names[b], each.n, rate or 0.0, low, high, p))
        return rows

    def __str__(self) -> str:
        lines = [f"{'first':<16}{'second':<16}{'visits':>8}{'win rate':>10}{'95% interval':>18}{'p':>10}"]
        for row in self.pairs():
            interval = "" if row.low is None or row.high is None else f"{row.low:.3f} to {row.high:.3f}"
            p = "" if row.p is None else f"{row.p:.2g}"
            lines.append(f"{row.first:<16}{row.second:<16}{row.visits:>8}{row.win_rate:>10.3f}{interval:>18}{p:>10}")
        return "\n".join(lines)


def compare(
    rankers: Mapping[str, Scorer],
    stream: Iterable[tuple[Query, Callable[[Ints], ArrayLike]]],
    *,
    length: int = 10,
    method: str = "team-draft",
    seed: Seed = None,
) -> Comparison:
    """Show every query of `stream` a mix of all `rankers`' lists, and count its clicks.

    The stream gives a query and whoever visits it: a function from the documents shown (m,), as numbers of the query's
    candidates, to clicks (m,). Nobody learns.
    """
    comparison, rng = Comparison(list(rankers)), make_rng(seed)
    for query, visit in stream:
        scores = np.stack([np.asarray(ranker.score(query.features), dtype=np.float64) for ranker in rankers.values()])
        mixed = mix(scores, length=length, method=method, rng=rng)
        comparison.add(mixed, visit(mixed.shown))
    return comparison


def _rate(preference: float | None) -> float | None:
    """A win rate from a mean preference between -1 and 1."""
    return None if preference is None else min(max((1.0 + preference) / 2.0, 0.0), 1.0)
