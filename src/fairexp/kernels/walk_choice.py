"""The best template by walks: with bounds from tolls and tables where there is a lattice for them, or else without."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairexp.arrays import Floats
from fairexp.kernels.compiling import kernel
from fairexp.kernels.covers import LOOKS, Subsets
from fairexp.kernels.gaps import SLACK, corridor
from fairexp.kernels.lattice import IMPOSSIBLE, Lattice, Tables, build_tables, least_ahead, no_tables
from fairexp.kernels.search import NO_LIMIT, Choice, Effort, Found, Round, no_guide, walk
from fairexp.kernels.tails import fill_both, fill_somehow
from fairexp.kernels.tolls import Fair, Tolls, pop_prices, set_tolls

PASSES, FEWEST, STATES = 40, 4, 150_000
"""Passes over the lattice to find good tolls; in large ones fewer, so that they see no more than so many states."""

TABLED = 20_000
"""Largest lattice that tables are made for."""

MARGIN, PART = 8, 20
"""Tables are made for templates that cost no more above the tolls' bound than this, and this part of it; then more."""

GUIDED = 200
"""Steps of a walk that tolls guide, and of a search for the best last positions."""

ACROSS = 300
"""Cells of tables across the narrowest corridor."""

CELLS = 2_000
"""Cells of a table that take about the time of one step of a walk."""


class Ground(NamedTuple):
    """What is known about all templates within a limit: their corridors (G,), prices of pops (S, G), and what tolls
    tell."""

    limit: float
    lower: Floats
    upper: Floats
    prices: Floats
    tolls: Tolls


