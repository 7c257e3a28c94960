"""Where no list is within the tolerance the least gap is found and proven; where one is, it is not missed."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.fairness.search import (
    IMPOSSIBLE,
    LEAST,
    PROOFS,
    UNPROVEN,
    Demand,
    Rules,
    best_ranking,
    best_template,
    found_around,
)
from tests.fairness.test_templates import CURVES
from tests.reference.rankings import gaps_of

SLACK = 1e-9


def templates(sizes, length):
    """Every template (R, k) of documents in groups of these sizes."""
    found = []

    def longer(left, template):
        if len(template) == length:
            found.append(template)
            return
        for group, size in enumerate(left):
            if size:
                longer([*left[:group], size - 1, *left[group + 1 :]], [*template, group])

    longer(list(sizes), [])
    return np.array(found)


def gaps_after(found, exposure, spent, shares):
    """The gap (R,) after each template."""
    after = np.array(spent) + np.stack([(found == g) @ exposure for g in range(len(shares))], axis=1)
    pairs = combinations(range(len(shares)), 2)
    return np.max([np.abs(after[:, g] - shares[g] / shares[h] * after[:, h]) for g, h in pairs], axis=0)


def test_the_least_unfair_of_210_templates_is_found():
    best = best_template(
        [2, 3, 6, 0, 5, 1, 4],
        [1, 1, 2, 1, 3, 1, 0],
        np.zeros((7, 7), dtype=bool),
        exposure=1.0 / np.arange(1, 8),
        spent=[0.10970792, 0.18264315, 0.17614185, 0.11415122],
        shares=[0.889283, 0.1371082, 0.4681926, 0.2347854],
        tolerance=0.02,
    )
    assert np.abs(np.triu(best.unfairness)).max() == pytest.approx(5.0011816, abs=1e-6)
    assert (best.proof, best.unfairness_bound) == (LEAST, np.abs(np.triu(best.unfairness)).max())


@pytest.mark.parametrize("effort", [1, 4000])
@pytest.mark.parametrize("n_groups", [3, 4, 5])
def test_the_least_gap_of_few_candidates_is_found_and_proven_whatever_the_effort(n_groups, effort):
    rng, n_missed = np.random.default_rng(n_groups), 0
    for number in range(200):
        n = int(rng.integers(3, 10))
        length = min(n, int(rng.integers(2, 8)))
        groups = rng.integers(0, n_groups, n)
        curve = CURVES[("reciprocal", "logarithmic", "flat")[number % 3]](length)
        spent = rng.choice([0.3, 3.0]) * rng.random(n_groups)
        shares = np.ones(n_groups) if number % 2 else rng.uniform(0.1, 1.0, n_groups)
        best = best_template(
            rng.permutation(n),
            groups,
            rng.random((n, n)) < 0.2,
            exposure=curve,
            spent=spent,
            shares=shares,
            tolerance=0.02,
            effort=effort,
        )
        least = gaps_after(templates(np.bincount(groups, minlength=n_groups), length), curve, spent, shares).min()
        gap = np.abs(np.triu(best.unfairness)).max()
        if least > 0.02 + SLACK:
            assert (gap, best.unfairness_bound, best.proof) == (pytest.approx(least, abs=2e-9), gap, LEAST)
        n_missed += least > 0.02 + SLACK
    assert n_missed > 100


@pytest.mark.parametrize(("sizes", "length"), [((30, 2, 1), 24), ((9, 9), 18), ((24, 1, 1, 1), 24), ((6, 6, 6), 11)])
def test_long_lists_of_few_templates_are_all_compared(sizes, length):
    """Up to a million templates, where parts have more words than usual or documents of a group are few."""
    rng = np.random.default_rng(length)
    groups, n_groups = np.repeat(np.arange(len(sizes)), sizes), len(sizes)
    found = templates(sizes, length)
    for _ in range(3):
        exposure, spent = np.sort(rng.random(length))[::-1], 3.0 * rng.random(n_groups)
        shares = rng.uniform(0.3, 3.0, n_groups)
        demand = Demand(groups, spent, shares, 1e-7)
        best = best_ranking(
            rng.permutation(len(groups)), [demand], np.zeros((len(groups), len(groups)), dtype=bool), exposure=exposure
        )
        least = gaps_after(found, exposure, spent, shares).min()
        assert best.outcomes[0].gap == pytest.approx(least, abs=2e-9)
        assert best.proof == LEAST and len(found) <= 2**20


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_several_demands_around_pins_have_the_least_gaps(seed):
    """By priority, among all lists of the classes around two pinned documents."""
    rng = np.random.default_rng(seed)
    n, length, rules = 8, 6, Rules("full", "draw", 1)
    demands = [
        Demand(rng.integers(0, size, n), 2.0 * rng.random(size), rng.uniform(0.3, 3.0, size), 0.05)
        for size in rng.integers(2, 4, int(rng.integers(1, 4)))
    ]
    pinned, exposure, order = {1: 4, 3: 0}, 1.0 / np.arange(1, length + 1), rng.permutation(n)
    relation = np.zeros((n, n), dtype=bool), np.arange(n)
    (best,) = found_around(pinned, order, demands, relation, exposure, rules, parts=(1.0,))
    kinds = [tuple(int(each.groups[d]) for each in demands) for d in range(n)]
    by_kinds: dict[tuple[tuple[int, ...], ...], tuple[int, ...]] = {(): ()}
    for position in range(length):
        longer = {}
        for kind, shown in by_kinds.items():
            here = [pinned[position]] if position in pinned else set(range(n)) - set(shown) - set(pinned.values())
            for d in here:
                longer[(*kind, kinds[d])] = (*shown, d)
        by_kinds = longer
    gaps = np.array([gaps_of(shown, demands, exposure) for shown in by_kinds.values()])
    for c, (outcome, each) in enumerate(zip(best.outcomes, demands, strict=True)):
        limit = max(gaps[:, c].min(), each.tolerance)
        assert outcome.gap <= limit + 2e-9
        assert outcome.met == (limit <= each.tolerance + SLACK)
        gaps = gaps[gaps[:, c] <= limit + SLACK]
    assert best.proof == (LEAST if best.missed else "found")


def planted(rng, n_groups, length, tolerance, spare):
    """A round in which a template drawn at random is within the tolerance, and how many documents are there besides."""
    template = rng.integers(0, n_groups, length)
    exposure = CURVES[("reciprocal", "logarithmic")[int(rng.integers(2))]](length)
    shares = np.ones(n_groups) if rng.random() < 0.5 else rng.uniform(0.3, 3.0, n_groups)
    gained = np.bincount(template, weights=exposure, minlength=n_groups)
    after = (gained.sum() + rng.uniform(0, 5)) * shares / shares.sum()
    while True:
        moved = after + tolerance * rng.uniform(-0.4, 0.4, n_groups) * rng.random()
        pairs = combinations(range(n_groups), 2)
        if max(abs(moved[g] - shares[g] / shares[h] * moved[h]) for g, h in pairs) <= tolerance:
            break
    spent = moved - gained
    spent += shares * max(0.0, -(spent / shares).min())
    more = rng.multinomial(int((1 + spare) * length), np.ones(n_groups) / n_groups)
    groups = np.repeat(np.arange(n_groups), np.maximum(np.bincount(template, minlength=n_groups), more))
    scores = rng.random(len(groups))
    certain, order = scores[:, None] - scores[None, :] > 0.2, np.argsort(-scores)
    return order, Demand(groups, spent, shares, tolerance), certain, exposure


@pytest.mark.parametrize("spare", [0.2, 2.0], ids=["few", "many"])
@pytest.mark.parametrize("tolerance", [0.03, 0.1])
@pytest.mark.parametrize(
    ("n_groups", "length"), [(2, 50), (3, 50), (4, 20), (4, 50), (5, 20), (5, 50), (6, 30), (7, 20), (8, 20), (8, 50)]
)
def test_lists_within_the_tolerance_are_found(n_groups, length, tolerance, spare):
    rng, found = np.random.default_rng(100 * n_groups + length), 0
    for _ in range(40):
        order, demand, certain, exposure = planted(rng, n_groups, length, tolerance, spare)
        best = best_ranking(order, [demand], certain, exposure=exposure)
        assert best.proof in ("found", UNPROVEN)
        found += best.qualified
    assert found >= 38


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_proofs_are_of_four_kinds_and_hold(seed):
    """Lists of nine positions and four groups, with a search of little effort: what it claims holds of all of them."""
    rng = np.random.default_rng(seed)
    n, length, n_groups = 9, 8, 4
    groups = rng.integers(0, n_groups, n)
    spent, shares = rng.choice([0.1, 1.0, 4.0]) * rng.random(n_groups), rng.uniform(0.3, 3.0, n_groups)
    exposure, tolerance = 1.0 / np.arange(1, length + 1), float(rng.choice([0.0, 0.2, 1.0, 3.0]))
    best = best_template(
        rng.permutation(n),
        groups,
        np.zeros((n, n), dtype=bool),
        exposure=exposure,
        spent=spent,
        shares=shares,
        tolerance=tolerance,
        effort=1,
    )
    gaps = gaps_after(templates(np.bincount(groups, minlength=n_groups), length), exposure, spent, shares)
    assert best.proof in PROOFS and (best.proof == "found") == best.qualified
    assert best.unfairness_bound <= gaps.min() + 2e-9
    if best.proof in (LEAST, IMPOSSIBLE):
        assert gaps.min() > tolerance + SLACK


def test_a_bound_proves_what_no_search_could_finish():
    """Group 2 is owed as much as the others and has one document; there are some 10^25 templates."""
    groups = np.repeat(np.arange(3), [60, 60, 1])
    best = best_ranking(
        np.arange(121),
        [Demand(groups, np.array([20.0, 20.0, 10.0]), np.ones(3), 0.1)],
        np.zeros((121, 121), dtype=bool),
        exposure=1.0 / np.arange(1, 51),
    )
    assert best.proof in (LEAST, IMPOSSIBLE)
    assert 0.0 in np.flatnonzero(best.outcomes[0].template == 2)  # it gets the top position
    assert 10.0 < best.gap_bound <= best.outcomes[0].gap < best.gap_bound + 0.1


def test_the_least_gap_is_that_of_a_mixed_integer_program():
    """Fourteen positions and three groups, some five million templates: HiGHS finds no smaller gap."""
    optimize = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(4)
    for _ in range(3):
        length, n_groups = 14, 3
        groups, exposure = rng.integers(0, n_groups, 30), 1.0 / np.arange(1, length + 1)
        sizes = np.bincount(groups, minlength=n_groups)
        spent, shares = 0.1 * rng.random(n_groups), rng.uniform(0.3, 3.0, n_groups)
        rows, low, high = [], [], []
        for p in range(length):
            rows.append(np.append(np.eye(length)[p].repeat(n_groups), 0.0))
            low.append(1.0), high.append(1.0)
        for g in range(n_groups):
            rows.append(np.append(np.tile(np.eye(n_groups)[g], length), 0.0))
            low.append(0.0), high.append(sizes[g])
        for g, h in combinations(range(n_groups), 2):
            ratio = shares[g] / shares[h]
            difference = np.outer(exposure, np.eye(n_groups)[g] - ratio * np.eye(n_groups)[h]).ravel()
            start = spent[g] - ratio * spent[h]
            rows += [np.append(difference, -1.0), np.append(difference, 1.0)]
            low += [-np.inf, -start]
            high += [-start, np.inf]
        n_cells = length * n_groups
        solved = optimize.milp(
            np.append(np.zeros(n_cells), 1.0),
            constraints=optimize.LinearConstraint(np.array(rows), low, high),
            integrality=np.append(np.ones(n_cells), 0),
            bounds=optimize.Bounds(0.0, np.append(np.ones(n_cells), np.inf)),
        )
        best = best_template(
            np.arange(30),
            groups,
            np.zeros((30, 30), dtype=bool),
            exposure=exposure,
            spent=spent,
            shares=shares,
            tolerance=0.0,
        )
        assert np.abs(np.triu(best.unfairness)).max() == pytest.approx(solved.fun, abs=1e-6)
        assert best.proof == LEAST
