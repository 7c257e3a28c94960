"""How far a ranker is to be believed: how often the orders that it thought so or so probable turned out right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairexp.arrays import Floats
from fairexp.statistics import share_interval

N_BINS = 10
"""Bins of the probability of the order that a ranker preferred, each a twentieth wide, from 1/2 to 1."""

TELLING = 20.0
"""Comparisons from which on words are said about a bin."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """Orders that were predicted, in `N_BINS` bins of their probability, and how many of them held.

    `sums` (3, B) are, by bin, the number of comparisons, the sum of their probabilities, and how many held. All
    pairs of a clicked and an unclicked document of a ranking are compared, each by the chance that a random matching of
    them has it. They are plain totals, so that those of several runs, or the time between two looks,
    are sums and differences.

    >>> one = Predictions(np.array([[4.0, 0, 0, 0, 0, 0, 100.0, 0, 0, 0], [2.1] + 5 * [0] + [81.0] + 3 * [0],
    ...                             [1.0] + 5 * [0] + [78.0] + 3 * [0]]))
    >>> [(row["from"], row["to"], row["predicted"], row["held"]) for row in one.rows()]
    [(0.5, 0.55, 0.525, 0.25), (0.8, 0.85, 0.81, 0.78)]
    """

    sums: Floats

    def rows(self, *, at_least: float = 0.0) -> list[dict[str, float]]:
        """For each bin with comparisons, `at_least` so many: its ends, the mean probability, the share that held.

        `low` and `high` are the 95% interval of that share, as if comparisons were independent.
        """
        made = []
        for number, (count, predicted, held) in enumerate(self.sums.T.tolist()):
            if count <= 0.0 or count < at_least:
                continue
            share = held / count
            low, high = share_interval(share, count)
            ends = (round(0.5 + (number + end) / (2 * N_BINS), 3) for end in (0, 1))
            values = (*ends, count, predicted / count, share, low, high)
            made.append(
                dict(zip(("from", "to", "comparisons", "predicted", "held", "low", "high"), values, strict=True))
            )
        return made

    def __add__(self, other: Predictions) -> Predictions:
        return Predictions(self.sums + other.sums)


@dataclass(frozen=True, eq=False)
class Reliability:
    """How orders turned out that a ranker had thought probable: in clicks, each predicted before it was learned from.

    `all` are all comparisons that clicks made, `first` those between documents that were never learned from before.
    `grades`, of simulations, are the orders of all candidates of different grades in some rounds, and whether they are
    right by the grades. Clicks may fall short of that: a noisy click contradicts right orders more often than wrong
    ones.
    """

    all: Predictions
    first: Predictions
    grades: Predictions | None = None

    def in_words(self) -> str:
        """What it says of the most probable orders that were compared often enough.

        >>> sums = np.zeros((3, N_BINS))
        >>> Reliability(Predictions(sums), Predictions(sums)).in_words()
        'Too few comparisons to tell yet'
        >>> sums[:, 6] = 100.0, 81.0, 78.0
        >>> Reliability(Predictions(sums), Predictions(sums)).in_words()
        'Of orders that the ranker thought 81% sure, 78% were borne out by clicks'
        """
        told = self.all.rows(at_least=TELLING)
        if not told:
            return "Too few comparisons to tell yet"
        last = told[-1]
        sure, held = f"{last['predicted']:.0%}", f"{last['held']:.0%}"
        words = f"Of orders that the ranker thought {sure} sure, {held} were borne out by clicks"
        right = [] if self.grades is None else [row for row in self.grades.rows() if row["from"] == last["from"]]
        return words + (f", and {right[0]['held']:.0%} are right by the grades" if right else "")

    def summary(self) -> dict[str, list[list[float]] | None]:
        """As plain data, which `from_summary` reads."""
        parts = {"all": self.all, "first": self.first, "grades": self.grades}
        return {name: None if part is None else part.sums.tolist() for name, part in parts.items()}


def from_summary(summary: Mapping[str, Any]) -> Reliability:
    """The record that `Reliability.summary` gave."""
    parts = {name: None if sums is None else Predictions(np.array(sums)) for name, sums in summary.items()}
    return Reliability(**parts)  # type: ignore[arg-type]


def pooled(several: Iterable[Reliability]) -> Reliability:
    """Of several runs together; at least one."""
    first, *others = several
    everything, new, grades = first.all, first.first, first.grades
    for each in others:
        everything, new = everything + each.all, new + each.first
        grades = None if grades is None or each.grades is None else grades + each.grades
    return Reliability(everything, new, grades)
