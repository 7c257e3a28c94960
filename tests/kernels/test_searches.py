"""What the searches for templates rely on: lists of subsets, bounds by tolls, tables of small cells, first guesses."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.kernels.covers import list_subsets, pair_cost, price_of
from fairexp.kernels.search.gaps import SLACK, corridor, largest_gap
from fairexp.kernels.last_two import least_steps, price_steps, table_steps
from fairexp.kernels.lattice import DEAREST, build_lattice, build_tables, least_ahead
from fairexp.kernels.queues import build_queues
from fairexp.kernels.search import Round
from fairexp.kernels.tails import fill_both, fill_somehow
from fairexp.kernels.tolls import Fair, pop_prices, set_tolls

seeds = st.integers(0, 2**32 - 1)


def make_round(rng, n_groups, length, *, n=14, scale=1):
    """A round with everything certain beyond a distance, and costs `scale` times what they are."""
    scores = rng.standard_normal(n)
    certain = scores[:, None] - scores[None, :] > rng.exponential(0.3)
    groups = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, n - n_groups)])
    order = np.argsort(-scores, kind="stable")
    _, size, place, cost = build_queues(order, groups, certain, np.arange(n), length, n_groups, False)
    P = 1.0 / np.arange(1, length + 1) if rng.random() < 0.5 else 1.0 / np.log2(np.arange(2, length + 2))
    no_bits, no_states = np.zeros((length + 1, 1, 1), dtype=np.uint64), np.zeros((0, n_groups), dtype=np.int64)
    spent, w = rng.random(n_groups), rng.uniform(0.5, 2.0, n_groups)
    return Round(P, spent, w, size, place, scale * cost, no_bits, 1.0, no_states)


def all_templates(round):
    """Every template with its cost and the exposure that it leaves."""
    for template in product(range(len(round.w)), repeat=len(round.P)):
        if (np.bincount(template, minlength=len(round.w)) <= round.size).all():
            E = round.spent.copy()
            np.add.at(E, list(template), round.P)
            yield np.array(template), price_of(round.cost, np.array(template)), E


def fair_ones(round, limit):
    return [(t, cost) for t, cost, E in all_templates(round) if largest_gap(E, round.w) <= limit + SLACK]


def test_every_set_lists_its_subsets_in_order_of_their_sums():
    P = np.random.default_rng(0).random(6)
    found = list_subsets(P)
    for mask in range(2**6):
        own = slice(found.start[mask], found.start[mask + 1])
        assert sorted(found.masks[own]) == [m for m in range(2**6) if m & ~mask == 0]
        assert (np.diff(found.sums[own]) >= 0).all()
        for m, total in zip(found.masks[own], found.sums[own], strict=True):
            assert total == pytest.approx(sum(P[p] for p in range(6) if m >> p & 1))
            assert total == pytest.approx(found.worth[m]) and found.n_positions[m] == int(m).bit_count()


@given(seed=seeds)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_pairs_of_groups_and_steps_of_two_cost_what_templates_do(seed):
    """A template's cost is the sum over pairs of groups, and the table of the last two adds up to the same."""
    rng = np.random.default_rng(seed)
    round = make_round(rng, 4, 7, n=30)
    template = rng.integers(0, 4, 7)
    count = list_subsets(round.P).n_positions
    mask = np.array([sum(1 << p for p in range(7) if template[p] == g) for g in range(4)])
    by_pairs = {(g, h): pair_cost(round.cost, count, g, mask[g], h, mask[h]) for g in range(4) for h in range(g)}
    assert sum(by_pairs.values()) == price_of(round.cost, template)
    free, used = int(mask[0] | mask[1]), np.array([False, False, True, True])
    steps, gone, ahead = np.zeros((8, 2, 8), np.int64), np.zeros(4, np.int64), np.zeros(9, np.int64)
    t = table_steps(round.cost, 0, 1, free, used, mask, steps, gone)
    assert t == int(free).bit_count()
    assert price_steps(steps, free, int(mask[0])) == price_of(round.cost, template) - by_pairs[3, 2]
    ways = [m for m in range(2**7) if m & ~free == 0]
    assert least_steps(steps, t, ahead) == min(price_steps(steps, free, m) for m in ways)


