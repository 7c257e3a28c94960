"""A prior is worth the observations that it says: to the estimate, to the widths, and to what is shown."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.optimize import minimize

from fairexp import FairExp, PairRank, Prior, Query
from fairexp.errors import ArgumentError, DataError
from fairexp.prior import EVEN_SPREAD, read_learned
from fairexp.rankers.pairrank.evidence import LEAST, MOST, SURE_OF_SCALE, Evidence
from fairexp.rankers.pairrank.model import PairwiseLogistic
from fairexp.rankers.pairrank.widths import Confidence, DiagonalConfidence
from fairexp.remap import Remap


def pairs_of(rng, truth, n):
    """Differences of evenly drawn documents, turned as a logistic model with weights `truth` prefers them."""
    rows = rng.random((n, len(truth))) - rng.random((n, len(truth)))
    preferred = rng.random(n) < 1 / (1 + np.exp(-rows @ truth))
    return np.where(preferred[:, None], rows, -rows)


def test_no_clicks_leave_the_prior_as_it_is():
    ranker = PairRank(3, prior=Prior([3.0, 1.0, -2.0], strength=50), seed=0)
    features = np.random.default_rng(0).random((7, 3))
    assert ranker.score(features) == pytest.approx(features @ [3.0, 1.0, -2.0])
    ranking = ranker.rank(Query(features))
    ranker.update(ranking, np.zeros(7, dtype=bool))
    assert ranker.linear_model().tolist() == [3.0, 1.0, -2.0]


@pytest.mark.parametrize("strength", [0.0, 40.0, 2000.0])
@pytest.mark.parametrize("window", [None, 64])
def test_the_estimate_is_the_least_of_the_loss_around_the_prior(strength, window):
    rng = np.random.default_rng(1)
    prior = Prior([1.0, -2.0, 0.5, 0.0], strength=strength, spread=[0.1, 0.2, 0.3, 0.4])
    rows = pairs_of(rng, np.array([-1.0, 1.0, 2.0, 0.0]), 60)
    model = PairwiseLogistic(4, regularization=0.5, window=window, prior=prior)
    for row in rows:
        model.add(row[None])
    steepness = 0.5 + prior.curvature

    def objective(theta):
        return np.logaddexp(0, -rows @ theta).sum() + 0.5 * (steepness * (theta - prior.weights) ** 2).sum()

    least = minimize(objective, np.zeros(4), options={"gtol": 1e-10}).x
    assert model.theta == pytest.approx(least, abs=1e-4)


def test_a_prior_is_worth_as_many_pairs_as_it_says():
    """A prior of 3,000 pairs and 3,000 pairs that were seen lead to the same estimate, M and curvature, pairs apart."""
    rng = np.random.default_rng(2)
    truth, strength = np.array([2.0, -1.0, 0.5]), 3000
    seen = pairs_of(rng, truth, strength)
    later = pairs_of(rng, np.array([-1.0, 2.0, 0.5]), 1500)
    believed = PairwiseLogistic(3, regularization=1e-6, window=None, prior=Prior(truth, strength=strength))
    learned = PairwiseLogistic(3, regularization=1e-6, window=None)
    learned.add(seen)
    assert learned.theta == pytest.approx(truth, abs=0.3)
    for model in (believed, learned):
        model.add(later)
    assert believed.theta == pytest.approx(learned.theta, abs=0.2)
    assert np.abs(believed.theta - truth).max() > 0.8  # and it is not simply the prior
    matrix = Confidence(3, regularization=1e-6, prior=Prior(truth, strength=strength)).matrix
    assert matrix == pytest.approx(seen.T @ seen, abs=0.06 * strength * EVEN_SPREAD)
    slopes = 1 / (2 + 2 * np.cosh(seen @ truth))
    told = (seen * slopes[:, None]).T @ seen
    curvature = np.diag(Prior(truth, strength=strength).curvature)
    for across in (np.array([1.0, 2.0, 0.0]), np.array([1.0, -0.5, -5.0])):  # both at right angles to the truth
        assert across @ curvature @ across == pytest.approx(across @ told @ across, rel=0.07)
    assert 1.0 < (truth @ curvature @ truth) / (truth @ told @ truth) < 1.5


@pytest.mark.parametrize("kind", [Confidence, DiagonalConfidence])
def test_widths_are_around_the_prior(kind):
    prior = Prior([1.0, 0.0], strength=60, spread=[0.5, 0.25])
    confidence = kind(2, regularization=2.0, prior=prior)
    features = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert confidence.weigh(features) == pytest.approx(np.diag([1 / 32, 1 / 17]))
    assert confidence.log_det_ratio == 0.0
    assert confidence.seen == pytest.approx(np.zeros((2, 2)))
    confidence.add(np.array([[3.0, 0.0]]))
    assert confidence.log_det_ratio == pytest.approx(np.log(41 / 32))


@pytest.mark.parametrize(("strength", "surely"), [(1e6, True), (0.0, False)])
def test_strength_decides_what_is_explored(strength, surely):
    """With enough of it every first draw is the prior's own order; without, draws differ."""
    features, prior = np.random.default_rng(0).random((8, 4)), Prior([0.4, 0.3, 0.2, 0.1], strength=strength)
    draws = {tuple(PairRank(4, prior=prior, seed=seed).rank(Query(features)).shown.tolist()) for seed in range(20)}
    own = tuple(np.argsort(-features @ prior.weights).tolist())
    assert draws == {own} if surely else len(draws) > 10


