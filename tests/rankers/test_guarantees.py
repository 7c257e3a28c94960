"""Each ranker under its own click model: its regret grows more slowly than rounds, unlike that of chance."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from fairexp import RandomRanker
from fairexp.lab.data import world
from fairexp.lab.users import load_user
from fairexp.ranker import Host
from fairexp.rankers import RANKERS, BatchRank, BubbleRank, RecurRank, TopRank
from fairexp.registry import ranker_class
from tests.rankers.one_query import growth, serve
from tests.rankers.own_models import CASES, DECADES, HOSTS, LINEAR, RUNS, SLOW, described, is_control, tell

ATTRACTION = np.array([0.2, 0.9, 0.1, 0.8, 0.3, 0.15, 0.7, 0.25])

FAR_APART = np.array([0.05, 0.35, 0.65, 0.95])
"""The wrong way round, for the one ranker that starts from the order given."""


def test_every_host_that_learns_is_tried():
    hosts = {name for name in RANKERS if issubclass(ranker_class(name), Host) and not is_control(name)}
    assert hosts <= CASES.keys() and set(HOSTS) == hosts


@pytest.mark.parametrize("name", CASES)
def test_regret_grows_more_slowly_than_rounds(name):
    case, attraction = CASES[name], FAR_APART if name == "bubblerank" else ATTRACTION
    length = 4 if name == "bubblerank" else 3
    slopes, of_chance = [], []
    for seed in range(1, RUNS + 1):
        ranker = case.ranker(name, seed, length=length)
        lacked, _ = serve(
            ranker, attraction, case.rounds, model=case.model, features=described(attraction), seed=seed - 1
        )
        slopes.append(growth(lacked, DECADES))
        of_chance.append(growth_of_chance(tuple(attraction), length, case.model, case.rounds, seed))
    tell(name, case, slopes, of_chance)
    assert max(slopes) < SLOW and min(of_chance) > LINEAR


@cache
def growth_of_chance(attraction, length, model, n_rounds, seed):
    lacked, _ = serve(RandomRanker(2, length=length, seed=seed), attraction, n_rounds, model=model, seed=seed - 1)
    return growth(lacked, DECADES)


def in_first_stage(ranker):
    """Whether the ranker knows no more of its one query than that it is trying everything out."""
    tables = next(iter(ranker.queries.records.values())).tables
    if isinstance(ranker, BatchRank):
        return not tables["stage"].any() and not tables["better"].any()
    if isinstance(ranker, RecurRank):
        return tables["phase"].max() <= 1
    return not tables["better"].any()


@pytest.mark.parametrize("cls", [TopRank, BatchRank, BubbleRank, RecurRank])
def test_a_query_that_comes_a_thousand_times_leaves_the_first_stage_of_the_slowest(cls):
    """In the world of frequent queries, for its smallest query (17 documents, 10 shown) and noisy users."""
    data = world("frequent")
    index = int(np.argmin(np.diff(data.offsets)))
    query, grades, user = data.query(index), data.relevance(index), load_user("informational", seed=1)
    ranker = cls(data.n_features, length=10, horizon=10_000, seed=1)
    ranking, n_rounds = ranker.rank(query), 0
    n_trials = ranking.memory["quota"].sum() if cls is RecurRank else None
    while in_first_stage(ranker) and n_rounds < 1000:
        ranker.update(ranking, user.browse(ranking, grades))
        ranking, n_rounds = ranker.rank(query), n_rounds + 1
    assert query.n_candidates == 17 and not in_first_stage(ranker)
    if cls is TopRank:
        assert n_rounds < 300
    if cls is BatchRank:  # 148 times 10 documents, and in a second ranking the 7 that are left
        assert n_rounds == 148 * 2
    if cls is BubbleRank:
        assert n_rounds > 300  # the slowest of them with users as noisy as these
    if cls is RecurRank:
        assert n_rounds == n_trials > 700
