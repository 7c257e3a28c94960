"""The replay of the authors' code against brute force: its blocks, its choice of a list, its estimate."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from benchmarks.authors import AuthorsFairExp
from fairexp.types import Query
from tests.reference.pairrank import blocks, certain_orders

N_FEATURES = 4


def learned(seed: int, *, rounds: int = 30, **settings: float) -> AuthorsFairExp:
    """A replay after some rounds of random queries and clicks."""
    rng, ranker = np.random.default_rng(seed), AuthorsFairExp(N_FEATURES, seed=seed, length=4, **settings)
    for _ in range(rounds):
        ranking = ranker.rank(a_query(rng))
        ranker.update(ranking, rng.random(len(ranking.shown)) < 0.4)
    return ranker


def a_query(rng: np.random.Generator) -> Query:
    n = int(rng.integers(3, 8))
    return Query(rng.random((n, N_FEATURES)), rng.integers(2, size=n))


@pytest.mark.parametrize("seed", range(5))
def test_theta_minimises_the_mean_loss_and_the_matrix_holds_every_pair(seed: int) -> None:
    ranker = learned(seed)
    rows = ranker.rows[: ranker.n_rows]
    assert len(rows) > 10
    best = minimize(
        lambda theta: np.logaddexp(0.0, -rows @ theta).mean() + 0.1 * theta @ theta, np.zeros(N_FEATURES), tol=1e-12
    )
    np.testing.assert_allclose(ranker.theta, best.x, atol=1e-5)
    np.testing.assert_allclose(np.linalg.inv(ranker.inverse), 0.1 * np.eye(N_FEATURES) + rows.T @ rows, rtol=1e-8)


def test_no_document_is_in_two_pairs_of_a_round_and_none_is_taken_from_below_the_one_after_the_last_click() -> None:
    ranker, features = AuthorsFairExp(6, length=6), np.eye(6)
    ranking = ranker.rank(Query(features, np.array([0, 1] * 3)))
    ranker.update(ranking, np.array([False, True, False, False, False, False]))
    assert ranker.n_rows == 1
    ranker.update(ranking, np.array([True, False, True, False, False, True]))
    rows = ranker.rows[: ranker.n_rows] @ ranking.features.T
    assert len(rows) == 4 and rows[0, 1] == 1.0 and -1.0 in rows[0, [0, 2]]
    assert sorted(np.flatnonzero(row == 1.0)[0] for row in rows[1:]) == [0, 2, 5]
    assert sorted(np.flatnonzero(row == -1.0)[0] for row in rows[1:]) == [1, 3, 4]


@pytest.mark.parametrize("seed", range(20))
def test_the_list_is_the_one_that_brute_force_over_templates_finds(seed: int) -> None:
    ranker = learned(seed, tolerance=0.3, alpha=0.02)
    query = a_query(np.random.default_rng([seed, 1]))
    assert query.groups is not None
    certain = certain_orders(query.features @ ranker.theta, query.features, ranker.inverse, 0.02)
    number = blocks(certain)
    inside = certain & (number[:, None] == number[None, :])
    order = sorted(range(len(number)), key=lambda i: (number[i], inside[:, i].sum(), -inside[i].sum(), i))
    before, k, found = ranker.ledger.unfairness, min(4, len(order)), []
    for template in product((1, 0), repeat=k):  # group 0 first, as numbers of the template fall
        queues = [[i for i in order if query.groups[i] == group] for group in (0, 1)]
        groups = [0 if of_first else 1 for of_first in template]
        if any(groups.count(group) > len(queues[group]) for group in (0, 1)):
            continue
        after = before + sum((1 if group == 0 else -1) / (p + 1) for p, group in enumerate(groups))
        shown = [queues[group].pop(0) for group in groups]
        cost = sum(certain[shown[q], shown[p]] for p in range(k) for q in range(p + 1, k))
        found.append((abs(after) > 0.3 + 1e-12, abs(after), cost, shown))
    qualified = [each for each in found if not each[0]]
    least = min(each[2] for each in qualified) if qualified else 0
    among = [each for each in qualified if each[2] == least] or found
    smallest = min(each[1] for each in among)
    ranking = ranker.rank(query)
    assert ranker.ledger.largest_gap == pytest.approx(smallest)
    assert ranking.shown.tolist() in [each[3] for each in among if each[1] == pytest.approx(smallest)]