def test_an_order_is_explored_up_to_the_stated_certainty():
    """Alone in its feature, a pair of typical difference is certain from strength d (alpha / (sigma(z) - 1/2))^2."""
    x, alpha, weight = np.sqrt(EVEN_SPREAD), 0.1, 1.0
    certainty = 1 / (1 + np.exp(-weight * x)) - 0.5
    edge = (alpha / certainty) ** 2
    for factor, surely in ((0.99, False), (1.01, True)):
        prior = Prior([weight], strength=factor * edge)
        ranker = PairRank(1, alpha=alpha, regularization=1e-9, certainty="paper", prior=prior)
        assert ranker.believe(Query([[0.0], [x]])).certain_order[1, 0] == surely


def test_clicks_earn_a_departure_from_a_wrong_prior():
    rng = np.random.default_rng(3)
    truth = np.array([2.0, -1.0, 0.5])
    ranker = PairRank(3, length=6, prior=Prior(-truth, strength=100), seed=3)
    for _ in range(800):
        features = rng.random((12, 3))
        ranking = ranker.rank(Query(features))
        ranker.update(ranking, ranking.features @ truth > np.median(features @ truth))
    unseen = rng.random((200, 3))
    assert np.corrcoef(ranker.score(unseen), unseen @ truth)[0, 1] > 0.95


def test_the_scale_of_a_prior_is_what_makes_the_clicks_most_likely():
    rng = np.random.default_rng(11)
    scales = np.linspace(0.0, 1.0, 1001)
    for truth in (0.02, 0.3, 0.7, 2.0):
        weights, ridge = rng.normal(size=5), rng.uniform(1.0, 20.0, size=5)
        factor, believed = rng.normal(size=(40, 5)), rng.uniform(0.0, 50.0, size=5)
        seen = factor.T @ factor
        found = Evidence(seen, seen @ (truth * weights + rng.normal(size=5) / 10.0), weights, believed)
        told = [
            found._replace(centre=scale * weights).log_evidence(ridge) - 0.5 * SURE_OF_SCALE * (scale - 1.0) ** 2
            for scale in scales
        ]
        assert found.scale(weights, ridge) == pytest.approx(scales[np.argmax(told)], abs=1e-3)


def test_what_a_prior_settled_does_not_count_for_the_regularization():
    """Where a step leaves the regularization as it is, evidence rises or falls by what is believed of it beforehand."""
    rng = np.random.default_rng(12)
    centre, believed, shape = rng.normal(size=6), rng.uniform(5.0, 80.0, size=6), np.ones(6)
    factor = rng.normal(size=(60, 6))
    seen = factor.T @ factor
    found = Evidence(seen, seen @ (centre + rng.normal(size=6) / 2.0), centre, believed)
    ridge = 10.0
    for _ in range(500):
        steepness = ridge + believed
        theta = np.linalg.solve(seen + np.diag(steepness), found.pulled + steepness * centre)
        ridge = found.step(theta, ridge, shape)
    rise = (found.log_evidence(1.001 * ridge * shape) - found.log_evidence(ridge * shape / 1.001)) / (2 * np.log(1.001))
    assert LEAST < ridge < MOST
    assert rise == pytest.approx(0.5 * (0.1 * ridge - 1.0), abs=1e-4)


