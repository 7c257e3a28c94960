"""Team draft and probabilistic interleaving: known values, brute-force twins, and symmetry between rankers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.errors import ArgumentError
from fairexp.interleaving import interleave, probabilistic, team_draft
from fairexp.kernels.gradient.interleaving import draft, draw, expected_signs
from fairexp.kernels.gradient.replays import replay_lists
from tests.reference import interleaving as reference

modest = settings(deadline=None, derandomize=True, max_examples=80)
sizes = st.integers(1, 9)


def partial_lists(rng, r, n):
    """Lists of some of n documents, often with a shared top, and their scores; every document is on a list."""
    common = rng.permutation(n)[: rng.integers(n)] if rng.random() < 0.5 else np.empty(0, dtype=int)
    lists = []
    for _ in range(r):
        rest = rng.permutation(np.setdiff1d(np.arange(n), common))
        lists.append(np.concatenate([common, rest])[: n if rng.random() < 0.5 else rng.integers(1, n + 1)])
    lists[-1] = np.concatenate([lists[-1], rng.permutation(np.setdiff1d(np.arange(n), lists[-1]))])
    scores = np.full((r, n), -np.inf)
    for row, each in zip(scores, lists, strict=True):
        row[each] = -np.arange(len(each))
    return lists, scores


@modest
@given(st.integers(2, 5), sizes, sizes, st.integers(0, 10_000))
def test_team_draft_equals_the_obvious_one(r, n, length, seed):
    rng = np.random.default_rng(seed)
    lists, scores = partial_lists(rng, r, n)
    m = min(n, length)
    shown, team, coins = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64), rng.random(m)
    draft(scores, np.concatenate([rng.random(n), coins]), shown, team)
    assert (shown.tolist(), team.tolist()) == reference.team_draft(lists, coins, length)


@modest
@given(st.integers(2, 4), sizes, sizes, st.integers(0, 10_000))
def test_probabilistic_chances_equal_the_obvious_ones(r, n, length, seed):
    rng = np.random.default_rng(seed)
    lists, scores = partial_lists(rng, r, n)
    m = min(n, length)
    shown, chances = np.empty(m, dtype=np.int64), np.empty((m, r))
    draw(scores, rng.random(n), rng.random(m), 3.0, shown, chances)
    assert len(set(shown.tolist())) == m
    assert chances == pytest.approx(reference.chances_of(lists, shown.tolist()), abs=1e-9)


@modest
@given(st.integers(1, 4), sizes, st.integers(1, 4), st.integers(0, 10_000))
def test_chances_of_lists_that_others_showed_equal_the_obvious_ones(r, n, h, seed):
    rng = np.random.default_rng(seed)
    scores, lengths = rng.random((r, h * n)), rng.integers(1, n + 1, size=h)
    sizes_of = np.array([rng.integers(length, n + 1) for length in lengths])
    chances = replay_lists(scores, rng.random(n), sizes_of, lengths, 3.0, n)
    for place in range(h):
        lists = [np.argsort(-row[place * n : place * n + sizes_of[place]]).tolist() for row in scores]
        expected = reference.chances_of(lists, range(lengths[place]))
        assert chances[place, : lengths[place]] == pytest.approx(expected, abs=1e-9)


def test_first_slot_probabilities_of_three_documents():
    order = [0, 1, 2]
    assert reference.rank_softmax(order, {0, 1, 2}) == pytest.approx([0.8606, 0.1076, 0.0319], abs=5e-5)
    scores = -np.arange(3.0)[None]
    shown, chances = np.empty(1, dtype=np.int64), np.empty((1, 1))
    edges = np.cumsum(reference.rank_softmax(order, {0, 1, 2}))
    for uniform, document in ((edges[0] - 1e-3, 0), (edges[0] + 1e-3, 1), (edges[1] - 1e-3, 1), (edges[1] + 1e-3, 2)):
        draw(scores, np.zeros(3), np.array([uniform]), 3.0, shown, chances)
        assert shown[0] == document


def test_lists_are_drawn_as_often_as_their_chances_say():
    lists, draws = [[0, 1, 2], [2, 0]], 6000
    counts: dict[tuple[int, ...], int] = {}
    rng = np.random.default_rng(5)
    for _ in range(draws):
        shown = tuple(interleave(lists, length=2, method="probabilistic", seed=rng).shown.tolist())
        counts[shown] = counts.get(shown, 0) + 1
    expected = {shown: draws * np.prod(reference.chances_of(lists, shown).mean(axis=1)) for shown in counts}
    assert sum(expected.values()) == pytest.approx(draws)
    assert sum((counts[o] - expected[o]) ** 2 / expected[o] for o in counts) < 20.5  # 5 degrees, p = .001


def test_a_uniform_close_to_one_still_finds_a_document():
    almost_one = np.nextafter(1.0, 0.0)
    scores = np.stack([np.arange(7.0), -np.arange(7.0)])
    shown, chances = np.empty(7, dtype=np.int64), np.empty((7, 2))
    draw(scores, np.zeros(7), np.full(7, almost_one), 3.0, shown, chances)
    assert sorted(shown) == list(range(7))


@modest
@given(st.integers(2, 3), st.integers(0, 6), st.integers(0, 10_000))
def test_preferences_equal_the_sum_over_all_assignments(r, c, seed):
    rng = np.random.default_rng(seed)
    chances = rng.random((c, r)) * (rng.random((c, r)) < 0.8)
    chances[:, -1] += 0.01
    signs = expected_signs(chances, 0)
    expected = [reference.expected_sign(chances, ranker, 0) for ranker in range(r)]
    assert signs == pytest.approx(expected, abs=1e-12)


def test_the_shared_top_is_credited_to_nobody():
    mixed = interleave([["a", "b", "c", "d"], ["a", "b", "d", "c"], ["a", "b", "c"]], seed=0)
    assert mixed.shown[:2].tolist() == ["a", "b"]
    assert mixed.credit([True, True, False, False]).tolist() == [0.0, 0.0, 0.0]
    assert sorted(mixed.credit([False, False, True, False])) == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("method", ["team-draft", "probabilistic"])
def test_below_the_end_of_the_shortest_list_clicks_count_for_nobody(method):
    for seed in range(20):
        mixed = interleave([["a", "b"], ["c", "d", "e", "f"]], method=method, seed=seed)
        assert len(mixed.shown) == 6 and mixed.n_credited == 2
        assert mixed.credit([True, True, False, False, False, False]).sum() == pytest.approx(2.0)
        below = [False, False, True, True, True, True]
        assert not mixed.credit(below).any() and not mixed.preferences(below).any()


@pytest.mark.parametrize("method", ["team-draft", "probabilistic"])
def test_rankers_that_agree_have_no_winner(method):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        mixed = interleave([[4, 2, 7, 1]] * 3, length=3, method=method, seed=seed)
        assert not mixed.preferences(rng.random(3) < 0.6).any()


@pytest.mark.parametrize("make", [team_draft, probabilistic])
def test_rankers_that_agree_have_no_winner_even_where_all_scores_tie(make):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        assert not make(np.zeros((2, 8)), length=5, rng=rng).preferences(rng.random(5) < 0.6).any()


def test_ties_are_broken_uniformly():
    rng = np.random.default_rng(3)
    first = [int(team_draft(np.zeros((2, 4)), length=2, rng=rng).shown[0]) for _ in range(2000)]
    counts = np.bincount(first, minlength=4)
    assert ((counts - 500.0) ** 2 / 500.0).sum() < 16.27  # chi-squared, 3 degrees of freedom, p = .001


@pytest.mark.parametrize("method", ["team-draft", "probabilistic"])
def test_preferences_are_antisymmetric_and_credit_shares_out_clicks(method):
    rng = np.random.default_rng(1)
    for seed in range(20):
        lists = [rng.permutation(6) for _ in range(4)]
        mixed = interleave(lists, length=5, method=method, seed=seed)
        clicks = rng.random(5) < 0.5
        preferences = mixed.preferences(clicks)
        assert preferences == pytest.approx(-preferences.T, abs=1e-12)
        credit = mixed.credit(clicks)
        assert credit.shape == (4,)
        if method == "probabilistic":
            assert credit.sum() == pytest.approx(clicks.sum())
        if method == "team-draft":
            assert credit.sum() == (clicks & (mixed.team >= 0)).sum()


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ([[1, 2]], "lists: expected at least two, got 1"),
        ([[1, 2], [1, 1]], r"lists\[1\]: expected documents that differ"),
        ([[1, 2], [[1, 2]]], r"lists\[1\]: expected documents as whole numbers or texts"),
        ([[1, 2], ["a"]], "lists: expected documents of one kind"),
        ([[1, 2], [0.5]], r"lists\[1\]: expected documents as"),
    ],
)
def test_lists_that_make_no_sense_are_refused(lists, message):
    with pytest.raises(ArgumentError, match=message):
        interleave(lists)


def test_other_arguments_that_make_no_sense_are_refused():
    with pytest.raises(ArgumentError, match="method: expected one of 'team-draft', 'probabilistic'"):
        interleave([[1], [2]], method="balanced")
    with pytest.raises(ArgumentError, match="length"):
        interleave([[1], [2]], length=0)
    with pytest.raises(ArgumentError, match="scores: expected a row for each of two rankers or more"):
        team_draft(np.zeros((1, 3)), length=2, rng=np.random.default_rng(0))
    with pytest.raises(ArgumentError, match="clicks"):
        interleave([[1, 2], [2, 1]]).credit([True])