@kernel
def survey(round: Round, lattice: Lattice, limit: float) -> Ground:
    """What tolls tell about templates within `limit`."""
    lower, upper = corridor(limit, round.spent, round.w, round.P)
    prices = pop_prices(lattice, round.size, round.cost)
    least, most = np.maximum(lower - round.spent, 0.0), np.minimum(upper - round.spent, round.P.sum())
    passes = max(min(PASSES, STATES // prices.shape[0]), FEWEST)
    tolls = set_tolls(Fair(lattice, prices, round.P, least, most), passes)
    return Ground(limit, lower, upper, prices, tolls)


@kernel
def tables_up_to(round: Round, lattice: Lattice, ground: Ground, budget: int | np.int64, max_cells: int) -> Tables:
    """Tables for the templates that cost at most `budget`; none where there are too many states."""
    if lattice.child.shape[0] > TABLED:
        return no_tables()
    useful = ground.tolls.through <= budget
    return build_tables(
        lattice, useful, ground.prices, round.P, round.spent, ground.lower, ground.upper, budget, ACROSS, max_cells
    )


@kernel
def rise(
    round: Round, tables: Tables, ground: Ground, bound: int | np.int64, top: int | np.int64, max_nodes: int
) -> tuple[Found, int]:
    """The least cost, if it is at most `top`, and what it is at least, by walks with a rising budget.

    It begins at the tables' bound. `nodes` of the answer are those of all walks.
    """
    budget, used, step = np.int64(bound), 0, np.int64(1)
    limit = ground.limit + SLACK
    for t in range(tables.pair.shape[0]):
        least = least_ahead(tables, t, 0, 0, round.spent, round.w, limit, ground.lower, ground.upper, np.int64(-1))
        budget = max(budget, np.int64(least))
    best = Found(False, np.zeros(round.P.shape[0], dtype=np.int64), 0, ground.limit, 0)
    while budget <= top:
        now = walk(round, tables, no_guide(), ground.limit, budget, 0.0, max_nodes - used)
        used += now.nodes
        if now.found:
            best = now
        if used > max_nodes or now.found:
            bound = now.cost if now.found and used <= max_nodes else budget
            return Found(best.found, best.template, best.cost, best.gap, used), int(bound)
        budget, step = (min(budget + step, np.int64(top)) if budget < top else budget + 1), step * 2
    # Tables know nothing about templates that cost more.
    return Found(False, best.template, 0, best.gap, used), int(top + 1)


@kernel
def cheaper(one: Found, other: Found) -> Found:
    """The cheaper of two finds, if any; the effort of both."""
    best = one if one.found and not (other.found and other.cost < one.cost) else other
    return Found(best.found, best.template, best.cost, best.gap, one.nodes + other.nodes)


@kernel(inline="always")
def guess(round: Round, subsets: Subsets, ground: Ground, known: Found, max_nodes: int) -> Found:
    """What is quickly found along the tolls: most often nearly the best; or what is known, if that is cheaper.

    `nodes` of the answer are the effort of this alone.
    """
    best = Found(known.found, known.template, known.cost, known.gap, 0)
    if ground.tolls.bound >= IMPOSSIBLE:
        return best
    if subsets.masks.shape[0] > 0:
        even, looks = np.zeros(round.w.shape[0]), int(LOOKS * max_nodes)
        now = fill_both(round, subsets, ground.tolls.guide, even, ground.limit, looks)
        best = cheaper(best, Found(now.found, now.template, now.cost, now.gap, int(now.nodes / LOOKS)))
        if not best.found:
            now = fill_somehow(round, subsets, ground.limit, looks)
            best = cheaper(best, Found(now.found, now.template, now.cost, now.gap, int(now.nodes / LOOKS)))
    budget = np.int64(best.cost if best.found else NO_LIMIT)
    return cheaper(best, walk(round, no_tables(), ground.tolls.guide, ground.limit, budget, 0.0, max_nodes))


@kernel(inline="always")
def least_cost(
    round: Round, subsets: Subsets, lattice: Lattice, limit: float, known: Found, max_nodes: int, max_cells: int
) -> tuple[Found, int, Tables]:
    """The least cost of templates within `limit`, what it is at least, and the tables that were made last.

    What is `known` need not be beaten. The answer is proven if the bound is its cost; if there is none, a bound of
    `IMPOSSIBLE` proves that.
    """
    ground, tables = survey(round, lattice, limit), no_tables()
    bound, margin = ground.tolls.bound, MARGIN + ground.tolls.bound // PART
    best = guess(round, subsets, ground, known, min(GUIDED, max_nodes // 8))
    used = best.nodes
    while bound < IMPOSSIBLE and used < max_nodes and not (best.found and bound > best.cost):
        top = min(bound + margin, IMPOSSIBLE - 1)
        if best.found:
            top = min(top, best.cost)
        tables = tables_up_to(round, lattice, ground, top, max_cells)
        used += tables.cells.shape[0] // CELLS
        now, bound = rise(round, tables, ground, bound, top, max(max_nodes - used, 0))
        used += now.nodes
        if now.found:
            best = now
            break
        margin *= 4
    return Found(best.found, best.template, best.cost, best.gap, used), min(bound, IMPOSSIBLE), tables


@kernel
def cheapest(
    round: Round,
    subsets: Subsets,
    lattice: Lattice,
    limit: float,
    fallback: Found,
    plain_nodes: int,
    max_nodes: int,
    max_cells: int,
) -> tuple[Found, int, Tables]:
    """The cheapest template within `limit`, what its cost is at least, and the tables, if it took any.

    First a short walk without bounds, which settles the easy rounds, then a search with them. What is known already is
    the fallback.
    """
    tables = no_tables()
    plain_nodes = plain_nodes if lattice.child.shape[0] > 0 else max_nodes
    best = walk(round, tables, no_guide(), limit, np.int64(NO_LIMIT), 0.0, plain_nodes)
    bound = best.cost if best.found else IMPOSSIBLE
    if best.nodes > plain_nodes:
        bound = 0
        if lattice.child.shape[0] > 0:
            best, bound, tables = least_cost(round, subsets, lattice, limit, best, max_nodes, max_cells)
    if fallback.found and (not best.found or fallback.cost < best.cost):
        # Only an unfinished search comes here: what it was to improve on is an answer all the same.
        best = Found(True, fallback.template, fallback.cost, fallback.gap, best.nodes)
    return best, bound, tables


@kernel(inline="always")
def fairest_of_cheapest(
    round: Round, lattice: Lattice, tables: Tables, tolerance: float, best: Found, left: int, effort: Effort
) -> tuple[Found, float]:
    """Of the templates within the tolerance that cost what the best does, the fairest; and what its gap is at least."""
    if tables.pair.shape[0] == 0 and lattice.child.shape[0] > 0 and effort.resolution > 3.0 * SLACK:
        tables = tables_up_to(round, lattice, survey(round, lattice, tolerance), best.cost, effort.max_cells)
        left = max(left - tables.cells.shape[0] // CELLS, effort.plain_nodes)
    fair = walk(round, tables, no_guide(), tolerance, np.int64(best.cost), effort.resolution, left)
    bound = fair.gap - effort.resolution if fair.nodes <= left else 0.0
    if not fair.found:
        return best, bound
    left = max(left - fair.nodes, effort.plain_nodes)
    closest = walk(round, tables, no_guide(), fair.gap, np.int64(best.cost), 0.0, left)
    return closest if closest.found else fair, bound


@kernel(inline="always")
def choose_walk(
    round: Round, subsets: Subsets, lattice: Lattice, tolerance: float, fairest: bool, effort: Effort
) -> Choice:
    """The best template.

    If nothing is within the tolerance, a search for the least gap sets the limit for another search for the least cost.
    A quarter of the effort is kept for that.
    """
    plain, cells, most = effort.plain_nodes, effort.max_cells, effort.max_nodes
    nothing = Found(False, np.zeros(round.P.shape[0], dtype=np.int64), 0, tolerance, 0)
    best, bound, tables = cheapest(
        round, subsets, lattice, tolerance, nothing, effort.first_nodes, most - most // 4, cells
    )
    left = max(most - best.nodes, plain)
    if best.found:
        gap_bound = 0.0
        if fairest:
            best, gap_bound = fairest_of_cheapest(round, lattice, tables, tolerance, best, left, effort)
        return Choice(best, bound, gap_bound)
    no_limit, fair = np.int64(NO_LIMIT), nothing
    if bound < IMPOSSIBLE:
        # There may be some that were not found: any will do.
        fair = walk(round, no_tables(), no_guide(), tolerance, no_limit, np.inf, left // 2)
        left -= min(fair.nodes, left // 2)
    gap_bound = 0.0 if bound < IMPOSSIBLE else tolerance
    if not fair.found:
        # A walk without a limit finds some template in as many steps as there are positions.
        left = max(left, round.P.shape[0])
        fair = walk(round, no_tables(), no_guide(), np.inf, no_limit, effort.resolution, left)
        gap_bound = max(gap_bound, fair.gap - effort.resolution) if fair.nodes <= left else gap_bound
        left -= min(fair.nodes, left)
    limit = max(fair.gap, tolerance)
    best, bound, _ = cheapest(round, subsets, lattice, limit, fair, plain, max(left, plain), cells)
    return Choice(best, bound, gap_bound)
