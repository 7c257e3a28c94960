"""The promise of FairExp: nothing fairer or less contradictory exists among all rankings."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.errors import ArgumentError
from fairexp.fairness import search as templates
from fairexp.fairness.search import best_template
from tests.reference.templates import all_interleavings, all_rankings, brute_force, reversed_orders, unfairness_after

CURVES = {
    "reciprocal": lambda k: 1.0 / np.arange(1, k + 1),
    "logarithmic": lambda k: 1.0 / np.log2(1 + np.arange(1, k + 1)),
    "flat": lambda k: np.ones(k),
    "uneven": lambda k: np.array([0.3, 1.0, 0.7, 0.2, 0.9])[:k],
}


@st.composite
def rounds(draw, *, relation):
    """A round to decide: documents, groups, certain orders, draw, exposure, ledger, shares and tolerance."""
    n = draw(st.integers(1, 7))
    n_groups = draw(st.integers(2, 3))
    length = min(n, draw(st.integers(1, 5)))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    certain, order = RELATIONS[relation](rng, n)
    exposure = CURVES[draw(st.sampled_from(sorted(CURVES)))](length)
    return {
        "order": order,
        "groups": rng.integers(0, n_groups, size=n),
        "certain_order": certain,
        "exposure": exposure,
        "spent": rng.choice([0.0, 0.5, 1.0, 3.0]) * rng.random(n_groups),
        "shares": np.ones(n_groups) if draw(st.booleans()) else rng.uniform(0.3, 3.0, n_groups),
        "tolerance": draw(st.sampled_from([0.0, 0.05, 0.2, 0.5, 1.0, np.inf])),
    }


def blockwise(rng, n):
    """Blocks in a total order, everything inside a block uncertain, as in the paper; a draw that respects them."""
    block = np.sort(rng.integers(0, n, size=n))
    rng.shuffle(block)
    return block[:, None] < block[None, :], np.lexsort((rng.random(n), block))


def intervals(rng, n):
    """Certain where confidence intervals do not overlap (same width); the draw sorts by score."""
    scores = rng.random(n)
    return scores[:, None] - scores[None, :] > rng.random() * 0.5, np.argsort(-scores)


def partial(rng, n):
    """Any partial order, and any draw, whether or not it respects the order."""
    rank = rng.permutation(n)
    certain = (rank[:, None] < rank[None, :]) & (rng.random((n, n)) < rng.random())
    return certain, rng.permutation(n)


def weighted(rng, n):
    """Costs from 0 to 255 instead of certain orders, some in both directions, and any draw."""
    return (rng.integers(0, 256, size=(n, n)) * (rng.random((n, n)) < rng.random())).astype(np.uint8), rng.permutation(
        n
    )


RELATIONS = {"blockwise": blockwise, "intervals": intervals, "partial": partial, "weighted": weighted}


def solve(case, **options):
    arguments = {key: value for key, value in case.items() if key not in ("order", "groups", "certain_order")}
    return best_template(case["order"], case["groups"], case["certain_order"], **arguments, **options)


def check_against(rankings, case, *, scope="full"):
    arguments = {key: case[key] for key in ("exposure", "spent", "shares", "tolerance")}
    qualified, regret, gap, best = brute_force(
        rankings, case["order"], case["groups"], case["certain_order"], **arguments, scope=scope
    )
    place = np.argsort(case["order"])
    for ties in ("draw", "fairest"):
        answer = solve(case, scope=scope, ties=ties)
        assert answer.exact
        assert answer.qualified == qualified
        assert answer.added_regret == regret
        assert tuple(answer.shown) in best
        assert np.array_equal(answer.template, case["groups"][answer.shown])
        assert reversed_orders(answer.shown, case["order"], case["certain_order"], scope=scope) == regret
        after = unfairness_after(answer.shown, case["groups"], case["exposure"], case["spent"], case["shares"])
        if ties == "fairest":
            assert after == pytest.approx(gap, abs=2e-9)
        else:
            assert list(place[answer.shown]) == min(list(place[list(r)]) for r in interleaved(best, case))


def interleaved(rankings, case):
    """Those of `rankings` that keep the draw's order inside each group."""
    keep = set(all_interleavings(list(case["order"]), list(case["groups"]), len(case["exposure"])))
    return [r for r in rankings if tuple(r) in keep]


@pytest.mark.parametrize("relation", ["blockwise", "intervals"])
@given(data=st.data())
@settings(max_examples=120, deadline=None, derandomize=True)
def test_nothing_better_among_all_rankings(relation, data):
    case = data.draw(rounds(relation=relation))
    check_against(all_rankings(case["order"], case["groups"], len(case["exposure"])), case)


@pytest.mark.parametrize("relation", ["partial", "weighted"])
@pytest.mark.parametrize("scope", ["full", "displayed"])
@given(data=st.data())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_nothing_better_among_interleavings_for_any_relation_and_draw(scope, relation, data):
    case = data.draw(rounds(relation=relation))
    rankings = all_interleavings(list(case["order"]), list(case["groups"]), len(case["exposure"]))
    check_against(rankings, case, scope=scope)


