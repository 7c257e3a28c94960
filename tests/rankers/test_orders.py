"""Closure, layers, blocks and exchangeability against brute force, and the optimal design's own certificate."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp.rankers.bandits.parts.design import coordinates, fitted, optimal_design, trials
from fairexp.rankers.bandits.parts.orders import add_orders, blocks_along, exchangeable, interval_belief, layers


def random_order(rng, n, density=0.3):
    """A transitively closed, acyclic relation over documents in a random order."""
    better = np.triu(rng.random((n, n)) < density, 1)
    for k in range(n):
        better |= better[:, k, None] & better[None, k, :]
    shuffled = rng.permutation(n)
    return better[np.ix_(shuffled, shuffled)]


def test_orders_stay_closed_and_free_of_contradictions():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(1, 9))
        better = random_order(rng, n)
        before, found = better.copy(), rng.random((n, n)) < 0.2
        changed = add_orders(better, found)
        assert changed == (better != before).any() and not (before & ~better).any()
        assert not (better & better.T).any()
        assert not ((better.astype(int) @ better.astype(int) > 0) & ~better).any()
        asked = found & ~np.eye(n, dtype=bool)
        assert not (asked & ~better & ~better.T).any()


def test_layers_are_the_longest_way_down():
    rng = np.random.default_rng(1)
    for _ in range(100):
        better = random_order(rng, int(rng.integers(1, 9)))
        layer = layers(better)
        for j in range(len(better)):
            above = np.flatnonzero(better[:, j])
            assert layer[j] == (layer[above].max() + 1 if len(above) else 0)


def test_blocks_end_where_all_orders_across_are_certain():
    rng = np.random.default_rng(2)
    for _ in range(200):
        n = int(rng.integers(1, 9))
        order = rng.permutation(n)
        better = np.zeros((n, n), dtype=bool)
        better[np.ix_(order, order)] = np.triu(rng.random((n, n)) < 0.85, 1)
        block = blocks_along(order, better)[order]
        for p in range(n - 1):
            assert (block[p + 1] > block[p]) == better[np.ix_(order[: p + 1], order[p + 1 :])].all()


def test_the_belief_of_an_optimist():
    rng = np.random.default_rng(3)
    for _ in range(200):
        n = int(rng.integers(1, 9))
        lower = rng.random(n)
        upper = lower + 0.3 * rng.random(n)
        belief = interval_belief(lower, lower, upper, rng)
        assert (np.diff(upper[belief.draw]) <= 0).all()
        assert np.array_equal(belief.certain_order, lower[:, None] > upper[None, :])
        assert np.array_equal(belief.block, blocks_along(belief.draw, belief.certain_order))


def test_without_templates_a_block_is_exchangeable_and_with_them_a_group_of_it_that_stands_alike():
    block, groups = np.array([0, 0, 0, 0, 1]), np.array([0, 0, 1, 1, 0])
    better = np.zeros((5, 5), dtype=bool)
    assert exchangeable(block, better, None).tolist() == block.tolist()
    classes = exchangeable(block, better, groups)
    assert classes[0] == classes[1] and classes[2] == classes[3] and len(set(classes.tolist())) == 3
    better[2, 4] = True  # 2 and 3 now stand differently towards the other group; 0 and 1 do not
    classes = exchangeable(block, better, groups)
    assert classes[0] == classes[1] and classes[2] != classes[3]


@pytest.mark.parametrize(("n", "d"), [(6, 2), (30, 5), (4, 10), (50, 3)])
def test_a_design_is_optimal_when_no_variance_exceeds_the_dimensions(n, d):
    """Kiefer and Wolfowitz: the largest variance of the best design is the number of dimensions, of others more."""
    features = np.random.default_rng(n).random((n, d))
    points = coordinates(features)
    shares = optimal_design(points)
    inverse = np.linalg.inv((points * shares[:, None]).T @ points)
    rank = points.shape[1]
    assert rank == min(n, d) and shares.sum() == pytest.approx(1.0)
    assert np.einsum("ij,jk,ik->i", points, inverse, points).max() <= 1.15 * rank
    assert (trials(features, 10.0) >= shares * 10.0 * rank).all()


def test_least_squares_is_exact_where_rates_are_linear():
    rng = np.random.default_rng(4)
    features = rng.random((12, 3))
    truth = features @ [0.2, 0.3, 0.1]
    counts = trials(features, 50.0).astype(float)
    assert fitted(features, counts, counts * truth) == pytest.approx(truth)
    assert fitted(1e6 * features, counts, counts * truth) == pytest.approx(truth)
    assert fitted(np.zeros((3, 2)), np.ones(3), np.ones(3)).tolist() == [0.0, 0.0, 0.0]
