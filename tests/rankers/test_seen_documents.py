"""Documents that were learned from are known again; those that never were are scored with more doubt."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp import FairExp, PairRank, Query
from fairexp.kernels.pairrank.documents import ANYTHING
from fairexp.lab.data import world
from fairexp.lab.metrics.ndcg import dataset_ndcg
from fairexp.rankers.pairrank.model import DOUBT, PairwiseLogistic
from fairexp.rankers.pairrank.seen_documents import SeenDocuments
from fairexp.remap import Remap


def test_a_document_is_known_wherever_it_stands():
    rng = np.random.default_rng(1)
    known, features = SeenDocuments(7), rng.random((40, 7))
    assert known.note(features).all()
    for _ in range(20):
        some = features[rng.permutation(40)[: rng.integers(1, 40)]]
        assert known.with_any_of(some) and not known.note(some).any()


def test_strangers_are_hardly_ever_taken_for_somebody():
    """With .6 tags a slot one of 100,000 strangers is expected to have one of them, and more than 5 once in 3,000."""
    rng = np.random.default_rng(2)
    known = SeenDocuments(3)
    known.note(rng.random((5_000, 3)))
    assert sum(known.with_any_of(rng.random((100, 3))) for _ in range(1_000)) <= 5


def test_the_longest_unmet_are_forgotten_and_count_as_new_again():
    rng = np.random.default_rng(3)
    known, first = SeenDocuments(3), rng.random((1_000, 3))
    known.note(first)
    known.note(rng.random((200_000, 3)))
    again = known.note(first)
    # Of 200,000 others each has the slot of one of the first with 1 in 2^15: e^-6.1 of the first are left.
    assert again.mean() > 0.99


def test_after_a_change_of_features_nobody_counts_as_new_until_others_came():
    before, after, rng = SeenDocuments(2), SeenDocuments(3), np.random.default_rng(5)
    before.note(rng.random((20, 2)))
    after.take_over(before, Remap.by_name(["a", "b", "c"], before=["a", "b"]))
    features = rng.random((30, 3))
    assert (after.state()["tags"] == ANYTHING).all() and after.with_any_of(features)
    assert not after.note(features).any()
    for _ in range(8):
        after.note(rng.random((20_000, 3)))
    assert after.note(rng.random((1_000, 3))).all()  # all of that table is by documents met since


def test_a_change_that_leaves_the_features_forgets_nobody():
    before, after, features = SeenDocuments(2), SeenDocuments(2), np.random.default_rng(6).random((20, 2))
    before.note(features)
    after.take_over(before, Remap.by_name(["a", "b"], before=["a", "b"]))
    assert not after.note(features).any() and not before.with_any_of(features + 1.0)


def test_the_estimate_for_new_documents_is_that_of_more_regularization():
    """Against the exact minimiser with so many times what evidence chose, where the loss is all but quadratic."""
    rng = np.random.default_rng(6)
    rows = 0.2 * rng.normal(size=(600, 5)) + [0.02, 0.0, 0.01, 0.0, 0.0]
    model = PairwiseLogistic(5, regularization=2.0)
    model.add(rows)
    assert np.array_equal(model.theta_of_new, model.theta)
    shrunk = PairwiseLogistic(5, regularization=DOUBT * model.follow_evidence())
    shrunk.add(rows)
    new, exact, theta = (each / np.linalg.norm(each) for each in (model.theta_of_new, shrunk.theta, model.theta))
    assert new == pytest.approx(exact, abs=2e-3) and np.abs(new - theta).max() > 1e-2
    assert np.linalg.norm(model.theta_of_new) == pytest.approx(np.linalg.norm(model.theta))


def served(ranker, queries, rounds):
    rng = np.random.default_rng(7)
    for _ in range(rounds):
        query, grades = queries[rng.integers(len(queries))]
        ranking = ranker.rank(query)
        ranker.update(ranking, grades[ranking.shown] > 0)
    return ranker


def made(rng, n_queries):
    """Queries whose grades follow the first feature, and noise that is a document's own."""
    for _ in range(n_queries):
        features = rng.random((12, 6))
        grades = (features[:, 0] + 0.5 * rng.normal(size=12) > 0.8).astype(int)
        yield Query(features=features, groups=rng.integers(2, size=12)), grades


@pytest.mark.parametrize("around", [False, True])
def test_new_queries_are_ranked_and_scored_by_the_estimate_for_new_documents(around):
    rng = np.random.default_rng(8)
    queries = list(made(rng, 6))
    host = PairRank(6, length=5, seed=1)
    ranker = served(FairExp(host, tolerance=1.0) if around else host, queries, 300)
    new, _ = next(made(rng, 1))
    old, _ = queries[0]
    assert np.allclose(host.believe(new).scores, new.features @ host.model.theta_of_new)
    assert np.allclose(host.believe(old).scores, old.features @ host.model.theta)
    assert np.allclose(ranker.score(new.features), new.features @ host.model.theta_of_new)
    assert not np.allclose(host.model.theta_of_new, host.model.theta)


def test_a_given_regularization_stays_what_it_is():
    queries = list(made(np.random.default_rng(9), 4))
    ranker = served(PairRank(6, length=5, regularization=10.0, seed=1), queries, 200)
    assert ranker.seen_documents.with_any_of(queries[0][0].features)
    assert np.array_equal(ranker.model.theta_of_new, ranker.model.theta)


def test_what_is_learned_by_heart_is_held_against_new_queries():
    """MSLR's like, 12 worlds of 30 queries that come again and again: 40 queries that are new are ranked better."""
    gains = []
    for seed in range(12):
        train, test = (
            world("mslr-pagerank", n_queries=n, seed=seed, part=part) for n, part in ((30, "train"), (40, "test"))
        )
        queries = [(train.query(number), train.relevance(number)) for number in range(train.n_queries)]
        ranker = served(PairRank(train.n_features, seed=seed), queries, 300)
        found = [
            dataset_ndcg(test.features @ theta, test.grades, test.offsets).mean()
            for theta in (ranker.model.theta_of_new, ranker.model.theta)
        ]
        gains.append(found[0] - found[1])
    mean, error = np.mean(gains), np.std(gains, ddof=1) / np.sqrt(len(gains))
    assert mean > 2.0 * error
