"""What the searches for templates rely on: lists of subsets, bounds, tables of small cells, costs by pairs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.kernels.fairness.first_guess import FirstGuess
from fairexp.kernels.fairness.gaps import EPSILON, largest_gap
from fairexp.kernels.fairness.lattice import Lattice
from fairexp.kernels.fairness.multipliers import Multipliers
from fairexp.kernels.fairness.reach import Reach
from fairexp.kernels.fairness.rounds import Aim, Corridors, Draw, Round
from fairexp.kernels.fairness.subset_cover import Cover
from fairexp.kernels.fairness.subsets import Subsets
from fairexp.kernels.fairness.tables import Tables

seeds = st.integers(0, 2**32 - 1)


def make_round(rng, n_groups, length, *, n=14, scale=1):
    """A round with everything certain beyond a distance, and costs `scale` times what they are."""
    scores = rng.standard_normal(n)
    certain = scores[:, None] - scores[None, :] > rng.exponential(0.3)
    groups = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, n - n_groups)])
    order = np.argsort(-scores, kind="stable")
    P = 1.0 / np.arange(1, length + 1) if rng.random() < 0.5 else 1.0 / np.log2(np.arange(2, length + 2))
    spent, w = rng.random(n_groups), rng.uniform(0.5, 2.0, n_groups)
    round = Round(P, n_groups)
    round.begin(
        Draw(order, groups, certain, np.arange(n)),
        Aim(spent, w, 0.0, False, False, np.zeros((0, 0), dtype=np.int64)),
    )
    np.asarray(round.cost)[:] *= scale
    return round


def all_templates(round):
    """Every template with its cost and the exposure that it leaves."""
    for template in product(range(len(round.w)), repeat=len(round.P)):
        if (np.bincount(template, minlength=len(round.w)) <= round.size).all():
            E = np.array(round.spent)
            np.add.at(E, list(template), round.P)
            yield np.array(template), round.price(np.array(template)), E


def fair_ones(round, limit):
    return [(t, cost) for t, cost, E in all_templates(round) if largest_gap(E, round.w) <= limit + EPSILON]


def surveyed(round, limit):
    """What multipliers tell, and the lattice they are told on."""
    lattice = Lattice(len(round.P), len(round.w))
    multipliers = Multipliers(round, lattice)
    multipliers.survey(limit)
    return multipliers, lattice


def test_every_set_lists_its_subsets_in_order_of_their_sums():
    P = np.random.default_rng(0).random(6)
    found = Subsets(P)
    masks, sums = np.asarray(found.masks), np.asarray(found.sums)
    for mask in range(2**6):
        own = slice(found.start[mask], found.start[mask + 1])
        assert sorted(masks[own]) == [m for m in range(2**6) if m & ~mask == 0]
        assert (np.diff(sums[own]) >= 0).all()
        for m, total in zip(masks[own], sums[own], strict=True):
            assert total == pytest.approx(sum(P[p] for p in range(6) if m >> p & 1))
            assert total == pytest.approx(found.worth[m]) and found.n_positions[m] == int(m).bit_count()


@given(seed=seeds)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_pairs_of_groups_cost_what_templates_do(seed):
    """A template's cost is the sum over pairs of groups."""
    rng = np.random.default_rng(seed)
    round = make_round(rng, 4, 7, n=30)
    template, cover = rng.integers(0, 4, 7), Cover(round, Subsets(round.P))
    mask = [sum(1 << p for p in range(7) if template[p] == g) for g in range(4)]
    by_pairs = [cover.pair_cost(g, mask[g], h, mask[h]) for g in range(4) for h in range(g)]
    assert sum(by_pairs) == round.price(template)


