"""Online NDCG against unfairness, a line for each fair ranker, through the runs of its sweep.

Between two neighbouring points of a line, NDCG is interpolated linearly over the logarithm of unfairness; beyond its
ends nothing is extrapolated. What a ranker has at less unfairness it has at more unfairness too, so that a line goes on
level to the right; to the left of its first point the ranker does not get.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairexp.arrays import Floats
from fairexp.lab.experiments.paper.results import Results
from fairexp.lab.experiments.plan.sweeps import sweeps
from fairexp.measures import FINAL_UF, IMPACT_UF, ITEM_UF, LIST_UF, MAX_UF, MEAN_UF, ONLINE_NDCG, Measure
from fairexp.registry import classes_of
from fairexp.statistics import Effect, Pair, Shared, effect_over, independent

MEASURED = (MAX_UF, MEAN_UF, FINAL_UF, LIST_UF, IMPACT_UF, ITEM_UF)
"""What lines are drawn over: unfairness in total, and what some rivals are fair to in its place."""
LEAST = 1e-6
"""Unfairness below this counts as this much, for its logarithm."""


@dataclass(frozen=True)
class Point:
    """A ranker with one value of its trade-off parameter (None: it was not swept): measures by (seed, fold)."""

    ranker: str
    value: float | None
    online: Mapping[Pair, float]
    unfairness: Mapping[Pair, float]
    shared: Shared = independent
    """What the folds of its setting have in common."""

    @cached_property
    def quality(self) -> Effect:
        """Online NDCG with its interval."""
        return effect_over(self.online, self.shared)

    @cached_property
    def gap(self) -> Effect:
        """Unfairness with its interval."""
        return effect_over(self.unfairness, self.shared)

    @property
    def level(self) -> float:
        """The logarithm of mean unfairness."""
        return log_level(self.gap.mean)

    @cached_property
    def off_level(self) -> Mapping[Pair, float]:
        """How far each pair moves `level`, to first order: 0 in the mean, with the spread that `level` has."""
        mean = self.gap.mean
        return {pair: gap / mean - 1.0 if mean > LEAST else 0.0 for pair, gap in self.unfairness.items()}


@dataclass(frozen=True)
class Line:
    """All points of a ranker; its `frontier` are those that no other of them beats on both counts, fairest first."""

    ranker: str
    points: Sequence[Point]

    @cached_property
    def frontier(self) -> list[Point]:
        kept: list[Point] = []
        for point in sorted(self.points, key=lambda one: (one.level, -one.quality.mean)):
            if not kept or point.quality.mean > kept[-1].quality.mean:
                kept.append(point)
        return kept

    def at(self, level: float, off_level: Mapping[Pair, float] | None = None) -> dict[Pair, float] | None:
        """Online NDCG by pair at a `level` of unfairness, or less; None where the ranker does not get as low.

        The weights of the two neighbours are those of the means, the same for every pair. Levels are measured too:
        each pair is moved along the line by how far it is off in unfairness at the neighbours, and by `off_level` at
        the level asked for. That leaves the mean where it is, and gives it the spread that it has (delta method).
        """
        low = [point for point in self.frontier if point.level <= level]
        if not low:
            return None
        left, right = low[-1], next((point for point in self.frontier if point.level > level), None)
        if right is None:
            return dict(left.online)
        slope = (right.quality.mean - left.quality.mean) / (right.level - left.level)
        share = (level - left.level) / (right.level - left.level)
        asked = off_level or {}

        def value(pair: Pair) -> float:
            ends = ((1 - share, left), (share, right))
            own = sum(weight * (end.online[pair] - slope * end.off_level.get(pair, 0.0)) for weight, end in ends)
            return own + slope * asked.get(pair, 0.0)

        return {pair: value(pair) for pair in left.online if pair in right.online}

    def heights(self, levels: Floats) -> Floats:
        """Mean online NDCG at each of the `levels` (n,), less than any where the ranker does not get as low."""
        own = [point.level for point in self.frontier]
        return np.interp(levels, own, [point.quality.mean for point in self.frontier], left=-np.inf)


def log_level(unfairness: float) -> float:
    """Where unfairness lies on the axis that is interpolated over."""
    return math.log(max(unfairness, LEAST))


def lines_of(results: Results, setting: str, measure: Measure) -> list[Line]:
    """The line of every fair ranker in a setting, the reference first; one that was not swept has a single point."""
    swept = sweeps(results.experiment)
    found = []
    for ranker in fair_rankers(results):
        points = []
        values: Sequence[float | None] = results.values_swept(ranker) if ranker in swept else [None]
        for value in values:
            online, gap = (_measured(results, setting, ranker, value, one) for one in (ONLINE_NDCG, measure))
            if online and gap:
                points.append(Point(ranker, value, online, gap, results.shared(setting, ONLINE_NDCG)))
        if points:
            found.append(Line(ranker, points))
    return found


def fair_rankers(results: Results) -> list[str]:
    """The labels of rankers that weigh fairness against relevance, the one that others are judged against first."""
    specs = results.experiment.rankers
    fair = [label for label, spec in specs.items() if classes_of(spec.ranker)[0].trade_off is not None]
    return sorted(fair, key=lambda label: label != results.fair)


def unfair_points(results: Results, setting: str, measure: Measure) -> list[Point]:
    """The rankers that know no fairness, for orientation."""
    fair = fair_rankers(results)
    found = []
    for ranker in results.rankers:
        online, gap = (_measured(results, setting, ranker, None, one) for one in (ONLINE_NDCG, measure))
        if ranker not in fair and online and gap:
            found.append(Point(ranker, None, online, gap, results.shared(setting, ONLINE_NDCG)))
    return found


def swept_settings(results: Results) -> list[str]:
    """The settings in which some ranker was swept."""
    known = {played.setting for _, played in results.sweep}
    return [setting for setting in results.settings if setting in known]


def own_measure(results: Results, ranker: str) -> Measure | None:
    """The measure of what a ranker is fair to, as its class says."""
    return classes_of(results.experiment.rankers[ranker].ranker)[0].own_measure


def _measured(
    results: Results, setting: str, ranker: str, value: float | None, measure: Measure
) -> Mapping[Pair, float]:
    if value is None:
        return results.values(setting, ranker, measure)
    return results.swept(setting, value, measure, ranker=ranker)
