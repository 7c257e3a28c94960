"""Exposure by group, and unfairness of pairs and traces."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.errors import ArgumentError
from fairexp.lab.metrics import exposure_by_group, pair_unfairness, unfairness_trace

amounts = st.floats(0, 100)
weights = st.floats(0.1, 10)


@pytest.mark.parametrize(("beta", "expected"), [(1.0, 1.21667), (1.22, 1.09933)])
def test_the_paper_s_template(beta, expected):
    """AABAB with reciprocal exposure."""
    spent = exposure_by_group([0, 0, 1, 0, 1], 1.0 / np.arange(1, 11), n_groups=2)
    assert pair_unfairness(spent, [beta, 1.0])[0, 1] == pytest.approx(expected, abs=5e-6)


@pytest.mark.parametrize(("template", "expected"), [("000", 1.8333), ("001", 1.1667), ("010", 0.8333), ("011", 0.1667)])
def test_templates_of_three(template, expected):
    groups = [int(g) for g in template]
    for signs, sign in ((groups, 1), ([1 - g for g in groups], -1)):
        spent = exposure_by_group(signs, 1.0 / np.arange(1, 4), n_groups=2)
        assert pair_unfairness(spent, [1.0, 1.0])[0, 1] == pytest.approx(sign * expected, abs=5e-5)


@given(pairs=st.lists(st.tuples(amounts, weights), min_size=2, max_size=4))
@settings(deadline=None, derandomize=True, max_examples=50)
def test_every_pair_by_definition(pairs):
    spent, shares = (np.array(column) for column in zip(*pairs, strict=True))
    matrix = pair_unfairness(spent, shares)
    for g in range(len(pairs)):
        for h in range(len(pairs)):
            assert matrix[g, h] == pytest.approx(spent[g] - shares[g] / shares[h] * spent[h], abs=1e-9)
            assert matrix[g, h] * shares[h] == pytest.approx(-matrix[h, g] * shares[g], abs=1e-9)


def test_exposure_in_proportion_to_shares_is_fair():
    assert np.abs(pair_unfairness([6.0, 3.0, 1.5], [4, 2, 1])).max() == 0.0


def test_a_trace_accumulates():
    rounds = np.random.default_rng(0).random((20, 3))
    trace = unfairness_trace(rounds, [1.0, 2.0, 3.0])
    assert trace.shape == (20, 3, 3)
    for t in (0, 7, 19):
        assert trace[t] == pytest.approx(pair_unfairness(rounds[: t + 1].sum(axis=0), [1.0, 2.0, 3.0]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pair_unfairness([1.0, 2.0, 3.0], [1.0, 1.0]), "exposure: expected 2 groups, as many as shares, got 3"),
        (lambda: pair_unfairness([1.0, 2.0], [1.0, 0.0]), "shares: expected finite numbers above 0"),
        (lambda: pair_unfairness([1.0, 2.0], []), "shares: expected at least two numbers"),
        (lambda: pair_unfairness([1.0, np.inf], [1.0, 1.0]), "exposure: expected finite exposures"),
        (lambda: pair_unfairness("ab", [1.0, 1.0]), "exposure: expected an array of exposures"),
        (lambda: unfairness_trace([1.0, 2.0], [1.0, 1.0]), "exposure: expected an array of exposures"),
        (lambda: exposure_by_group([0, 2], [1.0, 0.5], n_groups=2), "template: expected groups 0 to 1, got group 2"),
        (lambda: exposure_by_group([0, 1], [1.0], n_groups=2), "exposure: expected at least 2"),
        (lambda: exposure_by_group([0, -1], [1.0, 0.5], n_groups=2), "template: expected group numbers of at least 0"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
