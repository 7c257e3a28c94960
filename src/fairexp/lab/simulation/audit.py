"""Fairness of a run as the field measures it, from what was shown alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.fairness.ledger import amounts_by_group
from fairexp.lab.metrics import (
    awrf,
    expected_exposure,
    exposure_per_merit,
    gini,
    item_disparity,
    largest_ratio,
    max_min_share,
    ndkl,
    target_exposure,
)
from fairexp.lab.simulation.meter import PlayedRound
from fairexp.measures import (
    AWRF,
    DIR,
    DTR,
    EE_D,
    EE_L,
    EE_R,
    FIELD,
    GINI,
    ITEM_DISPARITY,
    MAX_MIN_SHARE,
    NDKL,
    Measure,
    parse_measure,
)

OF_GROUPS = (AWRF, NDKL, DTR, DIR, MAX_MIN_SHARE)
"""Measures that need groups."""

_NOTHING = np.zeros(0)


class _Served:
    """A query as it was served: how often, what exposure (n,) its documents got in all, and their grades (n,)."""

    __slots__ = ("exposure", "groups", "relevance", "times")

    def __init__(self, relevance: Ints, groups: Ints | None) -> None:
        self.times, self.exposure, self.relevance, self.groups = 0, np.zeros(len(relevance)), relevance, groups


class Audit:
    """Takes in rounds, and says what they come to by `measures`, of `fairexp.measures.FIELD`.

    `exposure` (k,) by position and `shares` (G,) are those that unfairness is measured by. Measures of a query are of
    the mean exposure over all its rounds; a run's value is their mean, each query as often as it was served. Measures
    of a list are means over rounds, and those of groups are of all rounds together. Merit is the grade.
    """

    def __init__(self, measures: Sequence[Measure], *, exposure: Floats, shares: Floats | None) -> None:
        self.measures, self._curve, self._shares = tuple(measures), exposure, shares
        self._served: dict[int, _Served] = {}
        self._sums = dict.fromkeys((AWRF, NDKL), 0.0)
        self._n = 0

    def add(self, played: PlayedRound, groups: Ints | None) -> None:
        """Take in a round; `groups` (n,) are those of all candidates of its query."""
        ranking, curve = played.ranking, self._curve[: len(played.ranking)]
        served = self._served.setdefault(played.query, _Served(played.relevance, groups))
        served.times += 1
        served.exposure[ranking.shown] += curve
        self._n += 1
        if self._shares is not None and ranking.groups is not None and len(ranking):
            if AWRF in self.measures:
                self._sums[AWRF] += awrf(ranking.groups, curve, self._shares)
            if NDKL in self.measures:
                self._sums[NDKL] += ndkl(ranking.groups, self._shares)

    def values(self) -> dict[Measure, float | None]:
        """The measures of all rounds so far; None where groups are needed and there are none."""
        return {measure: self._value(measure) for measure in self.measures}

    def _value(self, measure: Measure) -> float | None:
        if self._n == 0 or (measure in OF_GROUPS and self._shares is None):
            return None
        if measure in self._sums:
            return self._sums[measure] / self._n
        if measure in OF_GROUPS:
            return self._of_groups(measure)
        total = sum(served.times * self._of_query(measure, served) for served in self._served.values())
        return total / self._n

    def _of_query(self, measure: Measure, served: _Served) -> float:
        mean = served.exposure / served.times
        if measure is GINI:
            return gini(mean)
        if measure is ITEM_DISPARITY:
            return item_disparity(mean, served.relevance)
        found = expected_exposure(mean, target_exposure(served.relevance, self._curve))
        return {EE_L: found.loss, EE_D: found.disparity, EE_R: found.relevance}[measure]

    def _of_groups(self, measure: Measure) -> float | None:
        assert self._shares is not None
        queries, n_groups = list(self._served.values()), len(self._shares)
        exposure = np.concatenate([_NOTHING, *(each.exposure for each in queries)])
        merit = np.concatenate([_NOTHING, *(each.times * each.relevance for each in queries)])
        groups = np.concatenate([each.groups for each in queries if each.groups is not None])
        if measure is MAX_MIN_SHARE:
            return max_min_share(amounts_by_group(groups, exposure, n_groups), self._shares)
        if measure is DIR:
            exposure = exposure * np.concatenate([_NOTHING, *(each.relevance for each in queries)])
        return largest_ratio(exposure_per_merit(exposure, merit, groups, n_groups=n_groups))


def field_measures(names: Sequence[str]) -> tuple[Measure, ...]:
    """The measures of the field that these names mean; "field" means all.

    >>> field_measures(["Gini", "EE-L"])
    (<Gini>, <EE-L>)
    """
    found: list[Measure] = []
    for name in names:
        chosen = FIELD if name == "field" else (parse_measure(name),)
        if any(measure not in FIELD for measure in chosen):
            known = ", ".join(measure.name for measure in FIELD)
            raise ArgumentError("measure", repr(name), f"field for all, or one of {known}; others are always there")
        found += [measure for measure in chosen if measure not in found]
    return tuple(found)
