"""The queries that checks show to a ranker: ordinary ones and awkward ones, the same for the same arguments."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.checks.failure import demand
from fairexp.ranker import Ranker
from fairexp.types import Query, Ranking
from fairexp.validation import check_count

Factory = Callable[[int], Ranker]

SIZES = (12, 1, 30, 3, 2, 17)
"""Candidates per ordinary query, in turn: more and fewer than are shown, down to one."""


def ordinary_queries(n_features: int, n_groups: int, *, seed: int, n_queries: int = 12) -> list[Query]:
    """Queries with uniform features and random groups, sizes from 1 to 30.

    >>> [query.n_candidates for query in ordinary_queries(5, 2, seed=0, n_queries=3)]
    [12, 1, 30]
    """
    rng = np.random.default_rng([seed, 1])
    queries = []
    for number in range(n_queries):
        n = SIZES[number % len(SIZES)]
        queries.append(_query(rng.random((n, n_features)), rng.integers(n_groups, size=n), f"ordinary-{number}"))
    return queries


def awkward_queries(n_features: int, n_groups: int, *, seed: int) -> list[Query]:
    """Queries that are legal and unpleasant: duplicates, zeros, constants, one group only, huge and tiny numbers."""
    rng = np.random.default_rng([seed, 2])
    uniform = rng.random((15, n_features))
    groups = rng.integers(n_groups, size=15)
    return [
        _query(np.repeat(uniform[:3], 5, axis=0), groups, "duplicates"),
        _query(np.zeros((15, n_features)), groups, "zero features"),
        _query(np.full((15, n_features), 0.5), groups, "constant features"),
        _query(uniform, np.zeros(15, dtype=np.int64), "one group"),
        _query(uniform * 1e50, groups, "huge features"),
        _query(-uniform * 1e6, groups, "large negative features"),
        _query(uniform * 1e-300, groups, "tiny features"),
        _query(uniform[:1], groups[:1], "one candidate"),
    ]


def all_queries(n_features: int, n_groups: int, *, seed: int) -> list[Query]:
    """Every query that `check_ranker` shows: what an oracle under check must know the grades of."""
    return ordinary_queries(n_features, n_groups, seed=seed) + awkward_queries(n_features, n_groups, seed=seed)


class World:
    """What a check works with: rankers from a factory, queries to show them, and clicks.

    Clicks depend on the seed and the round alone, so that two rankers can be fed the same.
    """

    n_short = 15
    """Rounds of a short run; more than the number of ordinary queries, so that some come again."""

    def __init__(self, factory: Factory, *, n_features: int, n_groups: int, seed: int, rounds: int) -> None:
        self._factory = factory
        self.n_features = check_count("n_features", n_features)
        self.n_groups = check_count("n_groups", n_groups)
        self.seed = seed
        self.rounds = check_count("rounds", rounds)
        self.queries = ordinary_queries(n_features, n_groups, seed=seed)
        self.awkward = awkward_queries(n_features, n_groups, seed=seed)

    def make(self, seed: int) -> Ranker:
        """A new ranker; a `CheckFailed` if the factory does not make one."""
        ranker = self._factory(seed)
        problem = f"factory({seed}) returned a {type(ranker).__name__}, expected a fairexp.ranker.Ranker"
        demand(isinstance(ranker, Ranker), "the factory makes rankers", problem)
        return ranker

    def query(self, number: int) -> Query:
        """The query of round `number`."""
        return self.queries[number % len(self.queries)]

    def click(self, ranking: Ranking, number: int) -> Bools:
        """Clicks (m,) of round `number`; every fourth round has none, every fifth has all."""
        if number % 4 == 3:
            return np.zeros(len(ranking), dtype=np.bool_)
        if number % 5 == 4:
            return np.ones(len(ranking), dtype=np.bool_)
        return np.random.default_rng([self.seed, 3, number]).random(len(ranking)) < 0.4

    def play(self, ranker: Ranker, n_rounds: int, *, start: int = 0) -> list[Ranking]:
        """Rank and give feedback at once for `n_rounds` rounds from round `start` on; the rankings."""
        rankings = []
        for number in range(start, start + n_rounds):
            ranking = ranker.rank(self.query(number))
            ranker.update(ranking, self.click(ranking, number))
            rankings.append(ranking)
        return rankings


def _query(features: Floats, groups: Ints, query_id: str) -> Query:
    ids = np.array([f"{query_id}-{number}" for number in range(len(features))])
    return Query(features=features, groups=groups, query_id=query_id, document_ids=ids)
