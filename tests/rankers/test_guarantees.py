"""Each bandit ranker under its own click model: its regret grows more slowly than rounds, unlike that of chance."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp import (
    C3UCB,
    BatchRank,
    BubbleRank,
    CascadeKLUCB,
    CascadeLinUCB,
    CascadeUCB1,
    DcmKLUCB,
    RandomRanker,
    RankedBandits,
    RecurRank,
    TopRank,
    UniRank,
)
from fairexp.data import world
from fairexp.users import load_user
from tests.rankers.one_query import growth, serve

ATTRACTION = np.array([0.2, 0.9, 0.1, 0.8, 0.3, 0.15, 0.7, 0.25])

FAR_APART = np.array([0.05, 0.35, 0.65, 0.95])
"""The wrong way round, for the one ranker that starts from the order given."""

CASES = {
    "cascade-ucb1": (lambda: CascadeUCB1(2, length=3, seed=1), "cascade", 1500),
    "cascade-kl-ucb": (lambda: CascadeKLUCB(2, length=3, seed=1), "cascade", 1500),
    "dcm-kl-ucb": (lambda: DcmKLUCB(2, length=3, seed=1), "cascade", 1500),
    "c3-ucb": (lambda: C3UCB(2, length=3, seed=1), "cascade", 1500),
    "cascade-linucb": (lambda: CascadeLinUCB(2, length=3, seed=1, width="theory"), "cascade", 1500),
    "rba": (lambda: RankedBandits(2, length=3, seed=1, horizon=4000), "cascade", 4000),
    "toprank": (lambda: TopRank(2, length=3, seed=1, horizon=3000), "positions", 3000),
    "unirank": (lambda: UniRank(2, length=3, seed=1, horizon=3000), "positions", 3000),
    "bubblerank": (lambda: BubbleRank(2, length=4, seed=1, horizon=6000), "positions", 6000),
    "batchrank": (lambda: BatchRank(2, length=3, seed=1, horizon=6000), "positions", 6000),
    "recurrank": (lambda: RecurRank(2, length=3, seed=1, horizon=3000), "positions", 3000),
}


@pytest.mark.parametrize("name", CASES)
def test_regret_grows_more_slowly_than_rounds(name):
    make, model, n_rounds = CASES[name]
    ranker, attraction = make(), FAR_APART if name == "bubblerank" else ATTRACTION
    features = np.column_stack([attraction, 1.0 - attraction])
    lacked, _ = serve(ranker, attraction, n_rounds, model=model, features=features)
    assert growth(lacked) < 0.8
    chance, _ = serve(RandomRanker(2, length=ranker.length, seed=1), attraction, n_rounds, model=model)
    assert growth(chance) > 0.95


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
