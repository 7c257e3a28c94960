"""What PairRank calls certain is right: clicks check how probable orders are, and shrinkage follows their noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp import PDGD, FairExp, PairRank, Query
from fairexp.kernels.pairrank.logistic import graded_sums, slope_sums
from fairexp.lab.users.dependent import dependent_clicks
from fairexp.rankers.pairrank.calibration import CAUTION, CLEAR, Calibration, Slope
from fairexp.rankers.pairrank.evidence import Evidence
from fairexp.rankers.pairrank.model import PairwiseLogistic
from fairexp.rankers.pairrank.seen_documents import SeenDocuments
from fairexp.reliability import N_BINS, Predictions, from_summary, pooled
from fairexp.remap import Remap
from fairexp.types import CERTAIN, SURE

USERS = ("perfect", "navigational", "informational")


def sigma(z):
    return 1.0 / (1.0 + np.exp(-z))


def told(value, at_least):
    """A slope as if checks had told these."""
    slope = Slope()
    curvature = (CAUTION / max(value - at_least, 1e-9)) ** 2
    slope.restore({**slope.state(), "value": np.array(value), "curvature": np.array(curvature)})
    return slope


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30), spread=st.sampled_from([0.0, 0.1, 3.0, 300.0, 1e5]))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_costs_are_those_of_the_probability(seed, n, spread):
    rng = np.random.default_rng(seed)
    scores, kept = -np.sort(-spread * rng.normal(size=n)), np.triu(rng.random((n, n)) < 0.5, 1)
    calibration, claimed = Calibration(), rng.choice([0.0, 0.2, 0.7])
    calibration.all = told(0.7, 0.7)
    calibration.first = told(claimed + 1.0, claimed)
    costs = calibration.costs(scores, kept.copy())
    for i in range(n):
        for j in range(n):
            exact = max(SURE * np.tanh(0.35 * (scores[i] - scores[j])), 0.0) if i < j else 0.0
            clear = calibration.first.at_least * (scores[i] - scores[j]) - CLEAR
            if not kept[i, j] or clear < 1e-6:
                exact = min(exact, CERTAIN - 1 if abs(clear) > 1e-6 else CERTAIN)
            assert abs(float(costs[i, j]) - exact) <= 0.5 + 1e-9


@pytest.mark.parametrize("slope", [0.0, 0.3, 1.0, 1.6])
def test_the_slope_is_that_by_which_clicks_come(slope):
    rng = np.random.default_rng(0)
    found = Slope()
    for _ in range(2_000):
        for z in np.abs(rng.normal(size=3)):
            better = rng.random() < sigma(slope * z)
            found.check(np.array([z, 0.0]), np.array([better, not better]), np.ones(2, dtype=bool))
    assert found.value == pytest.approx(slope, abs=0.1)
    assert found.at_least <= slope <= found.value + 0.2


def test_predictions_that_overflow_change_nothing():
    slope = Slope()
    for far in (1e6, 1e100):
        slope.check(np.array([far, 0.0]), np.array([True, False]), np.ones(2, dtype=bool))
    assert slope.value == 1.0


def linear_world(seed, n_queries=60, n=20, d=8):
    """Queries whose grades (0 to 4) follow a linear truth but for some noise."""
    rng = np.random.default_rng(seed)
    weights, found = rng.normal(size=d), []
    for _ in range(n_queries):
        features = rng.random((n, d))
        utility = (features - 0.5) @ weights + rng.normal(0.0, 0.3, size=n)
        found.append((Query(features, rng.integers(0, 2, n)), np.searchsorted([0.0, 0.6, 1.1, 1.6], utility)))
    return found


@pytest.mark.parametrize("user", USERS)
def test_nine_in_ten_of_the_orders_called_certain_are_right(user):
    """Among documents of different grades, every 20th round of three runs."""
    called = wrong = 0
    for seed in range(3):
        queries, rng = linear_world(seed), np.random.default_rng(seed)
        ranker, reader = FairExp(PairRank(8, seed=seed), tolerance=0.1), dependent_clicks(user, seed=seed)
        for number in range(800):
            query, grades = queries[rng.integers(len(queries))]
            ranking = ranker.rank(query)
            ranker.update(ranking, reader.visit_many([grades[ranking.shown]]).clicks[0])
            if number % 20 == 19:
                certain = ranking.belief.certain_order
                called += int((certain & (grades[:, None] != grades)).sum())
                wrong += int((certain & (grades[:, None] < grades)).sum())
    assert wrong <= 0.1 * called
    if user == "perfect":
        assert called > 1_000


def test_certain_orders_are_kept_by_exploration():
    query, _ = linear_world(0)[0]
    ranker = PairRank(8, seed=0)
    ranker.model.theta, ranker.calibration.first = np.linspace(-20.0, 20.0, 8), told(1.0, 1.0)
    belief = ranker.believe(query)
    assert belief.certain_order.any() and not np.tril(belief.certain_order[np.ix_(belief.draw, belief.draw)]).any()
    assert (
        belief.block[np.nonzero(belief.certain_order)[0]] <= belief.block[np.nonzero(belief.certain_order)[1]]
    ).all()


def log_evidence(rows, regularization):
    """Laplace's approximation of how likely the rows are under theta ~ N(0, 1 / regularization), (d,) of it."""
    model = PairwiseLogistic(rows.shape[1], regularization=regularization, window=None)
    model.add(rows)
    slopes = sigma(rows @ model.theta) * sigma(-rows @ model.theta)
    curvature = (rows * slopes[:, None]).T @ rows + np.diag(regularization)
    return -model.objective(model.theta) + 0.5 * (np.log(regularization).sum() - np.linalg.slogdet(curvature)[1])


