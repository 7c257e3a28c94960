"""The ledger's arithmetic against sums written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairexp.errors import ArgumentError
from fairexp.fairness.ledger import Ledger, pair_gaps, within
from fairexp.lab.metrics import exposure_by_group, pair_unfairness, total_discount

AMOUNTS = st.floats(0.0, 100.0)


@given(st.lists(st.tuples(AMOUNTS, st.floats(0.1, 10.0)), min_size=2, max_size=5))
def test_gaps_are_those_of_the_formula(groups):
    exposure, shares = (np.array(column) for column in zip(*groups, strict=True))
    ledger = Ledger(shares, exposure)
    expected = [[e - w / v * f for f, v in groups] for e, w in groups]
    assert np.array_equal(ledger.gaps(), expected)
    pairs = [abs(expected[g][h]) for g in range(len(groups)) for h in range(g + 1, len(groups))]
    assert ledger.largest_gap == max(pairs)
    assert ledger.keeps(max(pairs)) and not ledger.keeps(max(pairs) - 1e-3)
    assert np.array_equal(pair_unfairness(exposure, shares), expected)
    if len(groups) == 2:
        assert ledger.unfairness == expected[0][1]


def test_an_account_is_restored_and_goes_on_alike():
    shares, rng = [2.0, 1.0, 1.0], np.random.default_rng(3)
    ledger = Ledger(shares)
    for half in range(2):
        if half:
            restored = Ledger(shares, ledger.exposure)
        for _ in range(20):
            groups, exposure = rng.integers(3, size=6), rng.random(6)
            for each in (ledger, restored) if half else (ledger,):
                each.charge(groups, exposure)
    assert np.array_equal(ledger.exposure, restored.exposure)
    restored.forget()
    assert restored.largest_gap == 0.0 < ledger.largest_gap


def test_a_restored_account_is_its_own():
    exposure = np.array([1.0, 2.0])
    ledger = Ledger([1.0, 1.0], exposure)
    exposure[0] = 5.0
    assert ledger.unfairness == -1.0


@pytest.mark.parametrize(
    ("exposure", "expected"),
    [
        ([1.0], "2 numbers, one per share"),
        ([1.0, np.nan], "2 finite numbers, one per share"),
        ([1.0, np.inf], "2 finite numbers, one per share"),
        ([[1.0, 2.0]], "2 numbers, one per share"),
    ],
)
def test_an_account_that_does_not_fit_is_refused(exposure, expected):
    with pytest.raises(ArgumentError, match=f"exposure: expected {expected}"):
        Ledger([1.0, 1.0], np.array(exposure))


def test_gaps_of_many_accounts_at_once_are_those_of_each():
    accounts, shares = np.random.default_rng(4).random((7, 3)), np.array([1.0, 2.0, 5.0])
    assert np.array_equal(pair_gaps(accounts, shares), [Ledger(shares, account).gaps() for account in accounts])


def test_rounding_alone_is_not_beyond_the_tolerance():
    assert within(sum([0.1] * 3), 0.3) and not within(0.3 + 2e-9, 0.3)


def test_the_amounts_of_a_ranking_are_the_metric_s():
    groups, exposure = np.array([2, 0, 2]), np.array([1.0, 0.5, 0.25])
    assert np.array_equal(Ledger([1.0] * 3).amounts(groups, exposure), exposure_by_group(groups, exposure, n_groups=3))


@pytest.mark.parametrize(("first", "last"), [(0, 1), (0, 40), (17, 40)])
def test_the_discount_of_rounds_is_their_sum(first, last):
    assert total_discount(last, first=first) == pytest.approx(sum(0.9995**t for t in range(first, last)), rel=1e-12)
