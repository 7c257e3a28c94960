"""Rounds of the click bandits inside FairExp: per query against 50 microseconds, across queries against their algebra.

A round is rank and update at 20 documents and 10 positions. What Python's own calls take is measured in the same turns,
by a ranker whose hooks do nothing and that has no FairExp around it; the search and all of FairExp is in the round.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.harness import Bar, Outcome, Part, compare, no_garbage
from benchmarks.workloads import pool
from fairexp import FairExp, Query
from fairexp.arrays import Bools, Floats, Ints
from fairexp.ranker import Host, Ranker
from fairexp.rankers import RANKERS
from fairexp.rankers.bandits.per_query import PerQuery
from fairexp.registry import construct, ranker_class
from fairexp.types import Belief, Ranking

N, LENGTH, N_QUERIES, D = 20, 10, 10, 46
WIDE = (125, 136)
"""Documents and features of the queries that contextual hosts are measured with."""

WARM_UP, PER_TURN = 500, 20
"""Rounds before; and rounds of which a sample is the median, so short that one that is interrupted would stand out."""

ALLOWED = 50e-6
"""Seconds that a round of a per-query host may take beyond Python's own calls."""

CONTEXTUAL = ("c3-ucb", "cascade-linucb")
EXAMINATION = 0.8 ** np.arange(LENGTH)


class Idle(Host):
    """A ranker whose hooks do nothing: the order given, and no learning."""

    def __init__(self, n_features: int, *, length: int) -> None:
        super().__init__(n_features, length=length, seed=0)
        nothing: Bools = np.zeros((N, N), dtype=np.bool_)
        self._belief = Belief(np.zeros(N), np.arange(N), np.zeros(N, dtype=np.int64), nothing)

    def believe(self, query: Query, rng: np.random.Generator | None = None) -> Belief:
        return self._belief

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        pass

    def _score(self, features: Floats) -> Floats:
        return features[:, 0]


def parts(quick: bool) -> Iterator[Part]:
    """A row for each host that learns per query, and for each that learns linear rates."""
    turns = 20 if quick else 100
    for name in sorted(RANKERS):
        cls = ranker_class(name)
        if issubclass(cls, PerQuery) and issubclass(cls, Host):
            yield partial(per_query_row, name, turns=turns)
    for name in CONTEXTUAL:
        yield partial(contextual_row, name, turns=turns)


def per_query_row(name: str, *, turns: int) -> Iterator[Outcome]:
    """What a round takes beyond an idle one's calls, against what is allowed."""
    queries, attraction = few_queries()
    ranker, idle = around(name), Idle(D, length=LENGTH)
    taken, draws = np.zeros((2, turns, PER_TURN)), np.random.default_rng(1)
    with no_garbage():
        for number in range(-WARM_UP, turns * PER_TURN):
            query, chance = queries[number % N_QUERIES], draws.random(LENGTH)
            spent = [played(each, query, attraction, chance) for each in (ranker, idle)]
            if number >= 0:
                taken[:, number // PER_TURN, number % PER_TURN] = spent
    whole, calls = np.median(taken, axis=2)
    floor = f"Python's own calls ({1e6 * np.median(calls):.0f} microseconds)"
    what = f"a round of FairExp({name}), n={N}, k={LENGTH}, beyond {floor}"
    yield compare(what, "50 microseconds", Bar(1.0), whole - calls, np.full(turns, ALLOWED))


def contextual_row(name: str, *, turns: int) -> Iterator[Outcome]:
    """A round against the widths of all documents, the update of the inverse by what was examined, and the weights."""
    queries, draws = pool(*WIDE), np.random.default_rng(1)
    n, d = WIDE
    ranker, inverse, moment = around(name, d), np.eye(d), np.zeros(d)
    taken = np.zeros((2, turns, PER_TURN))
    with no_garbage():
        for number in range(-WARM_UP, turns * PER_TURN):
            query, grades = queries[number % len(queries)]
            attraction, chance = 0.05 + 0.2 * grades, draws.random(LENGTH)
            spent = played(ranker, query, attraction, chance)
            rows = query.features[: examined(chance, attraction)]
            started = time.perf_counter()
            widths = np.einsum("ij,ij->i", query.features @ inverse, query.features)
            scores = query.features @ (inverse @ moment)
            np.argsort(scores + np.sqrt(widths))
            spread = rows @ inverse
            inverse -= spread.T @ np.linalg.solve(np.eye(len(rows)) + spread @ rows.T, spread)
            if number >= 0:
                taken[:, number // PER_TURN, number % PER_TURN] = spent, time.perf_counter() - started
    whole, algebra = np.median(taken, axis=2)
    what = f"a round of FairExp({name}), n={n}, k={LENGTH}, d={d}"
    yield compare(what, "widths, a rank-m update of the inverse, scores, in NumPy", Bar(3.0), whole, algebra)


def few_queries() -> tuple[list[Query], Floats]:
    """Queries that come again and again, with the same documents, and how attractive (n,) those are."""
    rng = np.random.default_rng(0)
    attraction, groups = rng.random(N), rng.integers(2, size=N)
    features = rng.random((N, D)) / D
    ids: Ints = np.arange(N)
    return [Query(features, groups, query_id=f"q{i}", document_ids=ids) for i in range(N_QUERIES)], attraction


def around(name: str, d: int = D) -> FairExp:
    """FairExp around the host called `name`."""
    known = {"n_features": d, "length": LENGTH, "seed": 1, "tolerance": 0.1, "beta": 1.0}
    ranker = construct(f"fairexp-{name}", {}, known=known)
    assert isinstance(ranker, FairExp)
    return ranker


def examined(chance: Floats, attraction: Floats) -> int:
    """How many documents a user reads who would leave with the first click."""
    clicked = np.flatnonzero(chance < attraction[:LENGTH] * EXAMINATION)
    return int(clicked[0]) + 1 if len(clicked) else LENGTH


def played(ranker: Ranker, query: Query, attraction: Floats, chance: Floats) -> float:
    """Seconds of rank and update in one round of users who read less and less further down."""
    started = time.perf_counter()
    ranking = ranker.rank(query)
    ranked = time.perf_counter()
    clicks = chance < attraction[ranking.shown] * EXAMINATION
    learning = time.perf_counter()
    ranker.update(ranking, clicks)
    return ranked - started + time.perf_counter() - learning
