"""Graded clicks as rewards: what is learned is worth, and bounds hold for it as they do for clicks."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp import FairExp, Query
from fairexp.checks import check_ranker
from fairexp.checks.comparison import first_difference
from fairexp.errors import ArgumentError, StateError
from fairexp.ranker import Ranker
from fairexp.rankers import C3UCB, RANKERS, CascadeKLUCB, CascadeLinUCB, CascadeUCB1, DcmKLUCB, RecurRank
from fairexp.rankers.bandits.cascade_ucb import ClickRates
from fairexp.registry import construct
from fairexp.remap import Remap

TOP = 3
REWARDED = [CascadeUCB1, CascadeKLUCB, DcmKLUCB, C3UCB, CascadeLinUCB, RecurRank]
BY_CLICKS = ["rba", "toprank", "bubblerank", "unirank", "batchrank"]
N = 6
QUERY = Query(features=np.eye(N), groups=np.arange(N) % 2, query_id="q", document_ids=np.arange(N))


def graded_cascade(rates: np.ndarray, chances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Grades (m,) of a user who leaves with the first click, which has grade g with probability `chances[i, g - 1]`."""
    clicks = rng.random(len(rates)) < rates
    clicks &= np.cumsum(clicks) == 1
    drawn = [rng.choice(TOP, p=each) + 1 for each in chances]
    return np.where(clicks, drawn, 0)


@pytest.mark.parametrize("around", [False, True])
@pytest.mark.parametrize("cls", REWARDED)
def test_clicks_of_the_top_grade_teach_what_clicks_do(cls: type[Ranker], around: bool) -> None:
    def made(**options: int) -> Ranker:
        host = cls(N, length=4, seed=1, **options)
        return FairExp(host, tolerance=5.0, seed=1) if around else host  # type: ignore[arg-type]

    plain, graded = made(), made(top_grade=TOP)
    graded.restore(plain.state())
    rng = np.random.default_rng(3)
    for _ in range(60):
        one, two = plain.rank(QUERY), graded.rank(QUERY)
        clicks = rng.random(len(one)) < 0.4
        plain.update(one, clicks)
        graded.update(two, clicks, grades=TOP * clicks)
    assert first_difference(plain.state(), graded.state()) is None


@pytest.mark.parametrize("cls", REWARDED)
def test_of_equal_click_rates_the_one_of_more_worth_is_shown_higher(cls: type[Ranker]) -> None:
    chances = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    query = Query(features=0.9 * np.eye(3), query_id="q", document_ids=np.arange(3))
    options = {"horizon": 20} if cls is RecurRank else {"width": 0.3} if cls is CascadeLinUCB else {}
    options |= {"noise": 0.05, "regularization": 0.01} if cls is C3UCB else {}
    ranker = cls(3, length=3, top_grade=TOP, seed=0, **options)  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    for _ in range(6000):
        ranking = ranker.rank(query)
        grades = graded_cascade(np.full(3, 0.5), chances[ranking.shown], rng)
        ranker.update(ranking, grades > 0, grades=grades)
    orders = [tuple(ranker.rank(query).belief.scores.argsort()[::-1].tolist()) for _ in range(50)]  # type: ignore[union-attr]
    assert set(orders) == {(1, 2, 0)}


