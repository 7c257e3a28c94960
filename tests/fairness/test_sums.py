"""Sums over rounds against what they say: all rounds, the last ones, or rounds that count less as they age."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.errors import ArgumentError
from fairexp.fairness.ledger import Ledger, new_sum


def plain_sum(rounds, window, half_life):
    """The same by the definition: every round kept, weighted by its age."""
    ages = np.arange(len(rounds))[::-1]
    weights = np.ones(len(rounds))
    if window is not None:
        weights = (ages < window).astype(float)
    if half_life is not None:
        weights = 0.5 ** (ages / half_life)
    return np.tensordot(weights, np.array(rounds), axes=1) if rounds else 0.0


KINDS = [{}, {"window": 1}, {"window": 5}, {"half_life": 3.0}, {"half_life": 0.5}]


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_what_is_added_and_corrected_counts_by_its_age(kind, seed):
    rng = np.random.default_rng(seed)
    total, rounds = new_sum(1, 3, **kind), []
    window, half_life = kind.get("window"), kind.get("half_life")
    for _ in range(12):
        before = plain_sum([*rounds, np.zeros((1, 3))], window, half_life)
        assert total.ahead() == pytest.approx(np.broadcast_to(before, (1, 3)))
        rounds.append(rng.random((1, 3)))
        total.add(rounds[-1])
        ago = int(rng.integers(len(rounds)))
        change = rng.normal(size=(1, 3))
        rounds[-1 - ago] = rounds[-1 - ago] + change
        total.correct(ago, change)
        assert total.now() == pytest.approx(plain_sum(rounds, window, half_life))
    copy = new_sum(1, 3, **kind)
    copy.restore(total.state())
    for each in (total, copy):
        each.add(np.ones((1, 3)))
    assert np.array_equal(copy.now(), total.now())


def test_a_window_and_a_half_life_exclude_each_other():
    with pytest.raises(ArgumentError, match="window"):
        new_sum(1, 2, window=3, half_life=2.0)


@given(seed=st.integers(0, 2**32 - 1), n_groups=st.integers(2, 4))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_a_ledger_that_accrues_is_an_ordinary_one_while_shares_stay(seed, n_groups):
    rng = np.random.default_rng(seed)
    shares = rng.uniform(0.2, 2.0, n_groups)
    plain, accruing = Ledger(shares), Ledger(shares, accrues=True)
    for _ in range(10):
        groups, exposure = rng.integers(0, n_groups, 6), rng.random(6)
        for each in (plain, accruing):
            each.charge(groups, exposure)
        assert np.allclose(accruing.gaps(), plain.gaps(), atol=1e-9)
        assert np.allclose(accruing.exposure, plain.exposure)


def test_a_ledger_that_accrues_does_not_rewrite_the_past():
    ledger = Ledger((1.0, 1.0), accrues=True)
    ledger.charge(np.array([0, 1]), np.array([50.0, 50.0]))
    ledger.shares = np.array([0.9, 0.1])
    assert ledger.largest_gap == 0.0
    ledger.charge(np.array([0, 1]), np.array([0.9, 0.1]))
    assert ledger.largest_gap == pytest.approx(0.0, abs=1e-9)
    assert Ledger((0.9, 0.1), exposure=np.array([50.9, 50.1])).largest_gap > 300
