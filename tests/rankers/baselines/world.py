"""A small linear world in which one group is more relevant: what being fair is about."""

from __future__ import annotations

import numpy as np

from fairexp.fairness.exposure import exposure_curve
from fairexp.types import Query

LENGTH = 5
CURVE = exposure_curve("reciprocal", LENGTH)


class World:
    """Queries with relevance (n,) between 0 and 1 that is linear in the features; group 0 has more of it."""

    def __init__(self, seed=0, *, n_queries=30, n=14, n_features=6, advantage=0.25):
        rng = np.random.default_rng([seed, 5])
        weights = np.append(rng.random(n_features - 1) / (n_features - 1), 1.0)
        self.rng = rng
        self.queries, self.relevance = [], []
        for number in range(n_queries):
            features = rng.random((n, n_features))
            groups = rng.integers(2, size=n)
            groups[:2] = (0, 1)
            features[:, -1] = np.where(groups == 0, advantage, 0.0)
            ids = np.arange(n)
            self.queries.append(Query(features=features, groups=groups, query_id=number, document_ids=ids))
            self.relevance.append(np.clip(features @ weights * 0.7, 0.0, 1.0))

    def serve(self, ranker, n_rounds):
        """Relevance by exposure, of the best, by round; users look by position and click what is relevant."""
        shown, best = np.empty(n_rounds), np.empty(n_rounds)
        for t in range(n_rounds):
            q = int(self.rng.integers(len(self.queries)))
            ranking = ranker.rank(self.queries[q])
            relevance = self.relevance[q][ranking.shown]
            ranker.update(ranking, self.rng.random(len(ranking)) < relevance * CURVE[: len(ranking)])
            shown[t] = CURVE[: len(ranking)] @ relevance
            best[t] = CURVE @ np.sort(self.relevance[q])[::-1][:LENGTH]
        return shown / best


def with_weights(ranker, weights):
    """`ranker`, knowing relevance from the start: that of a linear model (d,)."""
    ranker._relevance.weights = np.asarray(weights, dtype=np.float64)
    return ranker
