"""A small linear world with perfect users: enough to see whether a ranker learns."""

from __future__ import annotations

import numpy as np

from fairexp.types import Query

CLICK_CHANCE = np.array([0.0, 0.2, 0.4, 0.8, 1.0])


def small_world(seed, *, n_queries=150, n_documents=20, n_features=10):
    """Features (q, n, d) and grades (q, n): a linear truth cut at its .5, .8, .93 and .98 quantiles."""
    rng = np.random.default_rng(seed)
    features = rng.random((n_queries, n_documents, n_features))
    truth = features @ rng.standard_normal(n_features)
    return features, np.searchsorted(np.quantile(truth, [0.5, 0.8, 0.93, 0.98]), truth)


def ndcg(shown_grades, grades, k=10):
    discount = 1.0 / np.log2(np.arange(2, k + 2))
    ideal = ((2.0 ** np.sort(grades)[::-1][:k] - 1.0) * discount).sum()
    return ((2.0 ** shown_grades[:k] - 1.0) * discount).sum() / ideal if ideal else np.nan


def learn(ranker, features, grades, n_rounds, seed):
    """Serve `n_rounds` random queries to perfect users; the mean NDCG@10 of the learned scores afterwards."""
    rng = np.random.default_rng(seed)
    for _ in range(n_rounds):
        q = rng.integers(len(features))
        ranking = ranker.rank(Query(features=features[q]))
        ranker.update(ranking, rng.random(len(ranking)) < CLICK_CHANCE[grades[q][ranking.shown]])
    ordered = [np.argsort(-ranker.score(x), kind="stable") for x in features]
    return np.nanmean([ndcg(g[order], g) for g, order in zip(grades, ordered, strict=True)])
