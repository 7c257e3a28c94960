"""FARA: quotas solve the published program, lists spend them from the top down, plans are kept and used up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp import Query
from fairexp.kernels.baselines.quotas import RIDGE, quotas, vertical_lists
from fairexp.rankers import FARA
from fairexp.rankers.baselines.fara import USED
from fairexp.rankers.baselines.mcfair import unfairness
from tests.rankers.baselines.world import CURVE, LENGTH, World
from tests.reference.rivals import plain_vertical_lists


def cost(x, exposure, merit):
    """The published objective: unfairness of exposure after x, up to constants, with a little ridge."""
    matrix = (merit @ merit + RIDGE) * np.eye(len(x)) - np.outer(merit, merit)
    return 0.5 * x @ matrix @ x + (exposure * (merit @ merit) - merit * (exposure @ merit)) @ x


@st.composite
def programs(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, k = draw(st.integers(2, 12)), draw(st.integers(1, 5))
    k = min(k, m)
    curve = 1.0 / np.arange(1, k + 1)
    exposure, merit = rng.random(m) * draw(st.sampled_from([0.0, 1.0, 50.0])), rng.random(m) + 0.01
    best = curve @ np.sort(merit)[::-1][:k]
    return exposure, merit, 20.0, 20.0 * curve.sum(), draw(st.sampled_from([0.0, 0.7, 0.95, 1.0])) * 20.0 * best


@given(programs())
@settings(max_examples=150, deadline=None)
def test_no_feasible_exchange_lowers_the_cost(program):
    """The program is convex: where no step to another feasible point helps, none is better."""
    exposure, merit, most, total, floor = program
    x = quotas(exposure, merit, np.zeros(len(merit)), most, total, floor)
    scale = 1e-6 * (1.0 + total)
    assert x.sum() == pytest.approx(total) and x.min() >= 0.0 and x.max() <= most
    assert merit @ x >= floor - scale
    rng = np.random.default_rng(0)
    found = cost(x, exposure, merit)
    for _ in range(200):
        other = rng.dirichlet(np.full(len(x), rng.choice([0.2, 1.0, 5.0]))) * total
        towards = x + rng.choice([1e-3, 0.1, 1.0]) * (other - x)
        if towards.max() <= most and merit @ towards >= floor:
            assert cost(towards, exposure, merit) >= found - scale * (1.0 + abs(found))


def test_quotas_bring_exposure_to_merit_where_they_can():
    exposure, merit = np.array([3.0, 0.0, 1.0]), np.array([0.8, 0.8, 0.4])
    x = quotas(exposure, merit, np.zeros(3), 1e3, 600.0, 0.0)
    assert unfairness((exposure + x) / 604.0, merit) < 1e-6 < unfairness(exposure / 4.0, merit)


def test_a_floor_that_only_the_best_lists_meet_gives_the_best_lists():
    merit = np.array([0.9, 0.6, 0.3, 0.1])
    curve = np.array([1.0, 0.5])
    x = quotas(np.zeros(4), merit, np.zeros(4), 10.0, 15.0, 10.0 * (0.9 + 0.3))
    assert x == pytest.approx([10.0, 5.0, 0.0, 0.0], abs=1e-6)
    lists = vertical_lists(x, np.argsort(-merit), curve, 10, True)
    assert (lists == [0, 1]).all()


@pytest.mark.parametrize("once", [True, False])
def test_lists_are_those_of_the_plain_rule(once):
    rng = np.random.default_rng(1)
    for _ in range(30):
        m, k = int(rng.integers(3, 9)), 3
        curve = 1.0 / np.arange(1, k + 1)
        quota = rng.dirichlet(np.ones(m)) * 12 * curve.sum()
        order = rng.permutation(m)
        lists = vertical_lists(quota, order, curve, 12, once)
        assert lists.tolist() == plain_vertical_lists(quota, order, curve, 12, once)
        assert not once or all(len(set(row)) == k for row in lists.tolist())


def test_a_plan_of_groups_lasts_for_its_sessions_and_spends_its_quotas():
    ranker = FARA(6, length=LENGTH, merit=(1.0, 1.0), sessions=20, seed=0)
    world = World()
    world.serve(ranker, 19)
    assert (ranker._plan[:, 0] != USED).sum() == 1
    world.serve(ranker, 1)
    assert not (ranker._plan != USED).any()
    assert abs(ranker.spent[0] - ranker.spent[1]) <= CURVE[0]


def test_no_loss_leaves_every_group_what_relevance_gives_it():
    """Two groups, one always better: with a loss of 0 it keeps all, with 0.25 three quarters, with 1 its half."""
    query = Query(features=[[0.9], [0.9], [0.1], [0.1]], groups=[0, 0, 1, 1])
    shares = {}
    for loss in (0.0, 0.25, 1.0):
        ranker = FARA(1, length=2, merit=(1.0, 1.0), sessions=50, loss=loss, seed=0)
        ranker._relevance.weights = np.ones(1)
        for _ in range(100):
            ranker.rank(query)
        shares[loss] = ranker.spent[0] / ranker.spent.sum()
    assert shares == pytest.approx({0.0: 1.0, 0.25: 0.75, 1.0: 0.5}, abs=0.01)


def test_a_planned_document_that_has_gone_leaves_its_place_to_the_best():
    ranker = FARA(1, length=2, level="item", sessions=4, loss=0.0, seed=0)
    ranker._relevance.weights = np.ones(1)
    features = np.array([[0.9], [0.8], [0.7], [0.1]])
    ranker.rank(Query(features=features, query_id="q", document_ids=["a", "b", "c", "d"]))
    shown = ranker.rank(Query(features=features[1:], query_id="q", document_ids=["b", "c", "d"]))
    assert shown.document_ids.tolist() == ["b", "c"]
