"""Comparisons by interleaving: nobody wins by chance clicks, the better ranker wins by real ones."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from fairexp.errors import ArgumentError
from fairexp.interleaving import METHODS, Comparison, compare, interleave
from fairexp.lab.users import load_user
from fairexp.rankers.baselines.controls import FixedScores
from fairexp.types import Query
from tests.rankers.simulation import small_world

LISTS = [[0, 1, 2, 3, 4, 5], [3, 0, 5, 1, 2, 4], [5, 4, 3, 2, 1, 0]]
UNEVEN = [[0, 1, 2], [3, 0, 5, 1, 2, 4]]
REPETITIONS = 300
FAR = 4.0
"""Standard errors that a mean of nothing but chance does not reach with these seeds."""


def stream(n_visits, seed, *, user="perfect"):
    """Random queries of a linear world and simulated visits to them."""
    features, grades = small_world(seed=1)
    rng, person = np.random.default_rng(seed), load_user(user, n_grades=5, seed=seed)
    for _ in range(n_visits):
        q = int(rng.integers(len(features)))
        yield Query(features=features[q]), lambda shown, q=q: person.visit_many(grades[q][shown][None]).clicks[0]


def true_weights():
    """Those that `small_world` draws."""
    rng = np.random.default_rng(1)
    rng.random((150, 20, 10))
    return rng.standard_normal(10)


def models(*noise):
    """Linear rankers, each the truth with so much noise."""
    rng = np.random.default_rng(9)
    return {f"{each:g}": FixedScores(true_weights() + each * rng.standard_normal(10)) for each in noise}


@pytest.mark.parametrize("method", list(METHODS))
def test_clicks_that_go_by_position_alone_prefer_nobody(method):
    """However the chance of a click depends on the position, also where one list is better."""
    rng = np.random.default_rng(4)
    for chance in (np.array([0.9, 0.5, 0.2, 0.1]), np.array([0.2, 0.2, 0.2, 0.9])):
        credits = []
        for _ in range(2000):
            mixed = interleave(LISTS, length=4, method=method, seed=rng)
            credits.append(mixed.credit(rng.random(4) < chance))
        ahead = np.array(credits) - np.mean(credits, axis=1, keepdims=True)
        errors = ahead.std(axis=0) / np.sqrt(len(ahead))
        assert (np.abs(ahead.mean(axis=0)) < FAR * errors).all()


@pytest.mark.parametrize("n_visits", [2, 7, 40])
@pytest.mark.parametrize("lists", [LISTS[:2], LISTS, UNEVEN], ids=["two", "three", "of different lengths"])
@pytest.mark.parametrize("method", list(METHODS))
def test_chance_names_a_winner_as_rarely_as_the_level_says(method, lists, n_visits):
    """Clicks by position alone: any winner, by p-value or by an interval without 1/2, is a false alarm."""
    rng, by_p, by_interval, n_pairs = np.random.default_rng(7), 0, 0, 0
    for _ in range(REPETITIONS):
        comparison = Comparison([str(number) for number in range(len(lists))])
        for _ in range(n_visits):
            mixed = interleave(lists, length=6, method=method, seed=rng)
            comparison.add(mixed, rng.random(6) < [0.9, 0.5, 0.3, 0.2, 0.4, 0.4])
        pairs = comparison.pairs()
        by_p += any(row.p < 0.05 for row in pairs)  # Holm: once for all pairs
        by_interval += sum(row.low > 0.5 or row.high < 0.5 for row in pairs)
        n_pairs += len(pairs)
    assert by_p <= stats.binom.isf(1e-4, REPETITIONS, 0.05)
    # An interval speaks for its pair alone; those of one repetition are not independent.
    assert by_interval / n_pairs <= stats.binom.isf(1e-4, REPETITIONS, 0.05) / REPETITIONS


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("user", ["perfect", "informational"])
def test_the_better_ranker_wins(method, user):
    found = compare(models(0.2, 2.0), stream(1500, 3, user=user), method=method, seed=0).pairs()
    assert len(found) == 1 and found[0].visits == 1500
    assert found[0].low > 0.5 and found[0].p < 0.001


@pytest.mark.parametrize("method", list(METHODS))
def test_three_rankers_come_out_in_their_order_at_once(method):
    rankers = models(0.0, 0.7, 3.0)
    rows = compare(rankers, stream(2000, 5), method=method, seed=0).pairs()
    assert [(row.first, row.second) for row in rows] == [("0", "0.7"), ("0", "3"), ("0.7", "3")]
    assert all(row.low > 0.5 and row.p < 0.01 for row in rows)


@pytest.mark.parametrize("method", list(METHODS))
def test_swapping_the_rankers_turns_the_win_rate_round(method):
    rankers = models(0.2, 2.0)
    forwards = compare(rankers, stream(800, 3), method=method, seed=0).pairs()[0]
    swapped = {name: rankers[name] for name in reversed(rankers)}
    backwards = compare(swapped, stream(800, 3), method=method, seed=0).pairs()[0]
    assert forwards.win_rate == pytest.approx(1.0 - backwards.win_rate, abs=0.06)
    assert forwards.low > 0.5 > backwards.high


def test_wins_ties_and_intervals_are_counted_by_hand():
    comparison = Comparison(["a", "b"])
    mixed = interleave([[1, 2], [2, 1]], seed=0)
    ours = mixed.team == 0
    for clicks in (ours, ours, ours, ~ours, ours & ~ours):
        comparison.add(mixed, clicks)
    (row,) = comparison.pairs()
    assert (row.visits, row.win_rate) == (5, pytest.approx((3 + 0.5) / 5))
    outcomes = np.array([1.0, 1.0, 1.0, -1.0, 0.0])
    half = 2.7764451 * outcomes.std(ddof=1) / np.sqrt(5) / 2  # Student's t, 4 degrees
    assert (row.low, row.high) == (pytest.approx(0.7 - half, abs=1e-6), pytest.approx(1.0))
    assert "0.700" in str(comparison) and "interval" in str(comparison)


def test_what_cannot_be_compared_is_refused():
    for names in (["a"], ["a", "a"]):
        with pytest.raises(ArgumentError, match="names: expected two names or more"):
            Comparison(names)
    comparison = Comparison(["a", "b", "c"])
    assert comparison.pairs() == []
    with pytest.raises(ArgumentError, match="mixed: expected 3, one for each ranker, got 2 lists"):
        comparison.add(interleave([[1], [2]], length=1), [True])


def test_the_page_on_interleaving_does_what_it_says():
    page = Path(__file__).resolve().parents[2] / "docs" / "interleaving.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, page.name, "exec"), {})
