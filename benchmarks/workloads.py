"""Queries, rankers and floors that several benchmarks measure."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from fairexp import FairExp, PairRank, Query
from fairexp.arrays import Floats, Ints
from fairexp.lab.data import Dataset, world
from fairexp.lab.users import load_user

WARM_UP = 300
"""Rounds after which beliefs are typical: some orders are certain, most are not."""


@lru_cache(maxsize=4)
def documents(name: str) -> Dataset:
    """A synthetic world that is large enough for any of the benchmarks' queries."""
    return world(name, n_queries=200, seed=0)


def pool(n: int, d: int, *, n_groups: int = 2, count: int = 16) -> list[tuple[Query, Ints]]:
    """`count` queries of `n` documents with `d` features, cut from a synthetic world, each with its grades (n,).

    More than two groups are quantiles of a feature.
    """
    data = documents("mslr-pagerank" if d <= 136 else "yahoo-9")
    repeats = -(-d // data.n_features)
    features = np.tile(data.features, (1, repeats))[:, :d]
    groups = data.groups
    if n_groups > 2:
        cuts = np.quantile(features[:, 0], np.arange(1, n_groups) / n_groups)
        groups = np.searchsorted(cuts, features[:, 0])
    assert groups is not None
    made = []
    for i in range(count):
        rows = np.arange(i * n, (i + 1) * n) % data.n_documents
        made.append((Query(features=features[rows], groups=groups[rows]), data.grades[rows]))
    return made


def warm_ranker(
    queries: list[tuple[Query, Ints]],
    *,
    length: int = 10,
    rounds: int = WARM_UP,
    each: Callable[[FairExp, Query], None] | None = None,
    **settings: Any,
) -> FairExp:
    """FairExp around PairRank(**settings) after some rounds of perfect users; `each` is called before every round."""
    shares = np.ones(1 + max(int(query.groups.max()) for query, _ in queries if query.groups is not None))
    host = PairRank(queries[0][0].features.shape[1], length=length, seed=1, **settings)
    ranker = FairExp(host, tolerance=0.1, shares=shares, seed=2)
    user = load_user("perfect", n_grades=5, seed=3)
    for t in range(rounds):
        query, grades = queries[t % len(queries)]
        if each is not None:
            each(ranker, query)
        ranking = ranker.rank(query)
        ranker.update(ranking, user.browse(ranking, grades))
    return ranker


def products(features: Floats, inverse: Floats) -> Floats:
    """X M^-1 X^T: the two matrix products that a ranking with pairwise confidence cannot avoid."""
    return np.asarray((features @ inverse) @ features.T)


def floor(n: int = 125, d: int = 136) -> Callable[[], Floats]:
    """The products of one query with `n` documents and `d` features; at the default shape this is F."""
    rng = np.random.default_rng(0)
    features = pool(n, d, count=1)[0][0].features
    rows = rng.standard_normal((2 * d, d))
    inverse = np.linalg.inv(np.eye(d) + rows.T @ rows)
    return lambda: products(features, inverse)
