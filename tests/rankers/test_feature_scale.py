"""PairRank on features of any size: what it learns depends on how documents differ, not on the unit that says so."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp import PairRank, Prior, Query
from fairexp.randomness import make_rng
from fairexp.remap import Remap

D, N, SHOWN = 12, 15, 8


class Task:
    """Queries whose documents are better the larger a linear truth of them is, with noisy clicks on the better ones."""

    def __init__(self, seed=0, n_queries=50):
        rng = np.random.default_rng(seed)
        self.truth = rng.normal(size=D)
        self.queries = [rng.random((N, D)) for _ in range(n_queries)]

    def learned(self, scale, *, rounds=300, seed=0, **options):
        """A ranker that served the first queries, and the lists that it showed."""
        ranker, rng, lists = PairRank(D, length=SHOWN, seed=seed, **options), np.random.default_rng(seed + 1), []
        for _ in range(rounds):
            features = self.queries[rng.integers(35)]
            ranking = ranker.rank(Query(features * scale))
            good = features @ self.truth > np.quantile(features @ self.truth, 0.7)
            ranker.update(ranking, rng.random(SHOWN) < np.where(good[ranking.shown], 0.9, 0.1))
            lists.append(ranking.shown.tolist())
        return ranker, lists

    def quality(self, scores_of):
        """The share of pairs of the other queries' documents that are put into the right order."""
        right = []
        for features in self.queries[35:]:
            scores, worth = scores_of(features), features @ self.truth
            pairs = np.triu_indices(N, 1)
            right.append(((scores[:, None] > scores)[pairs] == (worth[:, None] > worth)[pairs]).mean())
        return float(np.mean(right))


@pytest.fixture(scope="module")
def task():
    return Task()


@pytest.fixture(scope="module")
def at_scale_one(task):
    return np.mean([task.quality(task.learned(1.0, seed=seed)[0].score) for seed in range(3)])


@pytest.mark.parametrize("scale", [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6])
def test_as_much_is_learned_at_any_scale(task, at_scale_one, scale):
    learned = [task.learned(scale, seed=seed)[0] for seed in range(3)]
    quality = np.mean([task.quality(lambda x, each=each: each.score(x * scale)) for each in learned])
    assert at_scale_one > 0.85
    assert quality > at_scale_one - 0.03


@pytest.mark.parametrize("exponent", [-20, -10, 10, 20])
def test_beyond_the_ordinary_the_unit_makes_no_difference_at_all(task, exponent):
    """Powers of two cost no digit, so lists and scores are the same bit for bit."""
    (one, lists), (other, others) = (task.learned(2.0**each, rounds=120) for each in (exponent, exponent + 3))
    features = task.queries[-1]
    assert lists == others
    assert np.array_equal(one.score(features * 2.0**exponent), other.score(features * 2.0 ** (exponent + 3)))
    assert features * 2.0**exponent @ one.linear_model() == pytest.approx(
        other.linear_model() @ (8 * features.T * 2.0**exponent)
    )


def test_ordinary_features_are_taken_as_they_are(task):
    ranker, _ = task.learned(1.0, rounds=20)
    assert ranker.unit == 1.0
    assert np.array_equal(ranker.score(task.queries[0]), task.queries[0] @ ranker.model.theta_of_new)


def test_some_features_that_are_out_of_size_do_not_decide_for_the_others(task):
    ranker = PairRank(4, length=2, seed=0)
    ranking = ranker.rank(Query([[1e6, 0.1, 0.9, 0.0], [0.0, 0.7, 0.1, 0.0]]))
    ranker.update(ranking, [True, False])
    assert ranker.unit == 1.0


def test_documents_that_do_not_differ_do_not_decide(task):
    ranker = PairRank(2, length=2, seed=0)
    ranker.update(ranker.rank(Query(np.ones((2, 2)))), [True, False])
    assert ranker.unit == 1.0
    ranker.update(ranker.rank(Query(np.eye(2) * 1e-5)), [True, False])
    assert ranker.unit == 2.0**-15


def test_a_given_regularization_is_that_of_the_features_as_they_come(task):
    ranker, _ = task.learned(1e-4, rounds=50, regularization=1e-6, history="full")
    assert ranker.unit == 1.0 and np.abs(ranker.model.theta).max() > 1.0


def test_a_prior_says_of_what_size_features_are(task):
    given = Prior(task.truth * 1e4, strength=50, spread=1e-8 / 6.0)
    small, _ = task.learned(1e-4, rounds=100, prior=given)
    plain, _ = task.learned(1.0, rounds=100, prior=Prior(task.truth, strength=50))
    assert small.unit == 2.0**-13
    for ranker, scale in ((small, 1e-4), (plain, 1.0)):
        assert task.quality(lambda x, ranker=ranker, scale=scale: ranker.score(x * scale)) > 0.9
    fresh = PairRank(D, prior=given)
    assert fresh.score(task.queries[0] * 1e-4) == pytest.approx(task.queries[0] @ task.truth)


def test_state_and_other_units_go_on_at_the_same_scores(task):
    ranker, _ = task.learned(1e-4, rounds=60)
    features = task.queries[0]
    copy = PairRank(D, length=SHOWN).restore(ranker.state())
    assert np.array_equal(copy.score(features * 1e-4), ranker.score(features * 1e-4))
    after = PairRank(D, length=SHOWN).take_over(ranker, Remap.of_units(np.full(D, 1e4), n_groups=0))
    assert features @ after.linear_model() == pytest.approx(features * 1e-4 @ ranker.linear_model(), rel=1e-9)
    fixed = PairRank(D, length=SHOWN, regularization=1e-7).take_over(ranker, Remap.of_units(np.ones(D), n_groups=0))
    assert fixed.unit == 1.0
    assert fixed.linear_model() == pytest.approx(ranker.linear_model(), rel=1e-9)
    query = Query(features * 1e-4)
    one, other = (each.log_probability(query, np.arange(SHOWN)) for each in (ranker, copy))
    assert one == other
    assert all(
        np.array_equal(one, other)
        for one, other in zip(*(r.draws(query, make_rng(0), 3) for r in (ranker, copy)), strict=True)
    )


def test_the_theory_counts_in_the_same_unit(task):
    """alpha_t has lambda and the bound on theta in it: both of the features as they are kept inside."""
    bound, scale = 2.0, 2.0**-13
    (small, _), (plain, _) = (
        task.learned(each, rounds=1, alpha="theory", bound=bound / each, reach=2.0 * each) for each in (scale, 1.0)
    )
    assert small.unit == scale and small.width_factor == pytest.approx(plain.width_factor)
