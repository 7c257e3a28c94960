"""The bandit rankers: their contract, known values, and what each does with one click."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from fairexp import FairExp, Query
from fairexp.checks import check_ranker
from fairexp.rankers import (
    C3UCB,
    RANKERS,
    BatchRank,
    BubbleRank,
    CascadeLinUCB,
    CascadeUCB1,
    DcmKLUCB,
    RankedBandits,
    RecurRank,
    TopRank,
    UniRank,
)
from fairexp.rankers.bandits.batchrank import splits
from fairexp.rankers.bandits.cascade_ucb import OBSERVED, n_examined
from fairexp.rankers.bandits.recurrank import pieces
from fairexp.registry import ranker_names
from fairexp.remap import Remap

HOSTS = ["batchrank", "bubblerank", "c3-ucb", "cascade-kl-ucb", "cascade-linucb", "cascade-ucb1", "dcm-kl-ucb"]
HOSTS += ["rba", "recurrank", "toprank", "unirank"]


def query(n, *, query_id="q", groups=None, n_features=1):
    features = np.zeros((n, n_features))
    return Query(features=features, groups=groups, query_id=query_id, document_ids=np.arange(n))


def test_the_page_on_rankers_names_every_one_and_its_code_runs():
    page = (Path(__file__).resolve().parents[2] / "docs" / "rankers.md").read_text()
    assert all(f"`{name}`" in page for name in RANKERS)
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "rankers.md", "exec"), {})


def test_all_but_ranked_bandits_are_hosts():
    assert [name for name in HOSTS if f"fairexp-{name}" not in ranker_names()] == ["rba"]


@pytest.mark.parametrize("cls", [RankedBandits, DcmKLUCB])
def test_their_variants_keep_it_too(cls):
    options = {"bandit": "ucb1"} if cls is RankedBandits else {"observe": "last_click"}
    check_ranker(lambda seed: cls(5, length=6, seed=seed, **options), rounds=72)


@pytest.mark.parametrize(
    ("cls", "horizon", "n_wins"),
    [
        (TopRank, 10**3, 20),
        (TopRank, 10**5, 29),
        (BubbleRank, 10**3, 111),
        (BubbleRank, 10**4, 148),
        (BubbleRank, 10**5, 185),
        (UniRank, 10**4, 14),
    ],
)
def test_how_many_duels_in_a_row_make_an_order_certain(cls, horizon, n_wins):
    ranker = cls(1, length=2, horizon=horizon, seed=0)
    won = 0
    while not ranker.queries.look("q", [0, 1])[0]["better"].any():
        ranking = ranker.rank(query(2))
        was_duel = ranking.belief.classes[0] == ranking.belief.classes[1]
        ranker.update(ranking, ranking.shown == 1)
        won += was_duel
    assert won == n_wins
    assert ranker.queries.records["q"].tables["better"].tolist() == [[False, False], [True, False]]


def test_cascades_count_what_was_examined_only():
    ranker = CascadeUCB1(1, length=4, seed=0)
    ranking = ranker.rank(query(5))
    ranker.update(ranking, [False, True, False, True])
    tables = ranker.queries.records["q"].tables
    assert tables["views"][ranking.shown].tolist() == [1, 1, 0, 0]
    assert tables["clicks"][ranking.shown].tolist() == [0, 1, 0, 0]
    assert set(ranker.rank(query(5)).shown[:3]) == set(range(5)) - set(ranking.shown[:2])


def test_the_prefix_to_the_last_click_is_biased_upward_and_that_to_the_first_is_not():
    """Two documents of rate 1/2 and users who never leave: in the second place it is taken for 2/3."""
    clicks = np.random.default_rng(0).random((20_000, 2)) < 0.5
    rates = {}
    for observe in OBSERVED:
        examined = np.arange(2) < np.array([n_examined(row, observe) for row in clicks])[:, None]
        rates[observe] = (clicks & examined).sum(axis=0) / examined.sum(axis=0)
    assert rates["first_click"] == pytest.approx([0.5, 0.5], abs=0.02)
    assert rates["all"] == pytest.approx([0.5, 0.5], abs=0.02)
    assert rates["last_click"] == pytest.approx([0.5, 0.667], abs=0.02)


@pytest.mark.parametrize(("observe", "n_views"), [("first_click", 2), ("last_click", 3), ("all", 4)])
def test_what_counts_as_examined_is_what_is_learned(observe, n_views):
    ranker = DcmKLUCB(1, length=4, observe=observe, seed=0)
    ranking = ranker.rank(query(4))
    ranker.update(ranking, [False, True, True, False])
    views = ranker.queries.records["q"].tables["views"]
    assert views[ranking.shown].tolist() == [1.0] * n_views + [0.0] * (4 - n_views)


def linear_query():
    features = np.array([[0.6, 0.1], [0.2, 0.5], [0.3, 0.3]])
    return Query(features=features, query_id="q", document_ids=[0, 1, 2])


@pytest.mark.parametrize("cls", [C3UCB, CascadeLinUCB])
def test_linear_cascades_are_ridge_regression_of_the_examined_prefix(cls):
    options = {"discount": 0.9, "noise": 0.4} if cls is C3UCB else {"noise": 0.7, "width": "theory"}
    ranker, rng = cls(2, length=3, seed=0, horizon=400, **options), np.random.default_rng(1)
    matrix, moment = ranker.regularization * np.eye(2), np.zeros(2)
    for _ in range(100):
        ranking = ranker.rank(linear_query())
        clicks = rng.random(3) < 0.3
        ranker.update(ranking, clicks)
        n = int(np.argmax(clicks)) + 1 if clicks.any() else 3
        weights = 0.9 ** (2 * np.arange(n)) if cls is C3UCB else np.full(n, 0.7**-2)
        rows = ranking.features[:n]
        matrix += (rows * weights[:, None]).T @ rows
        moment += (clicks[:n] * weights) @ rows
    assert ranker.model.weights == pytest.approx(np.linalg.solve(matrix, moment))
    if cls is C3UCB:
        log_ratio = np.log(np.linalg.det(matrix) / (ranker.regularization**2 * (1 / 400)))
        factor = 0.4 * np.sqrt(log_ratio) + np.sqrt(ranker.regularization)
    else:
        factor = np.sqrt(2 * np.log(1 + 400 * 3 / 2) + 2 * np.log(400 * 3)) + 1.0
    assert ranker.width_factor == pytest.approx(factor)
    features = linear_query().features
    width = factor * np.sqrt(np.einsum("ij,jk,ik->i", features, np.linalg.inv(matrix), features))
    belief, rates = ranker.believe(linear_query()), features @ ranker.model.weights
    assert belief.scores == pytest.approx(rates)
    certain = (rates - width)[:, None] > np.minimum(rates + width, 1.0)[None, :]
    assert np.array_equal(belief.certain_order, certain)


def test_toprank_compares_shown_with_unshown_and_no_others_than_its_layer():
    ranker = TopRank(1, length=2, seed=0)
    ranking = ranker.rank(query(4))
    ranker.update(ranking, [True, False])
    lead = ranker.queries.records["q"].tables["lead"]
    clicked = ranking.shown[0]
    assert lead[clicked].sum() == 3 and lead.sum() == 0 and (lead == -lead.T).all()
    tables = ranker.queries.records["q"].tables
    tables["better"][:2, 2:] = True
    before = tables["lead"].copy()
    ranking = ranker.rank(query(4))
    assert set(ranking.shown) == {0, 1}
    ranker.update(ranking, ranking.shown == 0)
    after = ranker.queries.records["q"].tables["lead"]
    assert (after - before)[0].tolist() == [0, 1, 0, 0]


def test_layers_do_not_make_all_orders_between_them_certain():
    ranker = TopRank(1, length=3, seed=0)
    ranker.update(ranker.rank(query(3)), [False] * 3)
    ranker.queries.records["q"].tables["better"][0, 2] = True
    belief = ranker.believe(query(3))
    assert belief.block.tolist() == [0, 0, 1]
    assert belief.certain_order.sum() == 1


def test_under_templates_only_documents_of_one_group_are_compared():
    for cls in (TopRank, BubbleRank, UniRank):
        ranker = cls(1, length=4, seed=0)
        ranker.templated = True
        for number in range(60):
            ranking = ranker.rank(query(4, groups=[0, 1, 0, 1]))
            ranker.update(ranking, np.arange(4) == number % 4)
        duels = ranker.queries.records["q"].tables["duels"]
        assert duels[0, 2] > 0 and duels[1, 3] > 0, cls
        assert duels[:, :][np.ix_([0, 2], [1, 3])].sum() == 0, cls


def test_bubblerank_starts_from_the_order_given_and_strays_by_neighbours_only():
    ranker = BubbleRank(1, length=6, seed=0)
    for number in range(200):
        ranking = ranker.rank(query(6))
        ranker.update(ranking, np.arange(6) == number % 6)
        moved = ranking.shown - np.arange(6)
        assert np.abs(moved).max() <= 1 and (moved != 0).sum() % 2 == 0
    with_a_late_one = Query(np.zeros((7, 1)), query_id="q", document_ids=[6, *range(6)])
    assert ranker.rank(with_a_late_one, length=5).shown.max() <= 6
    assert ranker.queries.records["q"].tables["place"].tolist() == [1, 2, 3, 4, 5, 6, 7]


def test_batchrank_counts_the_least_shown_only_and_evenly():
    ranker, rng = BatchRank(1, length=2, seed=0), np.random.default_rng(0)
    for _ in range(100):
        ranking = ranker.rank(query(5))
        ranker.update(ranking, rng.random(2) < 0.5)
        counts = ranker.queries.records["q"].tables["counts"]
        assert counts.max() - counts.min() <= 1
    assert counts.sum() == 33 * 5 + 2  # two, two and the one that is left: three rankings count each document once


def test_batches_split_drop_or_go_on():
    far = splits(np.array([0.6, 0.1, 0.7, 0.2]), np.array([0.8, 0.3, 0.9, 0.5]), 3)
    assert far[1] == 2 and far[0].tolist() == [
        [False, True, False, True],
        [False] * 4,
        [False, True, False, True],
        [False] * 4,
    ]
    dropped, n_above = splits(np.array([0.5, 0.4, 0.0]), np.array([0.9, 0.8, 0.3]), 2)
    assert n_above == 0 and np.argwhere(dropped).tolist() == [[0, 2], [1, 2]]
    nothing, n_above = splits(np.zeros(3), np.ones(3), 3)
    assert n_above == 0 and not nothing.any()


def test_a_full_batch_goes_on_to_the_next_stage():
    ranker, rng = BatchRank(1, length=2, horizon=20, seed=0), np.random.default_rng(0)
    for _ in range(ranker.needed(0)):
        ranking = ranker.rank(query(2))
        ranker.update(ranking, rng.random(2) < 0.5)
    assert ranker.queries.records["q"].tables["stage"].tolist() == [1, 1]
    assert not ranker.queries.records["q"].tables["counts"].any()


def test_a_ranked_bandit_learns_of_its_own_proposal_and_of_the_first_click():
    ranker = RankedBandits(1, length=3, bandit="ucb1", seed=3)
    for _ in range(60):
        ranking = ranker.rank(query(3))
        before = {name: table.copy() for name, table in ranker.queries.records["q"].tables.items()}
        ranker.update(ranking, [False, True, True])
        after = ranker.queries.records["q"].tables
        proposed = ranking.memory["proposed"]
        assert (after["counts"] - before["counts"])[proposed, [0, 1, 2]].tolist() == [1, 1, 1]
        gained = (after["gains"] - before["gains"]).sum(axis=0)
        assert gained.tolist() == [0, float(ranking.shown[1] == proposed[1]), 0]


def test_exp3_weighs_a_gain_by_its_chance():
    ranker = RankedBandits(1, length=1, horizon=50, seed=1)
    gamma = np.sqrt(3 * np.log(3) / ((np.e - 1) * 50))
    ranking = ranker.rank(query(3))
    assert ranker.mixing(3) == pytest.approx(gamma) and ranking.memory["chances"][0] == pytest.approx(1 / 3)
    ranker.update(ranking, [True])
    gains = ranker.queries.records["q"].tables["gains"][:, 0]
    assert gains[ranking.shown[0]] == pytest.approx(gamma) and gains.sum() == pytest.approx(gamma)
    weights = np.exp(gains)
    chances = (1 - gamma) * weights / weights.sum() + gamma / 3
    ranking = ranker.rank(query(3))
    assert ranking.memory["chances"][0] == pytest.approx(chances[ranking.shown[0]])


def test_recurrank_pieces_tile_the_positions():
    assert pieces(np.array([0.9, 0.8, 0.2, 0.1, -0.4]), 3, 0.5) == ([2], 4)
    assert pieces(np.array([0.9, 0.1]), 2, 0.5) == ([1], 2)
    assert pieces(np.array([0.9, 0.3, 0.2]), 1, 0.5) == ([], 1)
    assert pieces(np.array([0.9, 0.8, 0.7]), 2, 0.5) == ([], 3)


def test_recurrank_tries_in_first_positions_exactly_what_the_design_asks_for():
    features = np.random.default_rng(0).random((6, 2))
    ranker = RecurRank(2, length=3, horizon=100, seed=0)
    asked = Query(features, query_id="q", document_ids=np.arange(6))
    tried, quota = np.zeros(6), None
    for _ in range(1000):
        ranking = ranker.rank(asked)
        tables = ranker.queries.records["q"].tables
        if tables["phase"].max() > 1:
            break
        quota = tables["quota"].copy() if quota is None else quota
        tried[ranking.shown[0]] += 1
        ranker.update(ranking, [True, False, False])
    assert (tried == quota).all() and 0 < quota.sum() <= ranker.budget(1, 6) * 2 + 6


def test_a_document_that_joins_starts_a_later_batch_anew():
    ranker, rng = BatchRank(1, length=2, horizon=20, seed=0), np.random.default_rng(0)
    while not ranker.queries.records or not ranker.queries.records["q"].tables["stage"].any():
        ranking = ranker.rank(query(2))
        ranker.update(ranking, rng.random(2) < 0.5)
    waiting = ranker.rank(query(2))
    ranker.rank(query(3))
    tables = ranker.queries.records["q"].tables
    assert tables["stage"].tolist() == [0, 0, 0] and len(set(tables["batch"].tolist())) == 1
    ranker.update(waiting, [True, True])  # was of the batch before
    assert not tables["counts"].any()


def test_a_document_that_joins_starts_the_last_phase_of_recurrank_anew():
    features = np.random.default_rng(0).random((4, 2))
    ranker = RecurRank(2, length=2, seed=0)
    for _ in range(5):
        ranking = ranker.rank(Query(features[:3], query_id="q", document_ids=[0, 1, 2]))
        ranker.update(ranking, [True, False])
    assert ranker.queries.records["q"].tables["counts"].sum() == 5
    ranker.rank(Query(features, query_id="q", document_ids=[0, 1, 2, 3]))
    tables = ranker.queries.records["q"].tables
    assert tables["counts"].sum() == 0 and tables["phase"].tolist() == [1, 1, 1, 1]
    assert tables["first"].tolist() == [1, 1, 1, 1] and tables["place"][3] == tables["place"].max()


@pytest.mark.parametrize("cls", [BatchRank, RecurRank])
def test_counts_from_before_templates_are_not_mixed_with_those_under_them(cls):
    plain = cls(1, length=2, seed=0)
    for _ in range(7):
        plain.update(plain.rank(query(3)), [True, False])
    fair = FairExp(cls(1, length=2), tolerance=9.0, beta=1.0)
    groups = ["a", "b"]
    fair.take_over(plain, Remap.by_name(["x"], before=["x"], groups=groups, groups_before=groups))
    assert plain.queries.records["q"].tables["counts"].any()
    assert not fair.host.queries.records["q"].tables["counts"].any()


def test_toprank_keeps_what_it_knew_inside_fairexp():
    plain = TopRank(1, length=2, horizon=100, seed=0)
    for _ in range(100):
        ranking = plain.rank(query(3))
        plain.update(ranking, ranking.shown == 1)
    fair = FairExp(TopRank(1, length=2), tolerance=9.0, beta=1.0)
    groups = ["a", "b"]
    fair.take_over(plain, Remap.by_name(["x"], before=["x"], groups=groups, groups_before=groups))
    assert fair.rank(query(3, groups=[0, 1, 0])).shown[0] == 1
