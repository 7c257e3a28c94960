"""What holds of all rivals: the contract at either level, their own measure, learning, and what they declare."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from fairexp.checks import check_ranker
from fairexp.errors import ArgumentError
from fairexp.rankers import RANKERS
from fairexp.rankers.baselines.mcfair import unfairness
from fairexp.registry import classes_of, construct, keeps_account, ranker_names
from fairexp.remap import Remap
from fairexp.types import Query
from tests.rankers.baselines.world import CURVE, LENGTH, World
from tests.rankers.simulation import CLICK_CHANCE, ndcg, small_world

BY_GROUP = ["fairco", "mcfair", "fara", "offr", "p-mmf", "mmf", "lp-fair", "xquad", "offr-pairrank", "offr-c3-ucb"]
EITHER = ["fairco", "mcfair", "fara", "offr"]
RIVALS = sorted(name for name, path in RANKERS.items() if ".rivals." in path)
OPTIONAL = {"lp-fair": "scipy"}


def make(name, parameters=None, **known):
    if name in OPTIONAL:
        pytest.importorskip(OPTIONAL[name])
    known = {"n_features": 6, "length": LENGTH, "seed": 0, "merit": (1.0, 1.0), "shares": (1.0, 1.0), **known}
    return construct(name, parameters or {}, known=known)


def weight(name, place):
    """The trade-off of a rival at one end of its sweep."""
    trade_off = classes_of(name)[0].trade_off
    return {trade_off.parameter: trade_off.sweep[place]}


@pytest.mark.parametrize(
    ("name", "more"),
    [("fairco", {}), ("fairco", {"balance": "impact"}), ("mcfair", {}), ("fara", {"sessions": 7}), ("offr", {})],
)
def test_the_contract_holds_for_documents_too(name, more):
    options = {"level": "item", "max_documents": 20, **more}
    check_ranker(lambda seed: make(name, options, n_features=5, seed=seed), rounds=150)


@pytest.mark.parametrize("name", [name for name in BY_GROUP if name != "offr-c3-ucb"])
def test_the_contract_holds_with_three_groups_and_estimated_merit(name):
    known = {"n_features": 5, "merit": "estimated", "n_groups": 3, "shares": (1.0, 2.0, 1.0), "window": 32}
    check_ranker(lambda seed: make(name, seed=seed, **known), n_groups=3, rounds=400 if "pairrank" in name else 60)


def test_impact_keeps_the_contract_by_group():
    check_ranker(lambda seed: make("fairco", {"balance": "impact"}, n_features=5, seed=seed), rounds=60)


@pytest.mark.parametrize("name", BY_GROUP)
def test_exposure_follows_merit_at_one_end_and_relevance_at_the_other(name):
    """A gradient with the wrong sign, or an account of the wrong group, would drive the groups apart."""
    shares = {}
    for place in (0, -1):
        ranker, world = make(name, weight(name, place)), World()
        world.serve(ranker, 400)
        shares[place] = ranker.account()[0] / ranker.account().sum()
    assert shares[0] > 0.65, "the better group does not lead where only relevance counts"
    assert abs(shares[-1] - 0.5) < 0.02


@pytest.mark.parametrize("name", [name for name in BY_GROUP if name not in ("xquad",)])
def test_unequal_merits_receive_unequal_exposure(name):
    """Prices have to find their level first, so that P-MMF takes longer."""
    ranker, world = make(name, weight(name, -1), merit=(1.0, 2.0), shares=(1.0, 2.0)), World()
    world.serve(ranker, 1000 if name == "p-mmf" else 400)
    assert ranker.account()[1] / ranker.account()[0] == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("name", EITHER)
def test_documents_of_one_query_come_nearer_to_exposure_by_relevance(name):
    """Of one query, in fixed relevance: unfairness is the published one, and relevance alone leaves much more of it."""
    relevance = np.linspace(0.9, 0.2, 8)
    query = Query(features=np.eye(8), groups=[0] * 8, query_id="q", document_ids=np.arange(8))
    left = {}
    for place in (0, -1):
        options = {**weight(name, place), "level": "item"} | ({"certainty": 0.0} if name == "mcfair" else {})
        ranker = make(name, options, n_features=8)
        ranker._relevance.weights = relevance
        for _ in range(400):
            ranker.rank(query)
        exposure = ranker.queries.records["q"].tables["received"]
        assert exposure.sum() == pytest.approx(400 * CURVE.sum())
        left[place] = unfairness(exposure / exposure.sum(), relevance)
    assert left[-1] < 0.02 * left[0]


@pytest.mark.parametrize("level", ["group", "item"])
def test_fairco_balances_clicks_where_told_to(level):
    """Equal merit, unequal clicks: with "impact" the group that is clicked less is shown more."""
    rates = np.array([0.8, 0.8, 0.2, 0.2])
    query = Query(features=np.eye(4), groups=[0, 0, 1, 1], query_id="q", document_ids=np.arange(4))
    clicked = {}
    for balance in ("exposure", "impact"):
        ranker = make("fairco", {"balance": balance, "control": 1.0, "level": level}, n_features=4, length=2)
        rng, clicks = np.random.default_rng(0), np.zeros(4)
        for _ in range(1500):
            ranking = ranker.rank(query)
            given = rng.random(2) < rates[ranking.shown]
            ranker._relevance.weights = np.zeros(4)
            clicks[ranking.shown] += given
            ranker.update(ranking, given)
            ranker._relevance.weights = np.full(4, 0.5)
        clicked[balance] = clicks[:2].sum() / clicks.sum()
    assert clicked["exposure"] == pytest.approx(0.8, abs=0.03)
    assert clicked["impact"] == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("name", RIVALS)
def test_ndcg_rises_in_a_linear_world(name):
    """With the default trade-off, by the scores that were learned; users look by position and click by grade."""
    features, grades = small_world(3, n_queries=60, n_features=8)
    ranker = make(name, n_features=8, length=10)
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=features.shape[:2])

    def held_out():
        orders = [np.argsort(-ranker.score(x), kind="stable") for x in features]
        return np.nanmean([ndcg(g[order], g) for g, order in zip(grades, orders, strict=True)])

    at = {}
    n_rounds = 400 if name == "lp-fair" else 1200
    for t in range(n_rounds + 1):
        if t in (0, n_rounds):
            at[t] = held_out()
        q = rng.integers(len(features))
        ranking = ranker.rank(Query(features=features[q], groups=groups[q]))
        looks = rng.random(len(ranking)) < 1.0 / np.arange(1, len(ranking) + 1)
        ranker.update(ranking, looks & (rng.random(len(ranking)) < CLICK_CHANCE[grades[q][ranking.shown]]))
    assert at[0] < 0.6 and at[n_rounds] > 0.85


@pytest.mark.parametrize("name", [name for name in ranker_names() if "rivals" in classes_of(name)[0].__module__])
def test_every_rival_declares_its_trade_off_whom_it_is_fair_to_and_what_it_needs(name):
    cls = classes_of(name)[0]
    assert cls.trade_off is not None and cls.fair_to and cls.needs
    assert cls.trade_off.parameter in inspect.signature(cls).parameters
    assert keeps_account(name) == ("group" in cls.fair_to)
    if name.startswith("offr-") and name != "offr-pairrank":
        return  # one host will do
    for value in cls.trade_off.sweep:
        assert getattr(make(name, {cls.trade_off.parameter: value}), cls.trade_off.parameter) == value


@pytest.mark.parametrize("name", RIVALS)
def test_a_trade_off_beyond_its_range_is_refused(name):
    parameter = classes_of(name)[0].trade_off.parameter
    with pytest.raises(ArgumentError, match=f"{parameter}: expected"):
        make(name, {parameter: -0.1})


@pytest.mark.parametrize("name", EITHER)
def test_documents_need_ids(name):
    ranker = make(name, {"level": "item"}, n_features=1)
    with pytest.raises(ArgumentError, match="document_ids"):
        ranker.rank(Query(features=[[1.0]], query_id="q"))
    with pytest.raises(ArgumentError, match=r"level: expected one of 'group', 'item', got 'page'"):
        make(name, {"level": "page"})


def test_the_account_of_one_fair_ranker_goes_over_to_another():
    before = make("fairco")
    World().serve(before, 20)
    same = Remap.of_units(np.ones(6), n_groups=2)
    for name in ("mcfair", "mmf", "p-mmf", "fara", "offr-pairrank"):
        after = make(name).take_over(before, same, model=False)
        assert after.account() == pytest.approx(before.account())
