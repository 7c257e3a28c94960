"""Who has more online NDCG at the same unfairness, and which part of the frontier each ranker holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from fairexp.lab.experiments.frontier.lines import MEASURED, Line, Point, lines_of, own_measure, swept_settings
from fairexp.lab.experiments.paper.results import Results
from fairexp.measures import FINAL_UF, MAX_UF, MEAN_UF, Measure
from fairexp.statistics import Effect, effect_over, holm, paired_difference

AHEAD, BEHIND, OPEN, NOT_REACHED = "ahead", "behind", "undecided", "not reached"
LEVELS = 2001
"""Levels of unfairness, evenly spaced on the logarithmic scale, at which the frontier is looked at."""
SURE = 0.05


@dataclass(frozen=True)
class Verdict:
    """The reference against one point of a rival's frontier, at the rival's unfairness.

    `reference` is the NDCG that the reference has there and `difference` what it has more of, pair by pair; None where
    it does not get as low. `p` is corrected after Holm for the points of that rival.
    """

    setting: str
    measure: Measure
    point: Point
    reference: float | None
    difference: Effect | None
    p: float | None

    @property
    def rival(self) -> str:
        return self.point.ranker

    @property
    def verdict(self) -> str:
        if self.difference is None:
            return NOT_REACHED
        if self.p is None or self.p >= SURE:
            return OPEN
        return AHEAD if self.difference.mean > 0 else BEHIND


@dataclass(frozen=True)
class Held:
    """The part of the frontier that a ranker holds: its share of the levels, and from where to where."""

    setting: str
    measure: Measure
    ranker: str
    share: float
    spans: list[tuple[float, float]]


@dataclass(frozen=True)
class Frontier:
    """All lines over one measure in one setting, and what comes of them."""

    setting: str
    measure: Measure
    lines: list[Line]
    verdicts: list[Verdict]
    held: list[Held]


def frontiers(results: Results) -> list[Frontier]:
    """Every setting that was swept and every measure in which at least two rankers have a line."""
    found = []
    for setting in swept_settings(results):
        for measure in MEASURED:
            lines = lines_of(results, setting, measure)
            if lines:
                verdicts, held = judged(setting, measure, lines), holders(setting, measure, lines)
                found.append(Frontier(setting, measure, lines, verdicts, held))
    return found


def judged(setting: str, measure: Measure, lines: Sequence[Line]) -> list[Verdict]:
    """The first line against every point of the frontiers of the others."""
    reference, *rivals = lines
    found = []
    for rival in rivals:
        own = [(point, reference.at(point.level, point.off_level)) for point in rival.frontier]
        effects = [
            None if values is None else paired_difference(values, point.online, point.shared) for point, values in own
        ]
        corrected = holm([None if one is None else one.p for one in effects])
        for (point, values), effect, p in zip(own, effects, corrected, strict=True):
            height = effect_over(values).mean if values else None
            found.append(Verdict(setting, measure, point, height, effect, p))
    return found


def holders(setting: str, measure: Measure, lines: Sequence[Line]) -> list[Held]:
    """Who has the most NDCG, by the means, at each level between the fairest and the least fair of all points."""
    ends = [point.level for line in lines for point in line.frontier]
    levels = np.linspace(min(ends), max(ends), LEVELS if max(ends) > min(ends) else 1)
    best = np.argmax([line.heights(levels) for line in lines], axis=0).tolist()
    spans: dict[int, list[tuple[float, float]]] = {}
    for number, group in groupby(range(len(levels)), key=lambda i: best[i]):
        own = list(group)
        spans.setdefault(number, []).append((math.exp(levels[own[0]]), math.exp(levels[own[-1]])))
    return [
        Held(setting, measure, line.ranker, best.count(number) / len(best), spans.get(number, []))
        for number, line in enumerate(lines)
    ]


def counts(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """How many verdicts there are of each kind, and of the undecided how many have the reference above."""
    kinds = [one.verdict for one in verdicts]
    return {kind: kinds.count(kind) for kind in (AHEAD, BEHIND, OPEN, NOT_REACHED)}


def above(verdicts: Sequence[Verdict]) -> int:
    """At how many points the reference's mean is no lower, sure or not."""
    return sum(one.difference is not None and one.difference.mean >= 0 for one in verdicts)


def told_measures(results: Results, rival: str) -> list[Measure]:
    """What a rival is judged by: unfairness in total, and what it is fair to itself."""
    own = own_measure(results, rival)
    return [MAX_UF, MEAN_UF, FINAL_UF, *([own] if own not in (MAX_UF, MEAN_UF, FINAL_UF, None) else [])]
