"""FairExp around PDGD: what its gradient is worth under templates, counted over all draws of a small query."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from fairexp import PDGD, FairExp, Query
from fairexp.fairness.search import best_template
from fairexp.kernels.bandits.orders import filled
from fairexp.kernels.pdgd.pdgd import expected_regret
from fairexp.types import SURE, Ranking
from tests.reference.pdgd import log_probability

GROUPS = np.array([0, 0, 0, 1, 1])
SCORES = np.array([0.9, 0.0, -0.7, 0.5, -0.4])
"""What the model believes, rightly or wrongly."""

EXAMINATION = np.array([1.0, 0.6, 0.4, 0.2])


def template_of(draw):
    """The template that FairExp chooses for a draw; the second group is behind."""
    best = best_template(
        draw,
        GROUPS,
        expected_regret(SCORES, SURE),
        exposure=1.0 / np.arange(1, 5),
        spent=[0.6, 0.0],
        shares=[1.0, 1.0],
        tolerance=0.7,
    )
    return best.template


def lists(independent):
    """Every list that may be shown, with its probability: filled by a second draw, or by the one that chose it."""
    draws = [np.array(draw) for draw in permutations(range(5))]
    chances = [np.exp(log_probability(draw, SCORES)) for draw in draws]
    found = {}
    for draw, chance in zip(draws, chances, strict=True):
        template = template_of(draw)
        for fill, again in zip(draws, chances, strict=True) if independent else [(draw, 1.0)]:
            shown = tuple(filled(template, GROUPS, fill).tolist())
            found[shown] = found.get(shown, 0.0) + chance * again
    assert sum(found.values()) == pytest.approx(1.0)
    return found


def expected_move(found, attraction, *, templated=True):
    """How far one update moves the weight of each document (n,) on average, over all lists and all clicks."""
    ranker = PDGD(5, length=4, learning_rate=1.0)
    ranker.templated, ranker.weights, ranker.n_ranked = templated, SCORES.copy(), 1
    query, total = Query(features=np.eye(5), groups=GROUPS), np.zeros(5)
    belief = ranker.believe(query)
    for shown, chance in found.items():
        order = np.array(shown)
        ranking = Ranking(
            shown=order,
            features=np.eye(5)[order],
            scores=SCORES[order],
            groups=GROUPS[order],
            memory=ranker.memory(query, belief, order, ranker.stream.at(0)),
            ranker=ranker.identity,
            number=0,
        )
        rates = attraction[order] * EXAMINATION
        for clicks in product([False, True], repeat=4):
            ranker.weights = SCORES.copy()
            ranker.update(ranking, clicks)
            total += chance * np.prod(np.where(clicks, rates, 1.0 - rates)) * (ranker.weights - SCORES)
    return total


def test_equals_of_a_group_are_moved_by_nothing_on_average_whatever_the_model_believes():
    moved = expected_move(lists(independent=True), np.array([0.5, 0.5, 0.5, 0.3, 0.3]))
    assert moved == pytest.approx(np.zeros(5), abs=1e-12)


def test_filling_a_template_from_the_draw_that_chose_it_would_be_biased():
    """Who leads a group in the draw says which template is chosen, so lists are not as likely as their weights say.

    Here by little, where the independent fill is exact to rounding; but it is a drift that no amount of rounds undoes.
    """
    moved = expected_move(lists(independent=False), np.array([0.5, 0.5, 0.5, 0.3, 0.3]))
    assert np.abs(moved).max() > 1e-4


@pytest.mark.parametrize("order", list(permutations([0.8, 0.4, 0.1])))
@pytest.mark.parametrize("pair", [(0.7, 0.2), (0.2, 0.7)])
def test_inside_a_group_the_better_is_moved_up_on_average(order, pair):
    attraction = np.array([*order, *pair])
    moved = expected_move(lists(independent=True), attraction)
    first, second = moved[:3], moved[3:]
    assert first[np.argmax(order)] > 0.0 > first[np.argmin(order)]
    assert second[np.argmax(pair)] > 0.0 > second[np.argmin(pair)]


def test_across_groups_nothing_is_learned_directly():
    """Not even where one group is far better; what a group has in common keeps its weight."""
    moved = expected_move(lists(independent=True), np.array([0.9, 0.9, 0.9, 0.1, 0.1]))
    assert moved == pytest.approx(np.zeros(5), abs=1e-12)
    moved = expected_move(lists(independent=True), np.array([0.9, 0.5, 0.1, 0.2, 0.6]))
    assert moved[:3].sum() == pytest.approx(0.0, abs=1e-12) and moved[3:].sum() == pytest.approx(0.0, abs=1e-12)


def test_counting_pairs_across_groups_as_if_lists_were_free_would_be_biased():
    """All documents are equally good, but the account holds the first group back: it seems the worse one."""
    moved = expected_move(lists(independent=True), np.full(5, 0.5), templated=False)
    assert moved[:3].sum() < -1e-3


def test_the_template_is_the_one_of_least_expected_regret():
    """Under a wide tolerance the draw's own; and a model that is sure of more is contradicted less."""
    for number in range(200):
        draw = np.random.default_rng(number).permutation(5)
        free = best_template(
            draw,
            GROUPS,
            expected_regret(SCORES, SURE),
            exposure=1.0 / np.arange(1, 5),
            spent=[0.6, 0.0],
            shares=[1.0, 1.0],
            tolerance=np.inf,
        )
        assert free.added_regret == 0 and np.array_equal(free.shown, draw[:4])


def test_added_regret_is_told_in_orders():
    ranker = FairExp(PDGD(1, length=2, seed=1), tolerance=0.6, beta=1.0)
    ranker.host.weights = np.array([1.0])
    ranker.ledger.exposure[:] = [3.0, 2.0]
    query = Query(features=[[2.0], [1.0], [0.0]], groups=[0, 0, 1])
    seen = set()
    for _ in range(50):
        belief = ranker.host.believe(query, ranker.stream.at(ranker.n_ranked))
        ahead = belief.draw[: np.flatnonzero(belief.draw == 2)[0]]  # who is passed by the second group's document
        ranking = ranker.rank(query)
        ranker.ledger.exposure[:] = [3.0, 2.0]
        assert ranking.groups.tolist() == [1, 0]
        assert ranking.added_regret == pytest.approx(sum(np.tanh((2 - each) / 2) for each in ahead), abs=0.011)
        assert np.array_equal(ranking.shown[1:], [d for d in ranking.belief.draw if d != 2][:1])
        seen.add(len(ahead))
    assert seen == {0, 1, 2}