@given(seed=seeds)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_what_cannot_be_collected_is_no_sum_of_positions(seed):
    rng = np.random.default_rng(seed)
    P = rng.random(8)
    reach, p, fewest = Reach(P), int(rng.integers(0, 8)), int(rng.integers(0, 3))
    most = fewest + int(rng.integers(0, 4))
    picked = list(product([0, 1], repeat=8 - p))
    sums = [np.dot(pick, P[p:]) for pick in picked if fewest <= sum(pick) <= min(most, 8 - p)]
    low = rng.uniform(-0.5, P.sum())
    high = low + rng.exponential(0.05)
    possible = any(low <= total <= high for total in sums)
    assert reach.can_collect(p, fewest, min(most, 8 - p), low, high) >= possible


@pytest.mark.parametrize("n_groups", [2, 3, 4])
@given(seed=seeds)
@settings(max_examples=25, deadline=None, derandomize=True)
def test_tolls_never_claim_too_much(n_groups, seed):
    """No fair template costs less than the bound, none through a state less than what is said of the state."""
    rng = np.random.default_rng(seed)
    length = {2: 8, 3: 6, 4: 5}[n_groups]
    round, limit = make_round(rng, n_groups, length), rng.choice([0.1, 0.3, 1.0])
    multipliers, lattice = surveyed(round, limit)
    number = {tuple(state): s for s, state in enumerate(np.asarray(lattice.states))}
    for template, cost in fair_ones(round, limit):
        assert multipliers.bound <= cost
        gone = np.zeros(n_groups, dtype=np.int64)
        for g in template:
            assert multipliers.through[number[tuple(gone)]] <= cost
            gone[g] += 1
        assert multipliers.through[number[tuple(gone)]] <= cost


def test_tolls_come_close_to_the_least_cost_of_long_lists():
    """With many positions sums of exposure lie close together, and the bound misses little; without them it is 0."""
    rng, missed, costs = np.random.default_rng(5), 0.0, 0.0
    for _ in range(20):
        round = make_round(rng, 2, 12, n=40)
        fair = fair_ones(round, 0.1)
        if not fair:
            continue
        multipliers, _ = surveyed(round, 0.1)
        cheapest = min(cost for _, cost in fair)
        missed, costs = missed + cheapest - multipliers.bound, costs + cheapest
    assert costs > 100 and missed < 0.2 * costs


@pytest.mark.parametrize("scale", [1, 5000])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_tables_never_claim_too_much(n_groups, scale):
    """Also where costs are so high that cells hold only their leading bits."""
    rng, tight, seen = np.random.default_rng(scale + n_groups), 0, 0
    length = {2: 8, 3: 6}[n_groups]
    for _ in range(15):
        round = make_round(rng, n_groups, length, scale=scale)
        fair = fair_ones(round, 0.3)
        if not fair:
            continue
        multipliers, lattice = surveyed(round, 0.3)
        np.asarray(multipliers.through)[:] = 0.0  # every state counts
        tables, within, top = Tables(round, lattice, multipliers), Corridors(round), max(cost for _, cost in fair)
        tables.build(top, 500_000)
        assert (tables.shift > 0) == (top >= 2**14 - 1)
        within.narrow(0.3)
        np.asarray(within.E)[:] = round.spent
        least, cheapest = tables.least_ahead(0, 0, 0, within, -1), min(cost for _, cost in fair)
        assert least <= cheapest
        seen += 1
        tight += least >= cheapest - length * 2**tables.shift
    assert seen > 5 and tight > seen // 2


def test_a_first_guess_for_a_long_list_is_fair():
    rng, found = np.random.default_rng(2), 0
    for _ in range(40):
        round = make_round(rng, 3, 24, n=120)
        multipliers, lattice = surveyed(round, 0.1)
        first_guess = FirstGuess(round, lattice, multipliers, Subsets(round.P[-8:]))
        first_guess.search(0.1, 100_000)
        if first_guess.found.found:
            template, E = np.array(first_guess.found.template), np.array(round.spent)
            np.add.at(E, template, round.P)
            assert largest_gap(E, round.w) <= 0.1 + EPSILON
            assert first_guess.found.cost == round.price(template)
        found += first_guess.found.found
    assert found >= 36
