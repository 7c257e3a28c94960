"""Rounds of the fair rivals against the work that they cannot avoid, and against plain NumPy versions of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np

from benchmarks.harness import Bar, Outcome, Part, by_turns, compare
from benchmarks.workloads import pool
from fairexp import Query
from fairexp.arrays import Bools
from fairexp.kernels.algebra.linear import bounded_scores, top_documents
from fairexp.kernels.algebra.regression import absorb, add_rows
from fairexp.registry import construct
from fairexp.scaling import MAX_NORM
from tests.reference import rivals as plain

N, D, LENGTH = 125, 136, 10
METHODS = ("mcfair", "fara", "offr", "p-mmf", "mmf", "ears", "xquad")
"""All have the same floor: scores, a top list, and one update of the regression of ten rows."""

Round = Callable[[Query, Bools], None]
Queries = list[tuple[Query, Bools]]


def parts(quick: bool) -> Iterator[Part]:
    """Two rows for each rival at n = 125, d = 136, k = 10; users click what is relevant."""
    queries = [(query, grades >= 1) for query, grades in pool(N, D)]
    turns = 15 if quick else 60
    for name in METHODS:
        peer = getattr(plain, name.replace("-", "_"))
        yield partial(row, name, _floor(), "scores, a top list and a rank-10 update", Bar(3.0), queries, turns=turns)
        yield partial(row, name, _plain(peer), "plain NumPy", Bar(5.0, at_most=False), queries, turns=turns)
    yield partial(row, "offr-pairrank", _ours("pairrank"), "PairRank alone", Bar(1.5), queries, turns=turns)
    yield partial(row, "lp-fair", _program(), "HiGHS on a program of that size", Bar(3.0), queries, turns=turns)


def row(name: str, against: Round, label: str, bar: Bar, queries: Queries, *, turns: int) -> Iterator[Outcome]:
    """A rival's round (rank and update) by turns with `against`, on the same queries."""
    ours, mine, theirs = _ours(name), cycle(queries), cycle(queries)
    a, b = by_turns(lambda: ours(*next(mine)), lambda: against(*next(theirs)), turns=turns, times=(16, 16))
    yield compare(f"{name} round, n={N}, d={D}", label, bar, a, b)


def _ours(name: str) -> Round:
    known = {"n_features": D, "length": LENGTH, "merit": (1.0, 1.0), "shares": (1.0, 1.0), "seed": 0}
    ranker = construct(name, {}, known=known)

    def play(query: Query, relevant: Bools) -> None:
        ranking = ranker.rank(query)
        ranker.update(ranking, relevant[ranking.shown])

    return play


def _plain(choose: Any) -> Round:
    ranker = plain.PlainRival(choose, D, length=LENGTH)

    def play(query: Query, relevant: Bools) -> None:
        shown = ranker.rank(query.features, query.groups)
        ranker.update(query.features[shown], relevant[shown])

    return play


def _floor() -> Round:
    """The arithmetic of a round and nothing else: no account, no records, no checks, no random numbers."""
    matrix, inverse, moment, weights = np.eye(D), np.eye(D), np.zeros(D), np.zeros(D)
    keys = np.zeros(N)

    def play(query: Query, relevant: Bools) -> None:
        nonlocal moment, weights
        shown = top_documents(bounded_scores(query.features, weights, MAX_NORM), keys, LENGTH)
        rows = query.features[shown]
        add_rows(matrix, rows)
        spread = rows @ inverse
        absorb(inverse, spread, spread @ rows.T, np.inf)
        moment = moment + relevant[shown] @ rows
        weights = inverse @ moment

    return play


def _program() -> Round:
    """A linear program with a variable for each position of twenty documents, solved and nothing else."""
    from scipy import optimize, sparse

    rng = np.random.default_rng(0)
    curve, n_documents = 1.0 / np.arange(1, LENGTH + 1), 2 * LENGTH
    rows = sparse.kron(sparse.eye_array(n_documents), np.ones((1, LENGTH)))
    columns = sparse.kron(np.ones((1, n_documents)), sparse.eye_array(LENGTH))
    gap = np.outer(np.where(np.arange(n_documents) < LENGTH, 1.0, -1.0), curve).ravel()[None, :]
    limits = sparse.vstack([rows, sparse.csr_array(np.vstack([gap, -gap]))]).tocsc()
    bounds = np.append(np.ones(n_documents), [0.1, 0.1])

    def play(query: Query, relevant: Bools) -> None:
        costs = -np.outer(rng.random(n_documents), curve).ravel()
        optimize.linprog(costs, A_ub=limits, b_ub=bounds, A_eq=columns, b_eq=np.ones(LENGTH), method="highs")

    return play
