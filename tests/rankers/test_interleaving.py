"""Interleaving: known values, brute-force twins, and the symmetry between the two rankers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.errors import ArgumentError
from fairexp.kernels.learning.interleaving import draft_by_score, draw_interleaved, expected_sign
from fairexp.rankers.interleaving import (
    probabilistic,
    probabilistic_preference,
    team_draft,
    team_draft_preference,
)
from tests.reference import dbgd as reference

modest = settings(deadline=None, derandomize=True, max_examples=60)


@modest
@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 10_000))
def test_team_draft_equals_the_obvious_one(n, length, seed):
    rng = np.random.default_rng(seed)
    current = rng.permutation(n)
    rival = current.copy()
    if n > 1:
        at = rng.integers(n - 1)  # a shared prefix of random length
        rival[at:] = rng.permutation(rival[at:])
    coins = rng.random(length)
    m = min(length, n)
    shown, team = np.empty(m, dtype=np.int64), np.empty(m)
    places = -np.argsort(current).astype(float), -np.argsort(rival).astype(float)
    draft_by_score(*places, np.concatenate([rng.random(n), coins[:m]]), shown, team)
    expected = reference.team_draft(current, rival, coins < 0.5, length)
    assert (shown.tolist(), team.tolist()) == (list(expected[0]), expected[1])


def test_the_shared_prefix_is_credited_to_nobody():
    rng = np.random.default_rng(0)
    shown, credit = team_draft(np.array([9.0, 8, 3, 2]), np.array([9.0, 8, 2, 3]), length=4, rng=rng)
    assert shown[:2].tolist() == [0, 1]
    assert credit[:2].tolist() == [0.0, 0.0]
    assert sorted(credit[2:]) == [-1.0, 1.0]
    assert team_draft_preference(credit, np.array([True, True, False, False])) == 0.0


@pytest.mark.parametrize("interleave", [team_draft, probabilistic])
def test_rankers_that_agree_have_no_winner_even_where_all_scores_tie(interleave):
    prefer = team_draft_preference if interleave is team_draft else probabilistic_preference
    for seed in range(20):
        rng = np.random.default_rng(seed)
        _, credit = interleave(np.zeros(8), np.zeros(8), length=5, rng=rng)
        assert prefer(credit, rng.random(5) < 0.6) == 0.0


def test_ties_are_broken_uniformly():
    rng = np.random.default_rng(3)
    first = [int(team_draft(np.zeros(4), np.zeros(4), length=2, rng=rng).shown[0]) for _ in range(2000)]
    counts = np.bincount(first, minlength=4)
    assert ((counts - 500.0) ** 2 / 500.0).sum() < 16.27  # chi-squared, 3 degrees of freedom, p = .001


def test_first_slot_probabilities_of_three_documents():
    order = np.arange(3)
    rng = np.random.default_rng(5)
    first = [draw_interleaved(order, order, rng.random(1), 3.0)[0][0] for _ in range(40_000)]
    assert reference.rank_softmax(order, {0, 1, 2}) == pytest.approx([0.8606, 0.1076, 0.0319], abs=5e-5)
    edges = np.cumsum([0.8606, 0.1076])
    for uniform, document in ((edges[0] - 1e-3, 0), (edges[0] + 1e-3, 1), (edges[1] - 1e-3, 1), (edges[1] + 1e-3, 2)):
        assert draw_interleaved(order, order, np.array([uniform]), 3.0)[0][0] == document
    assert np.bincount(first) / len(first) == pytest.approx([0.8606, 0.1076, 0.0319], abs=0.006)


@modest
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 10_000))
def test_probabilistic_chances_equal_the_obvious_ones(n, length, seed):
    rng = np.random.default_rng(seed)
    current, rival = rng.permutation(n), rng.permutation(n)
    shown, chance = draw_interleaved(current, rival, rng.random(min(n, length)), 3.0)
    left = set(range(n))
    assert len(set(shown.tolist())) == min(n, length)
    for document, p in zip(shown.tolist(), chance, strict=True):
        by_current, by_rival = reference.rank_softmax(current, left), reference.rank_softmax(rival, left)
        assert p == pytest.approx(by_rival[document] / (by_current[document] + by_rival[document]), abs=1e-12)
        left.remove(document)


def test_a_uniform_close_to_one_still_finds_a_document():
    almost_one = np.nextafter(1.0, 0.0)
    shown, _ = draw_interleaved(np.arange(7), np.arange(7)[::-1].copy(), np.full(7, almost_one), 3.0)
    assert sorted(shown) == list(range(7))


@modest
@given(st.lists(st.floats(0, 1), max_size=8))
def test_preference_equals_the_sum_over_all_assignments(chance):
    chance = np.array(chance, dtype=np.float64)
    assert expected_sign(chance) == pytest.approx(reference.expected_sign(chance), abs=1e-12)


@modest
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_swapping_the_rankers_flips_the_preference(chance):
    chance = np.array(chance)
    clicks = np.ones(len(chance), dtype=bool)
    forwards, backwards = probabilistic_preference(chance, clicks), probabilistic_preference(1.0 - chance, clicks)
    assert forwards == pytest.approx(-backwards, abs=2e-12)


def test_lists_of_different_documents_are_refused():
    with pytest.raises(ArgumentError, match=r"rival_scores: expected one per document.*got shape"):
        team_draft(np.zeros(3), np.zeros(4), length=2, rng=np.random.default_rng(0))
