"""What can be known of fairness before a run, against enumeration and against runs."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp import FairExp, PairRank
from fairexp.errors import ArgumentError
from fairexp.fairness.exposure import exposure_curve, reachable_gap
from fairexp.fairness.feasibility import coarse_curve, feasibility, least_tolerance, play, remedies
from fairexp.fairness.ledger import Ledger
from fairexp.lab.data import world

CURVE = exposure_curve("reciprocal", 10)


def templates(counts: tuple[int, ...], length: int) -> list[tuple[int, ...]]:
    """Every template that the candidates can fill."""
    shown = min(sum(counts), length)
    every = product(range(len(counts)), repeat=shown)
    return [each for each in every if all(each.count(group) <= n for group, n in enumerate(counts))]


def given_to(template: tuple[int, ...], curve: np.ndarray, n_groups: int) -> np.ndarray:
    return np.bincount(template, weights=curve[: len(template)], minlength=n_groups)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_what_groups_can_get_is_what_their_best_templates_give(data):
    n_groups = data.draw(st.integers(2, 3))
    one = st.tuples(*[st.integers(0, 3)] * n_groups).filter(any)
    counts = data.draw(st.lists(one, min_size=1, max_size=4))
    curve = np.array(data.draw(st.lists(st.floats(0.05, 1.0), min_size=1, max_size=4)))
    shares = np.array(data.draw(st.lists(st.floats(0.1, 3.0), min_size=n_groups, max_size=n_groups)))
    told = feasibility(counts, exposure=curve, shares=shares, tolerance=0.1, rounds=1)
    by_query = [np.array([given_to(each, curve, n_groups) for each in templates(row, len(curve))]) for row in counts]
    total = sum(each[0].sum() for each in by_query)

    def most(groups: tuple[int, ...]) -> float:
        return sum(float(each[:, list(groups)].sum(axis=1).max()) for each in by_query) / total

    assert told.most == pytest.approx([most((group,)) for group in range(n_groups)])
    owed = shares / shares.sum()
    sets = [each for size in range(1, n_groups) for each in combinations(range(n_groups), size)]
    lacks = {each: float(owed[list(each)].sum()) - most(each) for each in sets}
    assert bool(told.short) == (max(lacks.values()) > 2e-9)
    if told.short:
        assert lacks[told.short] == pytest.approx(max(lacks.values()))
        assert told.short_most == pytest.approx(most(told.short))


@pytest.mark.parametrize(("share", "can"), [(0.4, True), (0.48, True), (0.55, False), (0.65, False)])
def test_shares_within_reach_keep_the_gap_bounded_and_others_let_it_grow(share, can):
    counts = np.array([[5, 0], [5, 1], [5, 3]])
    curve, n = exposure_curve("reciprocal", 3), 4000
    shares = np.array([1 - share, share])
    told = feasibility(counts, exposure=curve, shares=shares, tolerance=0.5)
    assert told.most[1] == pytest.approx((0 + 1 + curve.sum()) / (3 * curve.sum()))  # .515
    assert bool(told.short) is not can
    growth = (share - told.most[1]) * curve.sum() / share  # of (w_0 / w_1) E_1 - E_0, each round, at the least
    for seed in range(3):
        gap = play(counts, exposure=curve, shares=shares, tolerance=0.0, ties="fairest", rounds=n, seed=seed)[-1]
        assert gap < 100 if can else gap > 0.8 * n * growth > 100


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 4), st.integers(1, 4), st.integers(0, 1000))
def test_the_fairest_play_takes_the_least_gap_of_all_templates(n_groups, length, seed):
    rng = np.random.default_rng(seed)
    curve, shares = rng.uniform(0.1, 1.0, length), rng.uniform(0.5, 2.0, n_groups)
    counts = np.full((1, n_groups), length)
    gaps = play(counts, exposure=curve, shares=shares, tolerance=0.0, ties="fairest", rounds=5)
    first = min(
        Ledger(shares, given_to(each, curve, n_groups)).largest_gap for each in templates(tuple(counts[0]), length)
    )
    assert gaps[0] == pytest.approx(first)


def test_the_least_tolerance_of_a_curve():
    for beta in (0.7, 1.0, 1.9):
        assert least_tolerance(CURVE, [beta, 1.0]) == reachable_gap(CURVE, [beta, 1.0]).least_tolerance
    assert least_tolerance(np.ones(3), [1, 1, 1]) == 0.0
    assert least_tolerance(np.ones(4), [1, 1, 1]) == pytest.approx(1.0)
    assert least_tolerance(CURVE, np.ones(4)) > 0.1
    assert least_tolerance(CURVE, np.ones(11)) is None


def test_a_coarse_curve_is_told_for_any_number_of_groups():
    assert coarse_curve(CURVE, [1, 1], 0.1) is None
    assert coarse_curve(CURVE, np.ones(4), 0.5) is None
    assert coarse_curve(CURVE, np.ones(4), np.inf) is None
    told = coarse_curve(CURVE, np.ones(4), 0.1)
    assert told is not None and told.startswith("tolerance: 0.1 is below what the fairest lists keep (0.358")
    flat = coarse_curve(np.ones(3), [1, 1], 0.1)
    assert flat is not None and "below half the grid of reachable unfairness (1)" in flat


@pytest.mark.parametrize(("name", "tolerance"), [("yahoo-9", 0.1), ("mslr-inlink", 0.1), ("yahoo-471", 5.0)])
def test_the_forecast_is_what_runs_come_to(name, tolerance):
    """The part of qualified rounds without learning against that of FairExp around PairRank that learns from clicks on
    relevant documents; both means of eight runs, to be within four standard errors of their difference."""
    whole = world(name, n_queries=150)
    few = np.ascontiguousarray(whole.features[:, :20])  # it shall be quick
    data = replace(whole, features=few, blanked=(), feature_names=whole.feature_names[:20])
    rounds, seeds = 250, range(8)
    forecasts = np.array(
        [
            feasibility(
                data.group_counts(), exposure=CURVE, shares=[1, 1], tolerance=tolerance, rounds=rounds, seed=seed
            ).qualified
            for seed in seeds
        ]
    )
    runs = []
    for seed in seeds:
        rng = np.random.default_rng(100 + seed)
        ranker = FairExp(PairRank(n_features=data.n_features, length=10), tolerance=tolerance, seed=seed)
        n_qualified = 0
        for index in rng.integers(data.n_queries, size=rounds):
            ranking = ranker.rank(data.query(int(index)))
            n_qualified += bool(ranking.qualified)
            ranker.update(ranking, data.relevance(int(index))[ranking.shown] > 1)
        runs.append(n_qualified / rounds)
    error = np.sqrt((forecasts.var(ddof=1) + np.var(runs, ddof=1)) / len(seeds))
    assert abs(forecasts.mean() - np.mean(runs)) <= 4 * error + 0.005


def test_nothing_is_said_where_fairness_is_possible():
    told = feasibility([[20, 20]], exposure=CURVE, shares=[1, 1], tolerance=0.1, rounds=200)
    assert told.qualified == 1.0 and told.is_enough and told.notes(["a", "b"]) == []
    assert told.one_group == 0.0 and told.most.tolist() == [1.0, 1.0]


def test_what_is_said_names_groups_and_what_it_takes():
    rare = np.array([[10, 0]] * 3 + [[10, 10]])
    told = feasibility(rare, exposure=CURVE, shares=[1, 1], tolerance=0.1, rounds=300)
    first, second = told.notes(["big", "small"])
    assert "tolerance of 0.1 can be kept in less than 1% of rounds" in first or "about 1%" in first
    assert "75.0% have no 'small'" in first and "'big'" not in first
    assert "'small' can get at most 25.0% of all exposure and is owed 50.0%" in second
    better = remedies(rare, curves=[CURVE, CURVE[:5]], shares=[1, 1], names=["big", "small"], told=told)
    tried = {each.what: each.qualified for each in better}
    assert set(tried) == {"lists of 5", "shares of 0.77 : 0.23", "10 candidates of every group for every query"}
    assert tried["10 candidates of every group for every query"] == 1.0 > tried["lists of 5"]


def test_a_tolerance_that_is_kept_mostly_is_not_called_out_of_reach():
    counts = np.array([[9, 9]] * 39 + [[9, 0]])
    told = feasibility(counts, exposure=CURVE, shares=[1, 1], tolerance=0.1, rounds=400)
    assert told.most_tolerance < 0.1 and 0.95 < told.qualified < 0.99
    first, second = told.notes(["big", "small"])
    assert "about 9" in first and "2.5% have no 'small'" in first
    assert "rounds beyond it lack candidates" in second and "even the fairest" not in second


def test_a_larger_tolerance_and_merged_groups_are_tried():
    counts = np.array([[9, 9, 9], [9, 9, 0], [9, 0, 9], [9, 9, 9], [9, 9, 9]])
    told = feasibility(counts, exposure=CURVE, shares=[1, 1, 1], tolerance=0.1, rounds=300)
    assert not told.short and not told.is_enough
    tried = remedies(counts, curves=[CURVE], shares=[1, 1, 1], names="abc", told=told)
    assert [each.what.split()[0] for each in tried] == ["a", "a", "10", "'b'"]
    assert tried[0].qualified > told.qualified
    assert tried[1].what.endswith(" and ties=fairest") and tried[1].qualified > tried[0].qualified
    assert tried[3].what == "'b' and 'c' as one group" and tried[3].qualified > told.qualified


@pytest.mark.parametrize(
    ("counts", "problem"),
    [([1, 2], "counts"), ([[1, 2, 3]], "2 columns"), ([[0, 0]], "without candidates"), ([[0.5, 1.0]], "whole numbers")],
)
def test_refusals(counts, problem):
    with pytest.raises(ArgumentError, match=problem):
        feasibility(counts, exposure=[1.0], shares=[1, 1], tolerance=0.1)