def test_noisy_clicks_bring_a_prior_down_to_their_scale():
    """The prior is right about the order, and says ten times too much of how much more often the better is clicked."""
    rng = np.random.default_rng(13)
    truth = np.array([0.3, -0.2, 0.1, 0.2])
    rows = pairs_of(rng, truth, 3000)
    prior = Prior(10.0 * truth + [0.0, 0.0, 1.0, -1.0], strength=600)
    scaled, fixed = (PairwiseLogistic(4, regularization=10.0, prior=prior) for _ in range(2))
    for first in range(0, len(rows), 100):
        for model in (scaled, fixed):
            model.add(rows[first : first + 100])
        scaled.follow_evidence()
    assert 0.0 <= scaled.scale < 0.3
    assert np.linalg.norm(scaled.theta - truth) < 0.5 * np.linalg.norm(fixed.theta - truth)
    gradient = rows.T @ (1 / (1 + np.exp(rows @ scaled.theta)))
    steepness = scaled.ridge + prior.curvature
    assert steepness * (scaled.theta - scaled.scale * prior.weights) == pytest.approx(gradient, abs=2.0)
    other = PairwiseLogistic(4, regularization=10.0, prior=prior)
    other.restore(scaled.state())
    for model in (other, scaled):
        model.add(rows[:50])
    assert other.scale == scaled.scale and np.array_equal(other.theta, scaled.theta)


def test_theory_takes_the_bound_around_the_prior():
    prior = Prior([5.0, 5.0], strength=12, spread=0.5)
    ranker = PairRank(2, alpha="theory", regularization=3.0, bound=0.5, reach=1.0, delta=0.1, noise=0.5, prior=prior)
    slope = np.exp(-0.5) / (1 + np.exp(-0.5)) ** 2
    expected = 0.5 / slope * (np.sqrt(0.25 * 2 * np.log(10)) + np.sqrt(3.0 + 6.0) * 0.5)
    assert ranker.width_factor == pytest.approx(expected)


@pytest.mark.parametrize("history", ["bounded", "full"])
def test_state_parameters_and_clone_carry_it(history):
    rng = np.random.default_rng(4)
    prior = Prior([1.0, -1.0, 0.0], strength=30)
    ranker = FairExp(PairRank(3, length=4, history=history, prior=prior), tolerance=1.0, beta=1.0, seed=1)
    assert ranker.parameters()["host"].parameters()["prior"] is prior
    other = ranker.clone(seed=5)
    for _ in range(20):
        ranking = ranker.rank(Query(rng.random((9, 3)), groups=np.arange(9) % 2))
        ranker.update(ranking, rng.random(len(ranking)) < 0.4)
    assert "Prior(3 weights, strength=30)" in repr(ranker.host)
    assert other.learner.linear_model().tolist() == [1.0, -1.0, 0.0]
    other.restore(ranker.state())
    query = Query(rng.random((9, 3)), groups=np.arange(9) % 2)
    assert np.array_equal(other.rank(query).shown, ranker.rank(query).shown)


def taught(prior, rng, n=40, d=2, **options):
    ranker = PairRank(d, length=5, prior=prior, seed=0, **options)
    for _ in range(n):
        ranking = ranker.rank(Query(rng.random((6, d))))
        ranker.update(ranking, rng.random(5) < 0.5)
    return ranker


@pytest.mark.parametrize("width", ["full", "diagonal"])
def test_taking_over_in_other_units_is_the_same_prior(width):
    """Features in other units, and the prior with them: nothing changes but the numbers."""
    before = taught(Prior([1.0, -1.0], strength=30), np.random.default_rng(5), width=width)
    factors = np.array([4.0, 0.5])
    prior = Prior(np.array([1.0, -1.0]) / factors, strength=30, spread=EVEN_SPREAD * factors**2)
    after = PairRank(2, length=5, prior=prior, width=width, regularization=1e-9)
    same = PairRank(2, length=5, prior=Prior([1.0, -1.0], strength=30), width=width, regularization=1e-9)
    after.take_over(before, Remap.of_units(factors, n_groups=0))
    same.take_over(before, Remap.of_units(np.ones(2), n_groups=0))
    features = np.random.default_rng(6).random((10, 2))
    assert after.score(features * factors) == pytest.approx(same.score(features))
    assert after.confidence.weigh(features * factors) * factors == pytest.approx(same.confidence.weigh(features))
    rows = np.random.default_rng(7).normal(size=(30, 2))
    for ranker, scaled in ((after, rows * factors), (same, rows)):
        ranker.model.add(scaled)
    assert after.score(features * factors) == pytest.approx(same.score(features), abs=0.02)


