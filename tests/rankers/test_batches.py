"""Batches and parts against plain versions of the same."""

from __future__ import annotations

import numpy as np

from fairexp.kernels.bandits.batches import (
    count_batches,
    count_trials,
    is_mixed,
    is_unsettled,
    least_counted,
    part_orders,
    smallest_counts,
    with_trials,
)


def random_parts(rng):
    """Lists, first positions, phases (-1 for dropped), and an order by dropped, first and chance."""
    n = int(rng.integers(1, 9))
    lists, first, phase = rng.integers(2, size=n), rng.integers(1, 4, size=n), rng.choice([-1, 1, 2], size=n)
    return n, lists, first, phase, np.lexsort((rng.random(n), first, phase < 0))


def test_the_smallest_count_of_a_class_and_who_is_counted():
    rng = np.random.default_rng(0)
    for _ in range(100):
        n = int(rng.integers(1, 9))
        rows = rng.permutation(12)[:n]
        rows[rng.random(n) < 0.2] = -1
        classes, counts, clicked = rng.integers(3, size=n), rng.integers(9, size=12) * 1.0, np.zeros(12)
        for i, found in enumerate(smallest_counts(classes, rows, counts)):
            known = [counts[rows[j]] for j in range(n) if classes[j] == classes[i] and rows[j] >= 0]
            assert found == min(known, default=np.inf)
        own_counts = counts[:n]
        least = [own_counts[i] == own_counts[classes == classes[i]].min() for i in range(n)]
        assert least_counted(classes, own_counts).tolist() == least
        shown = rng.permutation(n)[: int(rng.integers(1, n + 1))]
        clicks, due = rng.random(len(shown)) < 0.5, rng.random(n) < 0.7
        noted, own, before = rng.integers(2, size=(2, n)), rng.integers(2, size=(2, 12)), counts.copy()
        tried = count_batches(rows, shown, clicks, due, tuple(noted), (*own, counts, clicked), 3.0)
        expected = [i for i in shown if rows[i] >= 0 and due[i] and (noted[:, i] == own[:, rows[i]]).all()]
        assert tried.tolist() == [i for i in expected if counts[rows[i]] >= 3.0]
        assert np.array_equal(np.flatnonzero(counts - before), np.sort(rows[expected]))
        assert clicked.sum() == sum(clicks[shown.tolist().index(i)] for i in expected)
        known = rows >= 0
        kinds = {(c, *own[:, row]) for c, row in zip(classes[known], rows[known], strict=True)}
        assert is_mixed(classes[known], rows[known], *own) == (len(kinds) > len(set(classes[known].tolist())))


def test_blocks_and_orders_of_parts():
    rng = np.random.default_rng(1)
    for _ in range(200):
        _, lists, first, phase, order = random_parts(rng)
        scores, block, above = part_orders(order, lists, first, phase)
        assert np.array_equal(scores[order], -np.arange(len(order)))
        assert np.array_equal(block, np.unique((phase < 0) * 9 + first, return_inverse=True)[1].reshape(-1))
        same = lists[:, None] == lists[None, :]
        assert np.array_equal(above, (first[:, None] < first[None, :]) & same & (phase >= 0)[:, None])


def test_trials_move_one_of_each_part_to_its_front_as_often_as_they_are_left():
    rng = np.random.default_rng(2)
    for _ in range(200):
        n, lists, first, phase, order = random_parts(rng)
        quota, counts, chances = rng.integers(4, size=n), rng.integers(3, size=n) * 1.0, rng.random(n)
        fresh = rng.random(n) < 0.5
        left = np.where(fresh, quota, np.maximum(quota - counts, 0.0))
        draw = with_trials(order, lists, first, phase, quota, counts, fresh, chances)
        expected = order.copy()
        for each, start in set(zip(lists[phase >= 0].tolist(), first[phase >= 0].tolist(), strict=True)):
            at = np.flatnonzero((lists[order] == each) & (first[order] == start) & (phase[order] >= 0))
            sums = np.cumsum(left[order[at]])
            chosen = int((sums <= chances[order[at[0]]] * sums[-1]).sum()) if sums[-1] else 0
            expected[at[: chosen + 1]] = np.roll(order[at[: chosen + 1]], 1)
        assert np.array_equal(draw, expected)


def test_the_first_shown_of_each_part_is_tried():
    rng = np.random.default_rng(3)
    for _ in range(200):
        n, lists, first, phase, order = random_parts(rng)
        rows = rng.permutation(n)
        rows[rng.random(n) < 0.2] = -1
        counts, clicked, shown = np.zeros(n), np.zeros(n), rng.permutation(order)[: int(rng.integers(1, n + 1))]
        own = rng.integers(1, 3, size=(2, n))
        rewards = rng.random(len(shown))
        count_trials(rows, shown, rewards, lists, (first, phase), (*own, counts, clicked))
        seen, expected = set(), np.zeros((2, n))
        for i, reward in zip(shown, rewards, strict=True):
            part = (lists[i], first[i])
            if phase[i] >= 0 and part not in seen:
                seen.add(part)
                if rows[i] >= 0 and (own[:, rows[i]] == (first[i], phase[i])).all():
                    expected[:, rows[i]] = 1.0, reward
        assert np.array_equal(counts, expected[0]) and np.array_equal(clicked, expected[1])


def test_a_part_is_unsettled_when_it_is_new_mixed_or_done():
    lists, first, phase = np.zeros(3, dtype=int), np.array([1, 1, 2]), np.array([1, 1, 2])
    quota, counts = np.array([2, 2, 2]), np.array([2.0, 1.0, 0.0])
    assert not is_unsettled(lists, first, phase, quota, counts)
    assert is_unsettled(lists, np.array([1, 0, 2]), phase, quota, counts)
    assert is_unsettled(lists, first, np.array([1, 2, 2]), quota, counts)
    assert is_unsettled(lists, first, np.array([1, 1, 0]), quota, counts)
    assert is_unsettled(lists, first, phase, quota, np.array([2.0, 2.0, 0.0]))
    assert not is_unsettled(lists, first, np.array([1, 1, -1]), quota, np.array([2.0, 1.0, 9.0]))
    assert not is_unsettled(np.array([0, 1, 0]), first, np.array([1, 2, 2]), quota, np.zeros(3))
