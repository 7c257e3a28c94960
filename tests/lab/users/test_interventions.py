"""Shuffled and swapped sessions."""

from dataclasses import dataclass

import numpy as np
import pytest

from fairexp.errors import ArgumentError
from fairexp.kernels.data.clicks import shuffled_tops
from fairexp.lab.users import DependentClickModel, PositionBased, randomised_clicks, swapped_clicks


@dataclass
class Grades:
    grades: np.ndarray
    offsets: np.ndarray


def world(sizes, seed=0):
    rng = np.random.default_rng(seed)
    return Grades(rng.integers(0, 2, size=sum(sizes)), np.concatenate([[0], np.cumsum(sizes)]))


def test_tops_of_shuffles_are_distinct_and_uniform():
    """60,000 pairs from 4 documents: each of 12 ordered pairs 5,000 times, standard deviation 68; bound 4.5 of them."""
    tops = shuffled_tops(np.full(60_000, 4), np.random.default_rng(0).random((60_000, 2)))
    counts = np.zeros((4, 4), dtype=int)
    np.add.at(counts, (tops[:, 0], tops[:, 1]), 1)
    assert np.diag(counts).sum() == 0
    off_diagonal = counts[~np.eye(4, dtype=bool)]
    assert np.abs(off_diagonal - 5000).max() < 4.5 * 68


def test_shuffles_use_the_whole_query():
    tops = shuffled_tops(np.array([3, 7] * 50), np.random.default_rng(1).random((100, 3)))
    assert all(sorted(row) == [0, 1, 2] for row in tops[::2].tolist())
    assert set(tops[1::2].ravel().tolist()) == set(range(7))


def test_only_queries_that_are_long_enough_take_part():
    data = Grades(np.array([1, 1, 0, 0, 0, 0]), np.array([0, 2, 6]))
    everything = DependentClickModel([0.0, 1.0], [0.0, 0.0], seed=0)
    assert not randomised_clicks(data, everything, length=4, n_sessions=50, seed=0).any()
    assert randomised_clicks(data, everything, length=2, n_sessions=50, seed=0).any()
    with pytest.raises(ArgumentError, match="length: expected at most 4, the documents of the largest query"):
        randomised_clicks(data, everything, length=5, n_sessions=50)


def test_sessions_repeat_with_their_seeds_and_report_progress():
    data = world([12, 15, 30])
    done = []

    def run(seed):
        user = PositionBased(1.0 / np.arange(1, 11), [0.2, 0.8], seed=seed)
        return randomised_clicks(data, user, n_sessions=9000, seed=seed, on_progress=done.append)

    first = run(1)
    assert done == [4096, 8192, 9000]
    assert (first == run(1)).all()
    assert (first != run(2)).any()


def test_swaps_exchange_the_first_position_with_the_partner_half_of_the_time():
    """One query with one relevant document at the top: it is clicked where it stands.

    A share from S sessions has a standard deviation of at most .5 / sqrt(S); bound 4.5 of them.
    """
    data = Grades(np.array([1, 0, 0, 0]), np.array([0, 4]))
    user = DependentClickModel([0.0, 1.0], [0.0, 0.0], seed=0)
    clicks, partner = swapped_clicks(data, user, length=4, n_sessions=20_000, seed=3)
    assert (clicks.sum(axis=1) == 1).all()
    moved = ~clicks[:, 0]
    assert (clicks[moved].argmax(axis=1) + 1 == partner[moved]).all()
    assert abs(moved.mean() - 0.5) < 2.25 / np.sqrt(20_000)
    assert sorted(set(partner.tolist())) == [2, 3, 4]


def test_swaps_start_from_the_order_of_the_scores():
    data = Grades(np.array([0, 0, 1, 0, 0, 1]), np.array([0, 3, 6]))
    user = DependentClickModel([0.0, 1.0], [0.0, 0.0], seed=0)
    scores = [0.1, 0.2, 0.3, 0.0, 0.5, 0.9]
    clicks, partner = swapped_clicks(data, user, length=2, n_sessions=400, scores=scores, seed=3)
    assert (clicks.sum(axis=1) == 1).all()
    assert (partner == 2).all()
    with pytest.raises(ArgumentError, match="scores: expected 6 numbers, one per document"):
        swapped_clicks(data, user, length=2, n_sessions=4, scores=[1.0])
    with pytest.raises(ArgumentError, match="scores: expected numbers, got NaN at index 5"):
        swapped_clicks(data, user, length=2, n_sessions=4, scores=[*scores[:5], np.nan])
    with pytest.raises(ArgumentError, match="length: expected at least 2"):
        swapped_clicks(data, user, length=1, n_sessions=4)