def hard_round(rng, number, n_groups, length):
    """Twelve documents, more groups or positions than brute force likes, every kind of relation and curve in turn."""
    certain, order = RELATIONS[("blockwise", "intervals", "partial", "weighted", "weighted")[number % 5]](rng, 12)
    return {
        "order": order,
        "groups": rng.integers(0, n_groups, size=12),
        "certain_order": certain,
        "exposure": CURVES[("reciprocal", "logarithmic", "flat")[number % 3]](length),
        "spent": 2.0 * rng.random(n_groups),
        "shares": rng.uniform(0.5, 2.0, n_groups),
        "tolerance": (0.05, 0.3, 1.0, 0.6)[number % 4],
    }


def brute_forced(case):
    rankings = all_interleavings(list(case["order"]), list(case["groups"]), len(case["exposure"]))
    arguments = {key: case[key] for key in ("exposure", "spent", "shares", "tolerance")}
    return brute_force(rankings, case["order"], case["groups"], case["certain_order"], **arguments)


@cache
def hard_rounds(seed, n_rounds, sizes):
    """Rounds of so many (groups, positions), in turn, each with what brute force finds: the same for every search."""
    rng = np.random.default_rng(seed)
    cases = [hard_round(rng, number, *sizes[number % len(sizes)]) for number in range(n_rounds)]
    return [(case, brute_forced(case)) for case in cases]


@pytest.fixture(params=["tables", "subsets"])
def search(request, monkeypatch):
    """Every search beyond the first, plain one, which is made to give up at once."""
    monkeypatch.setattr(templates, "PLAIN_NODES", 0)
    monkeypatch.setattr(templates, "SHORT", 12 if request.param == "subsets" else 0)
    templates._searches.cache_clear()
    yield request.param
    templates._searches.cache_clear()


@pytest.mark.parametrize("ties", ["draw", "fairest"])
@pytest.mark.parametrize(("n_groups", "length"), [(2, 10), (3, 7), (4, 5), (5, 5)])
def test_every_search_finds_the_best_of_all_interleavings(search, ties, n_groups, length):
    for case, (qualified, regret, gap, best) in hard_rounds(length, 25, ((n_groups, length),)):
        answer = solve(case, ties=ties, effort=1_000_000)
        assert (answer.qualified, answer.added_regret, answer.exact) == (qualified, regret, True)
        assert answer.regret_bound == regret
        assert tuple(answer.shown) in best
        after = unfairness_after(answer.shown, case["groups"], case["exposure"], case["spent"], case["shares"])
        if ties == "fairest":
            assert after == pytest.approx(gap, abs=2e-9)
        else:
            place = np.argsort(case["order"])
            assert list(place[answer.shown]) == min(list(place[list(r)]) for r in best)
        if not qualified:
            assert answer.unfairness_bound == pytest.approx(after, abs=5e-9)


@pytest.mark.parametrize("ties", ["draw", "fairest"])
@pytest.mark.parametrize("effort", [1, 10, 40, 200])
def test_an_unfinished_search_states_what_it_has_proven(search, effort, ties):
    """Nothing as fair costs less than the bound, nothing is fairer than the other; `exact` is never claimed in vain."""
    unfinished = 0
    for case, (qualified, regret, gap, _) in hard_rounds(effort, 60, ((2, 9), (3, 7), (4, 5), (5, 5))):
        answer = solve(case, ties=ties, effort=effort)
        after = unfairness_after(answer.shown, case["groups"], case["exposure"], case["spent"], case["shares"])
        assert answer.qualified == (after <= case["tolerance"] + 1e-9)
        assert not answer.qualified or qualified
        if answer.qualified or after <= gap + 1e-9:
            assert answer.regret_bound <= regret <= answer.added_regret
        assert answer.unfairness_bound <= after + 1e-9
        if not qualified or (ties == "fairest" and answer.added_regret == regret):
            assert answer.unfairness_bound <= gap + 1e-9
        if answer.exact:
            assert (answer.qualified, answer.added_regret) == (qualified, regret)
        unfinished += not answer.exact
    assert effort > 1 or unfinished > 0
    assert effort < 200 or unfinished < 60


@pytest.mark.parametrize("curve", ["reciprocal", "logarithmic"])
@pytest.mark.parametrize("ties", ["draw", "fairest"])
def test_long_lists_stay_within_the_tolerance(curve, ties):
    """Fifty positions, a hundred rounds, everything certain: each is qualified and its search finished."""
    rng = np.random.default_rng(3)
    spent = np.zeros(2)
    for _ in range(100):
        scores = rng.random(120)
        best = best_template(
            np.argsort(-scores),
            (scores + 0.3 * rng.random(120) < 0.6).astype(int),
            scores[:, None] > scores[None, :],
            exposure=CURVES[curve](50),
            spent=spent,
            shares=[1.2, 1.0],
            tolerance=0.1,
            ties=ties,
        )
        spent = best.exposure
        assert best.qualified
        assert best.exact
        assert abs(best.unfairness) <= 0.1 + 1e-9


