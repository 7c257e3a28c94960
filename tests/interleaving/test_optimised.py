"""Optimised interleaving: chances that treat rankers alike, and what is left where none do."""

from __future__ import annotations

import sys
from itertools import product

import numpy as np
import pytest

from fairexp.errors import MissingExtraError
from fairexp.interleaving import interleave, optimised
from fairexp.interleaving.linear_program import chances_of_lists


def every_list(orders, m):
    """All lists that the prefix rule can make."""
    lists = set()
    for owners in product(range(len(orders)), repeat=m):
        shown = []
        for owner in owners:
            shown.append(next(document for document in orders[owner] if document not in shown))
        lists.add(tuple(shown))
    return np.array(sorted(lists))


def worth_of(orders):
    worth = np.empty((len(orders[0]), len(orders)))
    for ranker, order in enumerate(orders):
        worth[order, ranker] = 1.0 / np.arange(1.0, len(order) + 1.0)
    return worth


def differences(chances, worth):
    """(m, r): expected credit down to each depth, less the mean of all rankers."""
    credit = np.tensordot(chances, np.cumsum(worth, axis=1), axes=1)
    return credit - credit.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(10))
def test_two_rankers_are_treated_alike_at_every_depth_when_all_lists_may_be_shown(seed):
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(6) for _ in range(2)]
    worth = worth_of(orders)[every_list(orders, 4)]
    chances, bias = chances_of_lists(worth)
    assert chances.sum() == pytest.approx(1.0) and (chances >= 0).all()
    assert bias == pytest.approx(np.abs(differences(chances, worth)).max(), abs=1e-6)
    assert bias < 1e-6


def test_two_opposite_lists_of_two_are_shown_evenly():
    worth = np.array([[[1.0, 0.5], [0.5, 1.0]], [[0.5, 1.0], [1.0, 0.5]]])
    chances, bias = chances_of_lists(worth)
    assert chances == pytest.approx([0.5, 0.5], abs=1e-6) and bias < 1e-6


def test_where_no_chances_treat_all_alike_the_least_difference_is_left():
    worth = np.array([[[1.0, 0.2], [0.0, 0.0]], [[0.7, 0.3], [0.0, 0.0]]])  # both lists favour the first ranker
    chances, bias = chances_of_lists(worth)
    assert chances == pytest.approx([0.0, 1.0], abs=1e-6)
    assert bias == pytest.approx(0.2, abs=1e-6)


def test_of_chances_that_treat_all_alike_those_are_taken_that_chance_tells_apart_least():
    calm = [[[0.5, 0.5], [0.5, 0.5]]]
    loud = [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]
    chances, bias = chances_of_lists(np.array(loud + calm))
    assert chances == pytest.approx([0.0, 0.0, 1.0], abs=1e-6) and bias < 1e-6


@pytest.mark.parametrize("seed", range(10))
def test_no_even_mixture_of_the_lists_has_less_difference(seed):
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(5) for _ in range(3)]
    worth = worth_of(orders)[every_list(orders, 3)]
    chances, _ = chances_of_lists(worth)
    ours = np.abs(differences(chances, worth)).max(axis=1).sum()
    for others in rng.dirichlet(np.full(len(worth), 0.3), size=300):
        assert ours <= np.abs(differences(others, worth)).max(axis=1).sum() + 1e-6


def test_credit_of_a_click_is_one_over_the_rank_on_each_list():
    mixed = interleave([["a", "b", "c"], ["b", "c"]], length=3, method="optimised", seed=1)
    by_document = {"a": (1.0, 1 / 3), "b": (1 / 2, 1.0), "c": (1 / 3, 1 / 2)}
    for position, document in enumerate(mixed.shown.tolist()):
        assert mixed.credit(np.arange(3) == position) == pytest.approx(by_document[document])


def test_a_list_is_one_that_rankers_could_have_made_and_its_bias_is_told():
    rng = np.random.default_rng(2)
    scores = rng.random((4, 9))
    orders = [np.argsort(-row) for row in scores]
    for _ in range(20):
        mixed = optimised(scores, length=3, rng=rng)
        assert tuple(mixed.shown.tolist()) in {tuple(each) for each in every_list(orders, 3).tolist()}
        assert mixed.bias >= 0.0


def test_without_scipy_it_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fairexp\[lp\]'"):
        interleave([[1, 2], [2, 1]], method="optimised", seed=0)