def preferences(noise, n=2_000, d=6):
    """Rows whose winner is the better one, but for a share of coin flips."""
    rng = np.random.default_rng(1)
    rows, truth = rng.normal(size=(n, d)), np.array([1.0, -1.0, 0.5, 0.0, 0.0, 0.0])
    agree = np.where(rng.random(n) < noise, rng.random(n) < 0.5, rng.random(n) < sigma(rows @ truth))
    return np.where(agree[:, None], rows, -rows)


@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_evidence_is_greatest_where_it_says(noise):
    rows = preferences(noise)
    model = PairwiseLogistic(rows.shape[1], regularization=10.0, window=None)
    model.add(rows)
    for _ in range(20):
        chosen = model.follow_evidence()
    assert log_evidence(rows, chosen) > max(log_evidence(rows, chosen * 3), log_evidence(rows, chosen / 3))
    fresh = PairwiseLogistic(rows.shape[1], regularization=chosen, window=None)
    fresh.add(rows)
    assert model.theta == pytest.approx(fresh.theta, abs=1e-5)


def preferences_by(truth, units, n=3_000):
    """Rows of features in different units, whose winner goes by weights `truth` (d,)."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(n, len(units))) * units
    return np.where((rng.random(n) < sigma(rows @ truth))[:, None], rows, -rows)


@pytest.mark.parametrize("effects_of_one_size", [False, True])
def test_features_are_regularized_as_their_weights_were_drawn(effects_of_one_size):
    """Weights of one size ask for as much of each feature; effects of one size for as much as each of them varies."""
    units = np.repeat([0.1, 1.0], 20)
    truth = np.random.default_rng(3).normal(size=40) / (units if effects_of_one_size else 1.0)
    rows = preferences_by(truth, units)
    model = PairwiseLogistic(40, regularization=10.0, window=None)
    model.add(rows)
    for _ in range(10):
        ridge = model.follow_evidence()
    of_small, of_large = ridge[:20].mean(), ridge[20:].mean()
    assert of_large / of_small > 50 if effects_of_one_size else 0.9 < of_large / of_small < 1.1
    spread = np.square(units) if effects_of_one_size else np.ones(40)
    other = np.ones(40) if effects_of_one_size else np.square(units)
    amounts = ridge.mean() * np.geomspace(0.01, 100.0, 13)
    best, worse = (max(log_evidence(rows, x * each / each.mean()) for x in amounts) for each in (spread, other))
    assert best > worse + 5.0


def test_a_curvature_that_rounding_has_ruined_speaks_for_neither():
    ruined = Evidence(np.array([[4.0, 1e9], [1e9, 1.0]]), np.ones(2), np.zeros(2), np.zeros(2))
    assert ruined.log_evidence(np.ones(2)) == -np.inf
    assert ruined.best_shape(10.0) == pytest.approx([4 / 3, 2 / 3])
    assert 0.0 <= ruined.scale(np.ones(2), np.ones(2)) <= 1.0
    assert ruined._replace(pulled=np.full(2, np.inf)).scale(np.ones(2), np.ones(2)) == 1.0


def test_noisy_clicks_are_shrunk_more():
    found = []
    for noise in (0.0, 0.5, 0.9):
        model = PairwiseLogistic(6, regularization=10.0)
        model.add(preferences(noise))
        found.append(model.follow_evidence().mean())
    assert found == sorted(found) and found[2] > 5 * found[0]


@pytest.mark.parametrize("options", [{}, {"width": "diagonal"}, {"history": "full"}])
def test_widths_follow_the_evidence_and_a_restored_ranker_goes_on_bit_for_bit(options):
    queries, rng = linear_world(3), np.random.default_rng(3)
    ranker, copy = PairRank(8, seed=1, **options), None
    for number in range(120):
        query, grades = queries[rng.integers(len(queries))]
        if number == 50:
            copy = PairRank(8, seed=9, **options).restore(ranker.state())
        ranking = ranker.rank(query)
        clicks = rng.random(len(ranking)) < 0.2 * grades[ranking.shown]
        ranker.update(ranking, clicks)
        if copy is not None:
            copy.update(copy.rank(query), clicks)
    assert np.array_equal(ranker.confidence.ridge, ranker.model.ridge) and np.ptp(ranker.model.ridge) > 0.0
    state = copy.state()
    assert all(np.array_equal(value, state[key]) for key, value in ranker.state().items())


def test_only_documents_met_for_the_first_time_say_what_may_be_called_certain():
    """A model that knows the clicks of 30 documents by heart: what they say again is no check of what it claims."""
    rng = np.random.default_rng(0)
    calibration, known, features = Calibration(), SeenDocuments(4), rng.random((30, 4))
    for visit in range(50):
        for first in range(0, 30, 10):
            clicks = np.arange(10) < 5
            by_heart = np.where(clicks, 3.0, 0.0) if visit else rng.normal(size=10)
            calibration.check(by_heart, clicks, known.note(features[first : first + 10]), weight=0.2)
    assert calibration.all.at_least > 0.9 > 0.3 > calibration.first.at_least


def binned(z, slope):
    """The table of predictions written out: of differences by which the preferred document was above the other."""
    sums = np.zeros((3, N_BINS))
    for each in z:
        p = sigma(slope * abs(each))
        sums[:, min(int((p - 0.5) * 2 * N_BINS), N_BINS - 1)] += 1.0, p, float(each > 0)
    return sums


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 12), slope=st.sampled_from([0.0, 0.3, 1.0, 4.0]))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_the_step_of_a_slope_is_newtons(seed, n, slope):
    """Against the sums written out, pair by pair."""
    rng = np.random.default_rng(seed)
    scores, clicks, among = rng.normal(size=n), rng.random(n) < 0.4, rng.random(n) < 0.7
    z = np.array([scores[i] - scores[j] for i in range(n) for j in range(n) if clicks[i] and not clicks[j]])
    z = z[[bool(among[i] and among[j]) for i in range(n) for j in range(n) if clicks[i] and not clicks[j]]]
    sums = np.zeros((3, N_BINS))
    pull, curvature = slope_sums(scores, clicks, among, slope, 0.25, sums)
    assert sums == pytest.approx(0.25 * binned(z, slope))
    assert pull == pytest.approx(float((z * sigma(-slope * z)).sum()))
    assert curvature == pytest.approx(float((z * z * sigma(slope * z) * sigma(-slope * z)).sum()))


def test_orders_by_grades_are_binned_as_written_out():
    rng = np.random.default_rng(2)
    scores, grades, sums = rng.normal(size=15), rng.integers(0, 4, 15), np.zeros((3, N_BINS))
    graded_sums(scores, grades, 1.3, sums)
    better = [(i, j) for i in range(15) for j in range(15) if grades[i] > grades[j]]
    assert sums == pytest.approx(binned([scores[i] - scores[j] for i, j in better], 1.3))
    assert sums[0].sum() == len(better)


def played(ranker, rounds=150, seed=0):
    queries, rng = linear_world(seed), np.random.default_rng(seed)
    reader = dependent_clicks("perfect", seed=seed)
    for _ in range(rounds):
        query, grades = queries[rng.integers(len(queries))]
        ranking = ranker.rank(query)
        ranker.update(ranking, reader.visit_many([grades[ranking.shown]]).clicks[0])
    return ranker


def test_a_fair_ranker_hands_on_how_reliable_its_host_is():
    fair = played(FairExp(PairRank(8, seed=1), tolerance=0.1))
    found, own = fair.reliability(), fair.host.reliability()
    assert np.array_equal(found.all.sums, own.all.sums) and found.all.sums[0].sum() > 100
    assert 0 < found.first.sums[0].sum() < found.all.sums[0].sum()
    before = found.all.sums.copy()
    played(fair, 20, seed=1)
    assert np.array_equal(found.all.sums, before) and fair.reliability().all.sums[0].sum() > before[0].sum()


def test_there_is_none_where_beliefs_are_not_calibrated():
    assert PairRank(8, certainty="paper").reliability() is None
    assert PDGD(8).reliability() is None and FairExp(PDGD(8), tolerance=0.1).reliability() is None


def test_reliability_goes_along_when_a_ranker_takes_over():
    before, after = played(PairRank(8, seed=1)), PairRank(8, seed=2)
    names = [str(number) for number in range(8)]
    after.take_over(before, Remap.by_name(names[::-1], before=names))
    assert np.array_equal(after.reliability().all.sums, before.reliability().all.sums)


def test_predictions_of_several_runs_are_summed():
    one, two = (played(PairRank(8, seed=seed), 60, seed).reliability() for seed in (1, 2))
    both = pooled([one, from_summary(two.summary())])
    assert both.all.sums == pytest.approx(one.all.sums + two.all.sums) and both.grades is None
    for row in both.all.rows(at_least=5.0):
        assert row["from"] <= row["predicted"] <= row["to"] and row["low"] <= row["held"] <= row["high"]
        assert row["comparisons"] >= 5.0
    assert Predictions(np.zeros((3, N_BINS))).rows() == []