@pytest.mark.parametrize("n_groups", [2, 3, 4])
@given(seed=seeds)
@settings(max_examples=25, deadline=None, derandomize=True)
def test_tolls_never_claim_too_much(n_groups, seed):
    """No fair template costs less than the bound, none through a state less than what is said of the state."""
    rng = np.random.default_rng(seed)
    length = {2: 8, 3: 6, 4: 5}[n_groups]
    round, limit = make_round(rng, n_groups, length), rng.choice([0.1, 0.3, 1.0])
    lattice = build_lattice(length, n_groups)
    lower, upper = corridor(limit, round.spent, round.w, round.P)
    least, most = np.maximum(lower - round.spent, 0.0), np.minimum(upper - round.spent, round.P.sum())
    prices = pop_prices(lattice, round.size, round.cost)
    tolls = set_tolls(Fair(lattice, prices, round.P, least, most), 40)
    number = {tuple(state): s for s, state in enumerate(lattice.states)}
    for template, cost in fair_ones(round, limit):
        assert tolls.bound <= cost
        gone = np.zeros(n_groups, dtype=np.int64)
        for g in template:
            assert tolls.through[number[tuple(gone)]] <= cost
            gone[g] += 1
        assert tolls.through[number[tuple(gone)]] <= cost


def test_tolls_come_close_to_the_least_cost_of_long_lists():
    """With many positions sums of exposure lie close together, and the bound misses little; without tolls it is 0."""
    rng, missed, costs = np.random.default_rng(5), 0.0, 0.0
    for _ in range(20):
        round = make_round(rng, 2, 12, n=40)
        lattice = build_lattice(12, 2)
        fair = fair_ones(round, 0.1)
        if not fair:
            continue
        lower, upper = corridor(0.1, round.spent, round.w, round.P)
        least, most = np.maximum(lower - round.spent, 0.0), np.minimum(upper - round.spent, round.P.sum())
        prices = pop_prices(lattice, round.size, round.cost)
        bound = set_tolls(Fair(lattice, prices, round.P, least, most), 40).bound
        cheapest = min(cost for _, cost in fair)
        missed, costs = missed + cheapest - bound, costs + cheapest
    assert costs > 100 and missed < 0.2 * costs


@pytest.mark.parametrize("scale", [1, 5000])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_tables_never_claim_too_much(n_groups, scale):
    """Also where costs are so high that cells hold only their leading bits."""
    rng, tight, seen = np.random.default_rng(scale + n_groups), 0, 0
    length = {2: 8, 3: 6}[n_groups]
    lattice = build_lattice(length, n_groups)
    everywhere = np.ones(len(lattice.states), dtype=np.bool_)
    for _ in range(15):
        round = make_round(rng, n_groups, length, scale=scale)
        fair = fair_ones(round, 0.3)
        if not fair:
            continue
        lower, upper = corridor(0.3, round.spent, round.w, round.P)
        prices, top = pop_prices(lattice, round.size, round.cost), max(cost for _, cost in fair)
        tables = build_tables(
            lattice, everywhere, prices, round.P, round.spent, lower, upper, np.int64(top), 300, 500_000
        )
        assert (tables.shift > 0) == (top >= DEAREST - 1)
        least = least_ahead(tables, 0, 0, 0, round.spent, round.w, 0.3 + SLACK, lower, upper, -1)
        cheapest = min(cost for _, cost in fair)
        assert least <= cheapest
        seen += 1
        tight += least >= cheapest - length * 2**tables.shift
    assert seen > 5 and tight > seen // 2


def test_a_first_guess_for_a_long_list_is_fair():
    rng, found = np.random.default_rng(2), 0
    for _ in range(40):
        round = make_round(rng, 3, 24, n=120)
        subsets, even = list_subsets(round.P[-8:]), np.zeros(3)
        for guess in (
            fill_both(round, subsets, np.zeros((0, 1)), even, 0.1, 100_000),
            fill_somehow(round, subsets, 0.1, 100_000),
        ):
            if guess.found:
                E = round.spent.copy()
                np.add.at(E, guess.template, round.P)
                assert largest_gap(E, round.w) <= 0.1 + SLACK
                assert guess.cost == price_of(round.cost, guess.template)
        found += guess.found
    assert found >= 36
