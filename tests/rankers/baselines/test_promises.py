"""What OFFR and P-MMF promise of their own objectives, on streams where relevance is known and the optimum is too."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from fairexp import Query
from fairexp.rankers import OFFR, PMMF
from fairexp.rankers.baselines.objective import OBJECTIVES
from tests.rankers.baselines.world import with_weights


def offr_values(name, shares, smoothing):
    """The concave objective of shares (..., 2) that two groups of equal merit have."""
    v = 2.0 * shares
    if name == "deviation":
        return -np.sqrt(smoothing + np.mean((v - 1.0) ** 2, axis=-1))
    if name == "softmin":
        return -smoothing * np.log(np.exp(-v / smoothing).sum(axis=-1))
    return np.mean(np.log(smoothing + v), axis=-1)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_lists_come_as_near_to_the_best_trade_as_frank_wolfe_promises(name):
    """With two groups an optimum mixes two lists: all pairs of lists, on a grid of shares."""
    relevance, groups = np.array([0.9, 0.8, 0.3, 0.2]), np.array([0, 0, 1, 1])
    curve, fairness, smoothing = np.array([1.0, 0.5]), 0.3, 0.01 if name == "deviation" else 0.1
    lists = np.array(list(permutations(range(4), 2)))

    def value(utility, shares):
        return (1.0 - fairness) * utility + fairness * offr_values(name, shares, smoothing)

    given = np.zeros((len(lists), 2))
    for position, amount in enumerate(curve):
        given[np.arange(len(lists)), groups[lists[:, position]]] += amount / curve.sum()
    utilities = relevance[lists] @ curve / curve.sum()
    mixes = np.linspace(0.0, 1.0, 201)
    best = max(
        value(mixes * utilities[a] + (1 - mixes) * utilities[b], np.outer(mixes, given[a] - given[b]) + given[b]).max()
        for a in range(len(lists))
        for b in range(len(lists))
    )
    chosen = {"fairness": fairness, "objective": name, "smoothing": smoothing}
    ranker = with_weights(OFFR(1, length=2, exposure=curve, merit=(1.0, 1.0), **chosen, seed=0), [1.0])
    query = Query(features=relevance[:, None], groups=groups)
    utility, gaps = 0.0, {}
    for t in range(1, 4001):
        utility += relevance[ranker.rank(query).shown] @ curve / curve.sum()
        if t in (40, 400, 4000):
            gaps[t] = best - value(utility / t, ranker.spent / ranker.spent.sum())
    assert all(-1e-9 <= gap <= 1.0 / np.sqrt(t) for t, gap in gaps.items())
    assert gaps[4000] < 0.2 * gaps[40]


LENGTH = 3
SHARES = np.array([0.5, 0.3, 0.2])
BOOST, CAPACITY = 0.4, 2.0


def some_queries(n_queries=4, n=12, seed=3):
    """Queries in which the group with the largest share is the least relevant."""
    rng = np.random.default_rng(seed)
    queries = []
    for _ in range(n_queries):
        groups = rng.permutation(np.arange(n) % 3)
        relevance = np.clip(0.5 * rng.random(n) + np.array([0.0, 0.2, 0.4])[groups], 0.0, 1.0)
        queries.append(Query(features=relevance[:, None], groups=groups))
    return queries


def best_by_linear_program(queries):
    """The most that mean relevance plus BOOST times the least exposure per share can be, by any mix of lists."""
    linprog = pytest.importorskip("scipy.optimize").linprog
    groups = np.concatenate([query.groups for query in queries])
    n, each = len(groups), 1.0 / (LENGTH * len(queries))
    by_group = each * (groups == np.arange(3)[:, None]) / SHARES[:, None]  # (3, n): of chances, exposure per share
    cost = -np.append(each * np.concatenate([query.features[:, 0] for query in queries]), BOOST)
    worst = np.hstack([-by_group, np.ones((3, 1))])
    most = np.hstack([by_group, np.zeros((3, 1))])
    of_query = np.repeat(np.arange(len(queries)), [len(query.groups) for query in queries])
    full = np.hstack([of_query == np.arange(len(queries))[:, None], np.zeros((len(queries), 1))])
    solved = linprog(
        cost,
        A_ub=np.vstack([worst, most]),
        b_ub=np.repeat([0.0, CAPACITY], 3),
        A_eq=full,
        b_eq=np.full(len(queries), float(LENGTH)),
        bounds=[(0.0, 1.0)] * n + [(0.0, None)],
    )
    assert solved.status == 0
    return -solved.fun


def reached_by(ranker, queries, n_rounds):
    """The same objective of the lists that `ranker` shows."""
    relevance = 0.0
    for t in range(n_rounds):
        query = queries[t % len(queries)]
        relevance += float(query.features[ranker.rank(query).shown, 0].mean())
    worst = (ranker.spent / ranker.spent.sum() / SHARES).min()
    return relevance / n_rounds + BOOST * worst


@pytest.mark.parametrize("momentum", [1.0, 0.5])
def test_prices_come_as_near_to_the_linear_program_as_dual_descent_promises(momentum):
    """Steps of BOOST / (G sqrt T) lose BOOST * G / sqrt T to the dual, and as much for each query of the cycle.

    G is the longest a subgradient can be, (CAPACITY * SHARES - exposure) / SHARES; the best price of hindsight has
    the length BOOST.
    """
    queries = some_queries()
    longest = max(np.linalg.norm(CAPACITY - np.eye(3)[g] / SHARES) for g in range(3))
    best, gaps = best_by_linear_program(queries), {}

    def gap(n_rounds, step):
        chosen = {"merit": SHARES, "exposure": np.ones(LENGTH), "boost": BOOST, "capacity": CAPACITY, "step": step}
        ranker = PMMF(1, length=LENGTH, horizon=n_rounds, momentum=momentum, seed=0, **chosen)
        return best - reached_by(with_weights(ranker, [1.0]), queries, n_rounds)

    for n_rounds in (400, 6400):
        bound = (1 + len(queries)) * BOOST * longest / np.sqrt(n_rounds)
        gaps[n_rounds] = gap(n_rounds, BOOST / (longest * np.sqrt(n_rounds)))
        assert -1e-9 <= gaps[n_rounds] <= bound
    assert gaps[6400] < 0.5 * gaps[400]
    assert gap(6400, 0.0) > bound  # prices that never move would be noticed