def test_figure_1_of_the_paper():
    """Blocks {x1, x2}, {x3, x4, x5}; A = {x1, x3, x4}; the template AABAB costs one reversal (x2 above x3)."""
    groups = np.array([0, 1, 0, 0, 1])
    block = np.array([0, 0, 1, 1, 1])
    certain = block[:, None] < block[None, :]
    exposure = CURVES["reciprocal"](5)
    wanted = 1.0 + 0.5 + 0.25 - (1 / 3 + 1 / 5)
    spent = np.array([0.0, wanted])  # AABAB alone brings the ledger back to zero
    for order in ([0, 1, 2, 3, 4], [1, 0, 3, 2, 4]):
        best = best_template(order, groups, certain, exposure=exposure, spent=spent, shares=[1, 1], tolerance=1e-6)
        assert list(best.template) == [0, 0, 1, 0, 1]
        assert best.added_regret == 1
        assert best.qualified
        assert best.unfairness == pytest.approx(0.0, abs=1e-12)
    assert list(best.shown) == [0, 3, 1, 2, 4]


def test_hiding_the_best_document_is_not_free():
    """Block 1 = {B1}, block 2 = {A1, A2}, two positions: showing AA breaks both certain orders."""
    certain = np.zeros((3, 3), dtype=bool)
    certain[0, 1:] = True
    arguments = {"exposure": [1.0, 0.5], "spent": [0.0, 1.5], "shares": [1, 1], "tolerance": 0.1}
    assert best_template([0, 1, 2], [1, 0, 0], certain, **arguments).added_regret == 2
    assert best_template([0, 1, 2], [1, 0, 0], certain, **arguments, scope="displayed").added_regret == 0


def test_inside_a_group_the_draw_decides_even_where_another_order_would_cost_less():
    """b surely above y, x uncertain with both; the draw b, y, x shows y for group 0 where x would reverse nothing."""
    certain = np.zeros((3, 3), dtype=bool)
    certain[0, 1] = True
    best = best_template(
        [0, 1, 2], [1, 0, 0], certain, exposure=[1.0, 0.5], spent=[0.0, 0.5], shares=[1, 1], tolerance=0.1
    )
    assert list(best.shown) == [1, 0]
    assert best.added_regret == 1


def test_a_fair_draw_is_shown_unchanged():
    rng = np.random.default_rng(0)
    for _ in range(50):
        order, groups = rng.permutation(12), rng.integers(0, 3, size=12)
        certain = rng.random((12, 12)) < 0.3
        best = best_template(
            order,
            groups,
            certain,
            exposure=CURVES["reciprocal"](6),
            spent=[0, 0, 0],
            shares=[1, 1, 1],
            tolerance=np.inf,
        )
        assert np.array_equal(best.shown, order[:6])
        assert best.added_regret == 0


def test_chance_settles_what_is_equally_fair():
    nothing = np.zeros((4, 4), dtype=bool)
    arguments = {"exposure": [1.0, 1.0], "spent": [0, 0], "shares": [1, 1], "tolerance": 0.1, "ties": "fairest"}
    templates = {
        tuple(best_template([0, 1, 2, 3], [0, 0, 1, 1], nothing, **arguments, rng=np.random.default_rng(s)).template)
        for s in range(20)
    }
    assert templates == {(0, 1), (1, 0)}


VALID = {
    "order": [0, 1],
    "groups": [0, 1],
    "certain_order": np.zeros((2, 2), dtype=bool),
    "exposure": [1.0, 0.5],
    "spent": [0.0, 0.0],
    "shares": [1.0, 1.0],
    "tolerance": 0.1,
}


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("order", [0, 0]),
        ("order", [1, 2]),
        ("order", []),
        ("order", [0.0, 1.0]),
        ("groups", [0, 2]),
        ("groups", [0, -1]),
        ("groups", [0]),
        ("groups", [0.5, 1.0]),
        ("certain_order", np.zeros((2, 3), dtype=bool)),
        ("certain_order", np.zeros((2, 2))),
        ("exposure", []),
        ("exposure", [1.0, np.nan]),
        ("exposure", [1.0, -0.5]),
        ("spent", [0.0]),
        ("spent", [0.0, np.inf]),
        ("shares", [1.0]),
        ("shares", [1.0, 0.0]),
        ("tolerance", -0.1),
        ("tolerance", np.nan),
        ("tolerance", "0.1"),
        ("scope", "all"),
        ("ties", "random"),
    ],
)
def test_bad_arguments_are_named(argument, value):
    arguments = {**VALID, argument: value}
    with pytest.raises(ArgumentError) as error:
        best_template(arguments.pop("order"), arguments.pop("groups"), arguments.pop("certain_order"), **arguments)
    assert error.value.argument == argument


def test_threads_search_side_by_side():
    """Kernels run without the interpreter's lock, so several searches for one curve are under way at once."""
    rng = np.random.default_rng(8)
    cases = [hard_round(rng, number, n_groups=2 + number % 4, length=(9, 7, 5, 5)[number % 4]) for number in range(60)]
    alone = [list(solve(case).shown) for case in cases]
    with ThreadPoolExecutor(8) as threads:
        for _ in range(5):
            together = list(threads.map(solve, cases))
            assert [list(answer.shown) for answer in together] == alone
