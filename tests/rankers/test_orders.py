"""Closure, layers, blocks and exchangeability against brute force, and the optimal design's own certificate."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp.kernels.bandits.orders import blocks_along, chains, count_duels, exchange_neighbours, layers, net_orders
from fairexp.rankers.bandits.design import coordinates, fitted, optimal_design, trials
from fairexp.rankers.bandits.orders import add_orders, exchangeable, interval_belief


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


def test_net_orders_are_those_above_less_those_below():
    better = random_order(np.random.default_rng(4), 7)
    assert np.array_equal(net_orders(better), better.sum(axis=1) - better.sum(axis=0))


def plain_chain(trails, keys, length):
    """One chain step by step: who trails nobody that waits comes next, the smallest key first; then the rest."""
    order, waiting = [], list(range(len(keys)))
    while len(order) < length:
        ready = [i for i in waiting if not trails[i, waiting].any()]
        if not ready:
            break
        order.append(min(ready, key=lambda i: keys[i]))
        waiting.remove(order[-1])
    rest = sorted(waiting, key=lambda i: (trails[i, waiting].sum(), keys[i]))
    return order + rest, len(order)


def test_a_chain_trails_nobody_below_and_is_as_long_as_any():
    rng = np.random.default_rng(5)
    for _ in range(200):
        n = int(rng.integers(1, 8))
        trails, keys, length = rng.random((n, n)) < 0.25, rng.random(n), int(rng.integers(1, n + 1))
        np.fill_diagonal(trails, False)
        lists = rng.integers(2, size=n)
        rank, is_open = chains(-1.0 * trails, lists, keys, length)
        for each in set(lists.tolist()):
            members = np.flatnonzero(lists == each)
            order, n_chained = plain_chain(trails[np.ix_(members, members)], keys[members], length)
            assert members[order].tolist() == members[np.argsort(rank[members])].tolist()
            assert (is_open[members] == (n_chained < min(length, len(members)))).all()


def test_duels_are_counted_between_exchangeable_documents_of_which_one_was_clicked():
    """Against the plain sum over pairs; documents that were forgotten count for nothing."""
    rng = np.random.default_rng(6)
    for _ in range(100):
        n, size = int(rng.integers(1, 8)), 9
        lead, duels = np.zeros((2, size, size))
        rows = rng.permutation(size)[:n]
        rows[rng.random(n) < 0.2] = -1
        classes, shown = rng.integers(3, size=n), rng.permutation(n)[: int(rng.integers(1, n + 1))]
        clicks, clicked = rng.random(len(shown)) < 0.5, np.zeros(n)
        clicked[shown] = clicks
        found = count_duels(lead, duels, rows, classes, shown, clicks, 1.0)
        won = set()
        for i in range(n):
            for j in range(n):
                if rows[i] >= 0 and rows[j] >= 0:
                    difference = (clicked[i] - clicked[j]) * (classes[i] == classes[j])
                    assert lead[rows[i], rows[j]] == difference and duels[rows[i], rows[j]] == abs(difference)
                    won |= {(rows[i], rows[j])} if difference > 0 else set()
        assert duels.sum() == 2 * len(won) and set(map(tuple, found.tolist())) == won
        assert len(count_duels(lead, duels, rows, classes, shown, clicks, 2.5)) == 0  # leads of 2 in 2


def pairs_of(order, border, better, rng):
    """The pairs of positions that `exchange_neighbours` may exchange in one draw, which it does or leaves."""
    n = len(order)
    lists, is_open = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)
    draw, classes, scores = exchange_neighbours(order, lists, is_open, better, border, False, rng.random((4, n)))
    assert np.array_equal(np.argsort(-scores), order)
    place = np.argsort(order)
    pairs = {(int(place[classes[i]]), int(place[i])) for i in range(n) if classes[i] != i}
    moved = {(int(p), int(place[draw[p]])) for p in range(n) if draw[p] != order[p] and p < place[draw[p]]}
    assert moved <= pairs and sorted(draw.tolist()) == list(range(n))
    return tuple(sorted(pairs)), tuple(sorted(moved))


def test_neighbours_meet_and_the_last_meets_an_outsider():
    rng, order = np.random.default_rng(0), np.array([4, 2, 0, 1, 3, 5])
    nothing = np.zeros((6, 6), dtype=bool)
    seen = [pairs_of(order, 3, nothing, rng) for _ in range(400)]
    assert {pairs for pairs, _ in seen} == {((0, 1), (2, 3)), ((0, 1), (2, 4)), ((0, 1), (2, 5)), ((1, 2),)}
    exchanged = np.mean([len(moved) / len(pairs) for pairs, moved in seen])
    assert 0.4 < exchanged < 0.6
    certain = nothing.copy()
    certain[4, 2] = certain[0, 1] = certain[0, 5] = True
    assert {pairs_of(order, 3, certain, rng)[0] for _ in range(300)} == {((2, 4),), ((1, 2),)}


def test_lists_exchange_apart_with_borders_of_their_own_and_open_ones_are_shuffled():
    rng, order = np.random.default_rng(1), np.arange(6)
    lists, nothing = np.array([0, 1, 0, 1, 0, 0]), np.zeros((6, 6), dtype=bool)
    is_open, partners, shuffles = lists == 1, set(), set()
    for _ in range(600):
        draw, classes, _ = exchange_neighbours(order, lists, is_open, nothing, 2, True, rng.random((4, 6)))
        assert (lists[draw] == lists).all() and classes[[1, 3]].tolist() == [1, 1]
        shuffles.add(tuple(draw[[1, 3]].tolist()))
        partners |= {(int(classes[i]), i) for i in (0, 2, 4, 5) if classes[i] != i}
    # A border of 1: the first meets any other; of 2: the first two meet, or the second an outsider.
    assert shuffles == {(1, 3), (3, 1)} and partners == {(0, 2), (0, 4), (0, 5), (2, 4), (2, 5)}
