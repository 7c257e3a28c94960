"""What a log teaches: the truth where position bias is corrected, the old ranker's taste where it is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from fairexp import PairRank, Query
from fairexp.errors import ArgumentError
from fairexp.fairness.exposure import ExposureEstimate
from fairexp.lab.logs.exposure import harvested_exposure
from fairexp.lab.logs.learned import learn
from fairexp.lab.logs.preferences import fit_preferences, ordered_rightly, winners
from fairexp.lab.logs.record import Log, places
from tests.lab.logs.worlds import CURVE, TRUTH, logged


def assumed(curve):
    return ExposureEstimate(np.asarray(curve, dtype=float), np.zeros(len(curve)), 1)


def agreement(weights):
    unseen = np.random.default_rng(99).random((1000, len(TRUTH)))
    return np.corrcoef(unseen @ weights, unseen @ TRUTH)[0, 1]


@pytest.mark.parametrize("seed", range(3))
def test_corrected_it_ranks_like_the_truth_and_uncorrected_it_does_not(seed):
    log = logged(seed)
    by_curve, harvested = learn(log, assumed(CURVE)), learn(log, harvested_exposure(log, length=10))
    naive = learn(log, assumed(np.ones(10)))
    assert agreement(by_curve.prior.weights) > 0.98 and agreement(harvested.prior.weights) > 0.98
    assert agreement(naive.prior.weights) < 0.8
    # Feature e is worth nothing, and was what the old ranker went by.
    for learned in (by_curve, harvested):
        assert abs(learned.prior.weights[4]) < 3 * learned.standard_error[4]
    assert naive.prior.weights[4] > 10 * naive.standard_error[4]


def test_standard_errors_are_those_of_repeated_logs():
    """Over 40 logs, weights scatter as each says of itself, and their intervals hold what the largest log says."""
    fits = [learn(logged(seed, n_rankings=400), assumed(CURVE)) for seed in range(40)]
    scatter = np.std([fit.prior.weights for fit in fits], axis=0, ddof=1)
    told = np.mean([fit.standard_error for fit in fits], axis=0)
    assert scatter == pytest.approx(told, rel=0.35)


def test_harvested_exposure_is_the_curve_within_its_errors():
    deviations = []
    for seed in range(10):
        estimate = harvested_exposure(logged(seed), length=10)
        deviations.append((estimate.curve - CURVE)[1:] / estimate.standard_error[1:])
    assert np.mean(np.abs(deviations) < 2.0) > 0.88
    assert abs(np.mean(deviations)) < 0.35


def test_harvested_exposure_does_not_depend_on_what_stood_on_top():
    """Clicks by position alone, whatever is shown there, would say that the top is still better."""
    log = logged(1, curve=np.ones(10), shuffled=0.3)
    log = replace(log, clicks=log.clicks | (log.features[:, 4] > 0.8))
    estimate = harvested_exposure(log, length=10)
    assert estimate.curve == pytest.approx(np.ones(10), abs=0.12)
    by_position = log.clicks.reshape(-1, 10).mean(axis=0)
    assert by_position[9] / by_position[0] < 0.7


def test_the_fit_is_the_least_of_the_sum_over_pairs():
    log = logged(3, n_rankings=40)
    counts = winners(log, CURVE)

    pairs = [(i, j) for first in log.offsets[:-1] for i in range(first, first + 10) for j in range(first, first + 10)]
    winner, loser = np.array([pair for pair in pairs if pair[0] != pair[1]]).T
    rows, weights = log.features[winner] - log.features[loser], counts[winner] / 9

    def objective(theta):
        return 0.35 * theta @ theta + weights @ np.logaddexp(0, -rows @ theta)

    least = minimize(objective, np.zeros(5), options={"gtol": 1e-8}).x
    fit = fit_preferences(log, counts, regularization=0.7)
    assert fit.theta == pytest.approx(least, abs=1e-2)
    assert fit.products == pytest.approx((rows * weights[:, None]).T @ rows / weights.sum())


def graded(n=300, seed=0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, size=n)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    features = rng.random((offsets[-1], 5))
    grades = np.clip(np.floor(features @ TRUTH + 0.3 * rng.normal(size=offsets[-1])), 0, 4).astype(np.int64)
    return Log(features, tuple("abcde"), offsets, places(offsets), grades=grades)


def test_grades_are_preferences_over_lower_grades():
    learned = learn(graded(), None)
    assert agreement(learned.prior.weights) > 0.98 and learned.exposure is None
    share, error = learned.ordered
    assert share > 0.85 and 0.0 < error < 0.05


def test_units_change_the_weights_and_nothing_else():
    log, units = logged(4, n_rankings=500), np.array([1000.0, 0.01, 1.0, 5.0, 1.0])
    plain = learn(log, assumed(CURVE))
    other = learn(replace(log, features=log.features * units + 7.0), assumed(CURVE))
    assert other.prior.weights * units == pytest.approx(plain.prior.weights, rel=1e-5, abs=1e-8)
    assert other.prior.spread / units**2 == pytest.approx(plain.prior.spread, rel=1e-6)
    assert other.prior.strength == pytest.approx(plain.prior.strength, rel=1e-9)


@pytest.mark.parametrize("n_pairs", [500, 4000])
def test_a_log_of_pairs_is_worth_as_many_pairs(n_pairs):
    """Rankings of two, one of which is clicked: each is one observed pair."""
    rng = np.random.default_rng(n_pairs)
    features = rng.random((n_pairs, 2, 5))
    first = rng.random(n_pairs) < 1 / (1 + np.exp(-(features[:, 0] - features[:, 1]) @ TRUTH))
    offsets = 2 * np.arange(n_pairs + 1)
    clicks = np.stack([first, ~first], axis=1).ravel()
    log = Log(features.reshape(-1, 5), tuple("abcde"), offsets, places(offsets), clicks=clicks)
    learned = learn(log, assumed(np.ones(2)))
    assert learned.prior.strength == pytest.approx(n_pairs, rel=0.15)
    assert learned.prior.weights == pytest.approx(TRUTH, abs=4 * learned.standard_error.max())


def test_clicks_that_count_for_many_are_worth_less():
    log = logged(5, n_rankings=500)
    corrected, plain = learn(log, assumed(CURVE)), learn(log, assumed(np.ones(10)))
    assert 0.3 < corrected.prior.strength / plain.prior.strength < 0.8
    assert learn(log, assumed(CURVE), strength=50).prior.strength == 50.0


def test_a_feature_that_never_varies_weighs_nothing():
    log = logged(6, n_rankings=200)
    log = replace(
        log, features=np.column_stack([log.features, np.full(len(log.features), 1e6 + 0.1)]), names=(*"abcdef",)
    )
    learned = learn(log, assumed(CURVE))
    assert learned.prior.weights[5] == 0.0 and learned.prior.spread[5] == pytest.approx(0.0, abs=1e-6)


def test_held_out_order_of_nothing_is_a_half():
    log = logged(7, n_rankings=300)
    share, _ = ordered_rightly(log, winners(log, CURVE), np.zeros(5))
    assert share == pytest.approx(0.5)


def test_what_was_learned_is_kept_and_started_from(tmp_path):
    learned = learn(logged(8), assumed(CURVE))
    learned.save(tmp_path / "learned.json")
    ranker = PairRank(5, prior=tmp_path / "learned.json", seed=0)
    assert (
        np.array_equal(ranker.prior.weights, learned.prior.weights) and ranker.prior.strength == learned.prior.strength
    )
    features = np.random.default_rng(0).random((30, 5))
    top = ranker.rank(Query(features)).shown
    assert (features @ TRUTH)[top].mean() > np.sort(features @ TRUTH)[-15:].mean()


def test_a_log_without_what_is_needed_is_refused():
    log = logged(9, n_rankings=50)
    with pytest.raises(ArgumentError, match="log: expected some clicks"):
        learn(replace(log, clicks=np.zeros_like(log.clicks)), assumed(CURVE))
    with pytest.raises(ArgumentError, match="at least 10, the lowest position"):
        learn(log, assumed(CURVE[:5]))
    with pytest.raises(ArgumentError, match="known again"):
        harvested_exposure(replace(log, documents=None), length=10)
    fixed = logged(9, n_rankings=500, shuffled=0.0)
    with pytest.raises(ArgumentError, match="none of which tells of position 1, 2"):
        harvested_exposure(fixed, length=10)