@pytest.mark.parametrize("cls", REWARDED)
def test_the_contract_holds_whatever_the_top_grade(cls: type[Ranker]) -> None:
    check_ranker(lambda seed: cls(5, length=6, top_grade=TOP, seed=seed), rounds=72)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("cls", "failing"), [(CascadeUCB1, 2.0 * 12.0**-3), (CascadeKLUCB, 2.0 / (13 * np.log(13) ** 3))]
)
@pytest.mark.parametrize(
    ("rate", "chances"),
    [(0.3, [0.6, 0.3, 0.1]), (0.9, [0.1, 0.1, 0.8]), (0.5, [0.0, 0.0, 1.0]), (1.0, [0.5, 0.0, 0.5])],
)
def test_the_bounds_of_the_cascades_hold_for_graded_rewards(
    cls: type[ClickRates], failing: float, rate: float, chances: list[float]
) -> None:
    """After 12 rounds in which one document was examined, by Hoeffding, 2 t^-3, and by Chernoff, 2 e^-budget."""
    rng, n_worlds = np.random.default_rng(7), 1500
    ranker = cls(1, length=1, top_grade=TOP, max_queries=n_worlds, max_documents=1, seed=0)
    worth, missed = rate * np.dot(chances, np.arange(1, TOP + 1) / TOP), 0
    for world in range(n_worlds):
        query = Query(features=np.zeros((1, 1)), query_id=world, document_ids=[0])
        clicks, grades = rng.random(12) < rate, rng.choice(TOP, p=chances, size=12) + 1
        for click, grade in zip(clicks, grades, strict=True):
            ranker.update(ranker.rank(query), [click], grades=[grade * click])
        tables, rounds = ranker.queries.look(world, [0])
        lower, upper = ranker._bounds(tables["clicks"] / tables["views"], tables["views"], rounds)
        missed += not lower[0] <= worth <= upper[0]
    assert missed / n_worlds <= failing + 4.0 * np.sqrt(failing / n_worlds)


def test_the_intervals_of_c3_ucb_cover_what_documents_are_worth() -> None:
    """Over a whole run they are meant to with probability 1 - 1 / sqrt(horizon), where worth is linear."""
    truth = np.array([0.6, 0.4, 0.3, 0.1])
    chances = np.array([[0.2, 0.3, 0.5]] * 4)
    rates = truth / (chances @ np.arange(1, TOP + 1) / TOP)
    held = np.empty(200)
    for seed in range(len(held)):
        ranker = C3UCB(4, top_grade=TOP, length=4, horizon=20, regularization=0.1, seed=seed)
        rng = np.random.default_rng([9, seed])
        query = Query(features=np.eye(4))
        held[seed] = True
        for _ in range(20):
            ranking = ranker.rank(query)
            grades = graded_cascade(rates[ranking.shown], chances, rng)
            ranker.update(ranking, grades > 0, grades=grades)
            off = np.abs(ranker.score(np.eye(4)) - truth)
            width = ranker.width_factor * np.sqrt(ranker.model.squared_widths(np.eye(4)))
            held[seed] *= (off <= width).all()
    assert held.mean() >= 1.0 - 1.0 / np.sqrt(20)


def test_where_the_first_click_is_does_not_depend_on_what_it_is_worth() -> None:
    ranker = CascadeUCB1(1, length=4, top_grade=TOP, seed=0)
    ranking = ranker.rank(Query(features=np.zeros((5, 1)), query_id="q", document_ids=np.arange(5)))
    ranker.update(ranking, [False, True, False, True], grades=[0, 1, 0, 3])
    tables = ranker.queries.records["q"].tables
    assert tables["views"][ranking.shown].tolist() == [1, 1, 0, 0]
    assert tables["clicks"][ranking.shown].tolist() == [0, 1 / 3, 0, 0]


@pytest.mark.parametrize("cls", REWARDED)
def test_sums_in_one_unit_do_not_go_on_in_another(cls: type[Ranker]) -> None:
    before, after = (cls(N, length=4, top_grade=top, seed=1) for top in (1, TOP))  # type: ignore[call-arg]
    with pytest.raises(StateError, match="top grade 1"):
        after.take_over(before, Remap.of_units(np.ones(N), n_groups=2))
    with pytest.raises(ArgumentError, match="top_grade"):
        cls(N, top_grade=0)  # type: ignore[call-arg]


def test_the_others_take_a_click_for_a_click() -> None:
    bandits = [name for name, path in RANKERS.items() if ".bandits." in path]
    made = {name: construct(name, {}, known={"n_features": 3}) for name in bandits}
    assert sorted(name for name in bandits if not made[name].uses_grades) == sorted(BY_CLICKS)
    assert {type(each) for each in made.values() if each.uses_grades} == set(REWARDED)
