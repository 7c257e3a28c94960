"""What is measured for rivals' sake, against sums that are written out."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from fairexp.lab.simulation.disparities import Disparities, between_equals
from fairexp.lab.simulation.meter import PlayedRound
from fairexp.measures import IMPACT_UF, ITEM_UF, LIST_UF
from fairexp.rankers.baselines.controls import RandomRanker
from fairexp.types import Query


def played_rounds(n: int) -> list[PlayedRound]:
    rng = np.random.default_rng(3)
    ranker = RandomRanker(2, length=4, seed=1)
    queries = [(Query(rng.random((size, 2)), rng.integers(0, 2, size)), rng.integers(0, 3, size)) for size in (3, 6, 9)]
    rounds = []
    for number in range(1, n + 1):
        index = int(rng.integers(len(queries)))
        ranking = ranker.rank(queries[index][0])
        rounds.append(PlayedRound(number, index, ranking, queries[index][1], rng.random(len(ranking)) < 0.4))
    return rounds


def test_the_three_measures_are_what_their_definitions_say() -> None:
    exposure, shares = 1 / np.arange(1, 5), np.array([1.5, 1.0])
    disparities = Disparities(exposure=exposure, shares=shares)
    gaps, clicks = [], [0.0, 0.0]
    given: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    rounds = played_rounds(60)
    for played in rounds:
        disparities.add(played)
        groups = played.ranking.groups
        assert groups is not None
        own = [sum(exposure[p] for p, group in enumerate(groups) if group == g) for g in (0, 1)]
        gaps.append(abs(own[0] - 1.5 * own[1]))
        for position, group in enumerate(groups):
            clicks[group] += float(played.clicks[position])
        for position, document in enumerate(played.ranking.shown):
            given[played.query][int(document)] += float(exposure[position])
    moved = []
    for played in rounds:
        grades, had = played.relevance, given[played.query]
        off = 0.0
        for document, grade in enumerate(grades):
            equals = [other for other in range(len(grades)) if grades[other] == grade]
            off += abs(had[document] - sum(had[other] for other in equals) / len(equals))
        moved.append(off / 2 / sum(had.values()))
    found = disparities.measures()
    assert found[LIST_UF] == pytest.approx(np.mean(gaps))
    assert found[IMPACT_UF] == pytest.approx(abs(clicks[0] - 1.5 * clicks[1]))
    assert found[ITEM_UF] == pytest.approx(np.mean(moved))


def test_without_groups_or_rounds_there_is_nothing_to_say() -> None:
    assert set(Disparities(exposure=np.ones(3), shares=None).measures().values()) == {None}
    alone = Disparities(exposure=np.ones(4), shares=None)
    alone.add(played_rounds(1)[0])
    assert alone.measures()[LIST_UF] is None and alone.measures()[ITEM_UF] is not None
    assert between_equals(np.zeros(3), np.array([0, 1, 1])) == 0.0
    assert between_equals(np.array([2.0, 1.0]), np.array([1, 0])) == 0.0
