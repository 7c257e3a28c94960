"""FairCo: the controller bounds the gap, the relevance model is unbiased, and its algebra is exact."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp.checks import check_ranker
from fairexp.errors import ArgumentError
from fairexp.fairness.exposure import exposure_curve
from fairexp.randomness import Stream
from fairexp.rankers.baselines.fairco import FairCo
from fairexp.rankers.baselines.group_exposure import MERIT_FLOOR
from fairexp.ridge import REFRESH_EVERY, OnlineRidge
from fairexp.types import Query
from tests.reference.fairco import PlainFairCo


@pytest.mark.parametrize("merit", ["estimated", (1.0, 0.5)])
def test_keeps_the_contract(merit):
    check_ranker(lambda seed: FairCo(5, merit=merit, seed=seed))


def gaps(control, n_rounds, *, length=4):
    """The gap in cumulative exposure between two groups of equal merit, by round; one is a little more relevant."""
    ranker = FairCo(8, length=length, merit=(1.0, 1.0), control=control, seed=0)
    query = Query(features=np.eye(8), groups=[0, 0, 0, 0, 1, 1, 1, 1])
    relevance = np.array([0.6, 0.6, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5])
    ranker._relevance.weights = relevance  # fixed: no feedback comes
    result = np.empty(n_rounds)
    for t in range(n_rounds):
        ranker.rank(query)
        result[t] = abs(ranker.spent[0] - ranker.spent[1])
    return result


def test_the_gap_stays_bounded_with_control_and_grows_linearly_without():
    controlled, free = gaps(0.05, 2000), gaps(0.0, 2000)
    per_round = exposure_curve("reciprocal", 4).sum()
    # The lag must exceed (0.6 - 0.5) / 0.05 = 2 before group 1 goes first; one round can add all its exposure to that.
    assert controlled.max() <= 2.0 + per_round
    assert controlled[1000:].max() <= controlled[:1000].max() + 1e-9
    assert free == pytest.approx(per_round * np.arange(1, 2001))


def test_unequal_merits_receive_exposure_in_proportion():
    ranker = FairCo(1, length=3, merit=(3.0, 1.0), control=1.0, seed=0)
    for _ in range(3000):
        ranker.rank(Query(features=np.zeros((8, 1)), groups=[0, 0, 0, 0, 1, 1, 1, 1]))
    assert ranker.spent[0] / ranker.spent[1] == pytest.approx(3.0, rel=0.01)
    assert ranker.lag().min() == 0.0


def test_inverse_propensity_clicks_recover_the_true_relevance():
    """One feature per document; users look at position p with its probability, and click what is relevant."""
    relevance = np.array([0.9, 0.7, 0.5, 0.3, 0.1])
    ranker = FairCo(5, length=5, merit=(1.0, 1.0), control=0.5, exposure="logarithmic", regularization=1e-3, seed=0)
    query = Query(features=np.eye(5), groups=[0, 0, 1, 1, 1])
    rng = np.random.default_rng(1)
    for _ in range(8000):
        ranking = ranker.rank(query)
        looks = rng.random(5) < ranking.exposure
        ranker.update(ranking, looks & (rng.random(5) < relevance[ranking.shown]))
    assert ranker.weights == pytest.approx(relevance, abs=0.04)
    assert ranker.score(np.eye(5)) == pytest.approx(relevance, abs=0.04)


def test_agrees_with_a_regression_solved_anew_in_every_round():
    rng = np.random.default_rng(0)
    ours = FairCo(6, length=5, merit=(1.0, 2.0, 1.0), control=0.1, seed=0)
    plain = PlainFairCo(6, length=5, exposure=1.0 / np.arange(1, 6), merit=(1.0, 2.0, 1.0), control=0.1)
    stream = Stream(0)  # at first everything ties: both must break ties alike
    for number in range(REFRESH_EVERY + 50):
        plain.rng = stream.at(number)
        features, groups = rng.random((12, 6)), rng.integers(3, size=12)
        shown, ranking = plain.rank(features, groups), ours.rank(Query(features=features, groups=groups))
        assert np.array_equal(shown, ranking.shown)
        clicks = rng.random(5) < 0.4
        plain.update(features[shown], clicks)
        ours.update(ranking, clicks)
    assert ours.spent == pytest.approx(plain.spent)
    assert ours.weights == pytest.approx(plain.weights, rel=1e-9, abs=1e-12)


def test_the_inverse_stays_close_to_the_exact_one_over_many_rounds_and_scales():
    rng = np.random.default_rng(2)
    model = OnlineRidge(8, regularization=0.1)
    matrix, moment = 0.1 * np.eye(8), np.zeros(8)
    for t in range(1500):
        rows = rng.random((4, 8)) * (100.0 if t % 7 == 0 else 1.0)
        targets = rng.random(4)
        model.add(rows, targets)
        matrix += rows.T @ rows
        moment += targets @ rows
    assert model.weights == pytest.approx(np.linalg.solve(matrix, moment), rel=1e-6)


def test_a_row_far_outside_what_was_seen_costs_no_digits():
    model = OnlineRidge(3, regularization=1e-6)
    rows = np.array([[1e3, 0.0, 0.0], [0.0, 1.0, 1e-3], [0.0, 0.0, 1.0]])
    model.add(rows, np.array([1e3, 2.0, 3.0]))
    expected = np.linalg.solve(rows.T @ rows + 1e-6 * np.eye(3), rows.T @ np.array([1e3, 2.0, 3.0]))
    assert model.weights == pytest.approx(expected, rel=1e-9)


def test_estimated_merit_is_the_mean_current_score_of_the_candidates_seen():
    ranker = FairCo(3, length=2, n_groups=3, seed=0)
    features = np.array([[1.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, -1.0, 0.0]])
    query = Query(features=features, groups=[0, 0, 1, 2])
    ranker.rank(query)
    ranker.rank(query)
    assert ranker.merits() == pytest.approx([MERIT_FLOOR] * 3)
    ranker._relevance.weights = np.array([0.2, 0.6, 0.0])
    assert ranker.merits() == pytest.approx([0.4, 0.3, MERIT_FLOOR])


def test_rankings_carry_the_exposure_charged_and_short_queries_charge_less():
    ranker = FairCo(1, length=4, merit=(1.0, 1.0), exposure=[1.0, 0.5, 0.2, 0.1])
    ranking = ranker.rank(Query(features=[[0.0], [0.0]], groups=[1, 1]))
    assert ranking.exposure.tolist() == [1.0, 0.5]
    assert ranker.spent.tolist() == [0.0, 1.5]


def test_small_propensities_are_clipped():
    ranker = FairCo(1, length=1, merit=(1.0,), exposure=[0.001], clip=0.1, regularization=1.0)
    ranker.update(ranker.rank(Query(features=[[1.0]], groups=[0])), [True])
    assert ranker.weights == pytest.approx([5.0], rel=1e-15)


def test_ties_are_broken_at_random():
    ranker = FairCo(2, length=1, merit=(1.0,), seed=0)
    query = Query(features=np.zeros((3, 2)), groups=[0, 0, 0])
    counts = np.bincount([int(ranker.rank(query).shown[0]) for _ in range(900)], minlength=3)
    assert counts == pytest.approx([300, 300, 300], abs=60)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"merit": "labels"}, "merit: expected positive numbers, one per group, or 'estimated', got 'labels'"),
        ({"merit": (1.0, 0.0)}, "merit: expected positive"),
        ({"merit": ()}, "merit: expected positive"),
        ({"merit": (1.0, np.nan)}, "merit: expected positive"),
        ({"merit": (1.0, 1.0), "n_groups": 3}, "n_groups: expected 2, the number of merits, got 3"),
        ({"n_groups": 0}, "n_groups: expected a whole number of at least 1"),
        ({"control": -0.1}, "control: expected"),
        ({"regularization": 0.0}, "regularization: expected"),
        ({"clip": 0.0}, "clip: expected"),
        ({"exposure": [1.0]}, "exposure: expected|exposure"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        FairCo(3, **arguments)


def test_queries_without_known_groups_are_refused_and_change_nothing():
    ranker = FairCo(1, merit=(1.0, 1.0), seed=0)
    before = ranker.state()
    with pytest.raises(ArgumentError, match=r"query\.groups: expected a group from 0 to 1 .* got None"):
        ranker.rank(Query(features=[[1.0]]))
    with pytest.raises(ArgumentError, match=r"query\.groups: expected .* got group 2"):
        ranker.rank(Query(features=[[1.0]], groups=[2]))
    assert all(np.array_equal(value, before[key]) for key, value in ranker.state().items())