def test_a_new_feature_starts_at_its_prior_weight():
    before = taught(Prior([1.0, -1.0], strength=30), np.random.default_rng(8))
    after = PairRank(3, prior=Prior([1.0, 7.0, -1.0], strength=30))
    after.take_over(before, Remap.by_name(["a", "new", "b"], before=["a", "b"]))
    assert after.linear_model()[1] == 7.0 * before.model.scale
    assert after.linear_model()[[0, 2]] == pytest.approx(before.linear_model())


def test_another_prior_takes_effect_at_once():
    before = PairRank(2, seed=0)
    after = PairRank(2, prior=Prior([3.0, 1.0], strength=10))
    after.take_over(before, Remap.of_units(np.ones(2), n_groups=0))
    assert after.linear_model() == pytest.approx([3.0, 1.0], abs=1e-6)


@pytest.mark.parametrize(
    ("weights", "options", "argument"),
    [
        ([[1.0]], {"strength": 1}, "prior.weights"),
        ([], {"strength": 1}, "prior.weights"),
        (["a"], {"strength": 1}, "prior.weights"),
        ([np.nan], {"strength": 1}, "prior.weights"),
        ([1.0], {"strength": -1}, "prior.strength"),
        ([1.0], {"strength": np.inf}, "prior.strength"),
        ([1.0], {"strength": 1, "spread": -1.0}, "prior.spread"),
        ([1.0], {"strength": 1, "spread": [1.0, 2.0]}, "prior.spread"),
    ],
)
def test_bad_priors_are_named(weights, options, argument):
    with pytest.raises(ArgumentError) as error:
        Prior(weights, **options)
    assert error.value.argument == argument


@pytest.mark.parametrize("prior", [Prior([1.0, 2.0], strength=1), [1.0, 2.0, 3.0], "no-such-file.json"])
def test_a_prior_that_does_not_fit_is_refused(prior):
    with pytest.raises(ArgumentError) as error:
        PairRank(3, prior=prior)
    assert error.value.argument == "prior"


def test_a_file_with_a_prior(tmp_path):
    path = tmp_path / "learned.json"
    record = {"features": ["a", "b"], "weights": [1.0, 2.0], "spread": [0.5, 0.25], "strength": 8.0, "exposure": None}
    record["scaling"] = "query"
    path.write_text(json.dumps(record))
    ranker = PairRank(2, prior=str(path))
    assert ranker.prior.weights.tolist() == [1.0, 2.0] and ranker.prior.seen.tolist() == [4.0, 2.0]
    learned = read_learned(path).prior
    assert (learned.feature_names, learned.scaling) == (("a", "b"), "query")
    for broken in (
        "{",
        "[]",
        json.dumps(record | {"strength": "x"}),
        json.dumps(record | {"features": ["a"]}),
        json.dumps(record | {"scaling": "x"}),
    ):
        path.write_text(broken)
        with pytest.raises((DataError, ArgumentError)):
            PairRank(2, prior=path)


def test_a_prior_that_says_what_it_is_for_is_held_to_it():
    prior = Prior([3.0, 1.0], strength=8, spread=[0.5, 0.25], feature_names=("price", "age"), scaling="query")
    turned = prior.for_features(("age", "price"), scaling="query")
    assert turned.weights.tolist() == [1.0, 3.0] and turned.spread.tolist() == [0.25, 0.5] and turned.strength == 8
    assert prior.for_features(("price", "age"), scaling=None) is prior
    for names, words in (
        (("price", "ages"), "without 'ages'. Did you mean 'age'?"),
        (("price",), "one with 'age', which the data do not have"),
        (("price", "age", "stock"), "one without 'stock'"),
    ):
        with pytest.raises(ArgumentError, match=f"prior: expected the features of the data, got .*{words}"):
            prior.for_features(names, scaling="query")
    with pytest.raises(
        ArgumentError, match=r"with scaling 'none' .*got weights learned with scaling 'query'.*--scaling none"
    ):
        prior.for_features(("price", "age"), scaling="none")
    plain = Prior([1.0, 2.0], strength=1)
    assert plain.for_features(("x", "y"), scaling="none") is plain
    with pytest.raises(ArgumentError, match=r"prior\.feature_names: expected 2 names that differ"):
        Prior([1.0, 2.0], strength=1, feature_names=("a", "a"))
    with pytest.raises(ArgumentError, match=r"prior\.scaling: expected one of 'none', 'query'"):
        Prior([1.0, 2.0], strength=1, scaling="running")
