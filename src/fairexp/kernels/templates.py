"""The cheapest fair interleaving of the groups' queues: which search to use, the fallback, and ties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from fairexp.arrays import Bools, Floats, Ints
from fairexp.kernels.covers import Subsets, cover
from fairexp.kernels.gaps import SLACK, corridor, largest_gap
from fairexp.kernels.lattice import IMPOSSIBLE, Tables, build_tables, least_ahead, no_tables
from fairexp.kernels.queues import build_queues
from fairexp.kernels.reach import Bits
from fairexp.kernels.search import NO_LIMIT, Found, Round, walk

SUBSETS_PER_NODE = 8
"""A look at one subset takes about this part of the time of one step of a walk."""

GROWTH = 1.1
"""From one limit to the next, where the least gap is searched for from below; a little more each time."""


DESPERATE = 1_000
"""Steps of a walk for any template at all, where no limit was found that allows one; a list's length suffices."""


class Effort(NamedTuple):
    """How much to search: nodes without bounds (at first, and later) and with them, cells in tables, and the least
    difference between gaps that counts."""

    first_nodes: int
    plain_nodes: int
    max_nodes: int
    max_cells: int
    resolution: float


class Bounds(NamedTuple):
    """What helps to search lists of this length: subsets of positions, or the lattice of counts (both may be empty)."""

    subsets: Subsets
    states: Ints
    depth: Ints
    child: Ints


@njit(cache=True)
def tables_for(round: Round, bounds: Bounds, limit: float, max_cells: int) -> Tables:
    """The lattice's tables for templates within `limit`; none where there is no lattice, or subsets do better."""
    if bounds.child.shape[0] == 0 or bounds.subsets.masks.shape[0] > 0:
        return no_tables()
    lower, upper = corridor(limit, round.spent, round.w, round.P)
    return build_tables(
        round.P, round.spent, round.size, round.cost, bounds.states, bounds.depth, bounds.child, lower, upper, max_cells
    )


@njit(cache=True)
def seek(
    round: Round, subsets: Subsets, tables: Tables, limit: float, budget: int | np.int64, resolution: float, nodes: int
) -> Found:
    """`walk` or `cover`, whichever suits; the effort is counted in steps of a walk."""
    if subsets.masks.shape[0] == 0:
        return walk(round, tables, limit, budget, resolution, nodes)
    best = cover(round, subsets, limit, budget, resolution, nodes * SUBSETS_PER_NODE)
    return Found(best.found, best.template, best.cost, best.gap, -(-best.nodes // SUBSETS_PER_NODE))


@njit(cache=True)
def all_covers(
    round: Round, subsets: Subsets, limit: float, known: Found, max_nodes: int
) -> tuple[Found, np.int64, int]:
    """The cheapest of all templates within `limit`, what it costs at least (0 if unfinished), and the effort."""
    best, used, none = known, 0, no_tables()
    if not known.found:
        best = seek(round, subsets, none, limit, np.int64(NO_LIMIT), np.inf, max_nodes)
        used = best.nodes
        if used > max_nodes or not best.found:
            return best, np.int64(0 if used > max_nodes else IMPOSSIBLE), used
    now = seek(round, subsets, none, limit, np.int64(best.cost), 0.0, max_nodes - used)
    used += now.nodes
    if now.found:
        best = now
    return best, np.int64(0 if used > max_nodes else best.cost), used


@njit(cache=True)
def least_cost(
    round: Round, subsets: Subsets, tables: Tables, limit: float, known: Found, max_nodes: int
) -> tuple[Found, int]:
    """The least cost within `limit`, and what it is at least, by searches with a rising budget.

    It begins at the tables' bound and ends at what is `known` already. The answer is proven if the bound is its cost;
    if there is none, a bound of `IMPOSSIBLE` proves that. `nodes` of the answer are those of all searches.
    """
    lower, upper = corridor(limit, round.spent, round.w, round.P)
    bound = np.int64(0)
    for t in range(tables.pair.shape[0]):
        least = least_ahead(tables, t, 0, 0, round.spent, round.w, limit + SLACK, lower, upper, -1)
        bound = max(bound, np.int64(least))
    best, used, rise = known, 0, np.int64(1)
    if subsets.masks.shape[0] > 0:
        # Only the limit prunes at first: where it leaves few templates, budgets are not worth their while.
        best, bound, used = all_covers(round, subsets, limit, known, max_nodes // 2)
    budget = bound
    while bound < IMPOSSIBLE and used < max_nodes and not (best.found and bound >= best.cost):
        if best.found:
            budget = min(budget, np.int64(best.cost))
        now = seek(round, subsets, tables, limit, budget, 0.0, max_nodes - used)
        used += now.nodes
        if now.found:
            best = now
        if used > max_nodes:
            break
        bound = np.int64(best.cost) if now.found else budget + 1
        if now.found:
            break
        # Nothing costs as much as that: a search that found nothing has shown that there is nothing.
        budget = min(budget + rise, np.int64(IMPOSSIBLE))
        rise *= 2 if subsets.masks.shape[0] == 0 else 4
    return Found(best.found, best.template, best.cost, best.gap, used), int(bound)


@njit(cache=True)
def top_limit(round: Round) -> float:
    """The least gap as far as the position with most exposure tells: someone's corridor must have room for it."""
    highest, limit = 0.0, np.inf
    for p in range(round.P.shape[0]):
        highest = max(highest, round.P[p])
    centre, edge = corridor(0.0, round.spent, round.w, round.P)[1], corridor(1.0, round.spent, round.w, round.P)[1]
    for g in range(round.w.shape[0]):
        if round.size[g] > 0 and edge[g] > centre[g]:
            limit = min(limit, (round.spent[g] + highest - centre[g]) / (edge[g] - centre[g]))
    return max(limit, 0.0) if limit < np.inf else 0.0


@njit(cache=True)
def least_gap(round: Round, subsets: Subsets, above: float, resolution: float, max_nodes: int) -> tuple[Found, float]:
    """The least gap of all templates, which is known to lie above `above`, and what it is at least."""
    none, unlimited = no_tables(), np.int64(NO_LIMIT)
    if subsets.masks.shape[0] == 0:
        max_nodes = max(max_nodes, round.P.shape[0])
        best = walk(round, none, np.inf, unlimited, resolution, max_nodes)
        return best, best.gap - resolution if best.nodes <= max_nodes else above
    bound, used, growth = max(above, top_limit(round)), 0, GROWTH
    limit = max(bound, resolution)
    best = Found(False, np.zeros(round.P.shape[0], dtype=np.int64), 0, np.inf, 0)
    while used < max_nodes and not best.found:
        limit *= growth
        growth *= 1.02
        best = seek(round, subsets, none, limit, unlimited, resolution, max_nodes - used)
        used += best.nodes
        if used <= max_nodes:
            bound = best.gap - resolution if best.found else limit
    if not best.found:
        best = walk(round, none, np.inf, unlimited, resolution, max(DESPERATE, round.P.shape[0]))
    return Found(True, best.template, best.cost, best.gap, used), bound


@njit(cache=True)
def cheapest(
    round: Round,
    bounds: Bounds,
    tables: Tables,
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
    subsets = bounds.subsets
    helped = bounds.child.shape[0] > 0 or subsets.masks.shape[0] > 0
    plain_nodes = plain_nodes if helped else max_nodes
    best = walk(round, no_tables(), limit, np.int64(NO_LIMIT), 0.0, plain_nodes)
    bound = best.cost if best.found else IMPOSSIBLE
    if best.nodes > plain_nodes:
        if tables.pair.shape[0] == 0:
            tables = tables_for(round, bounds, limit, max_cells)
        if subsets.masks.shape[0] > 0 and fallback.found and not (best.found and best.cost <= fallback.cost):
            best = fallback
        best, bound = least_cost(round, subsets, tables, limit, best, max_nodes)
    if fallback.found and (not best.found or fallback.cost < best.cost):
        # Only an unfinished search comes here: what it was to improve on is an answer all the same.
        best = Found(True, fallback.template, fallback.cost, fallback.gap, best.nodes)
    return best, bound, tables


@njit(cache=True)
def choose(round: Round, bounds: Bounds, tolerance: float, fairest: bool, effort: Effort) -> tuple[Found, int, float]:
    """The best template, and what its cost and, where that was asked, its gap are at least.

    If nothing is within the tolerance, or the fairest of equals is wanted, a search for the least gap sets the limit
    for another search for the least cost.
    """
    none, subsets = no_tables(), bounds.subsets
    nothing = Found(False, np.zeros(round.P.shape[0], dtype=np.int64), 0, tolerance, 0)
    plain, left, cells = effort.plain_nodes, effort.max_nodes, effort.max_cells
    best, bound, tables = cheapest(round, bounds, none, tolerance, nothing, effort.first_nodes, left, cells)
    left = max(left - best.nodes, plain)
    if not best.found:
        above = tolerance if bound >= IMPOSSIBLE else 0.0
        fair, gap_bound = least_gap(round, subsets, above, effort.resolution, left)
        left = max(left - fair.nodes, plain)
        # An unfinished search may have missed what is within the tolerance.
        limit = max(fair.gap, tolerance)
        best, bound, _ = cheapest(round, bounds, none, limit, fair, plain, left, cells)
        return best, bound, gap_bound
    gap_bound = 0.0
    if fairest:
        if tables.pair.shape[0] == 0 and effort.resolution > 3.0 * SLACK:
            tables = tables_for(round, bounds, tolerance, cells)
        fair = seek(round, subsets, tables, tolerance, np.int64(best.cost), effort.resolution, left)
        if fair.nodes <= left:
            gap_bound = fair.gap - effort.resolution
        if fair.found:
            left = max(left - fair.nodes, plain)
            best, _, _ = cheapest(round, bounds, tables, fair.gap, fair, plain, left, cells)
    return best, bound, gap_bound


@njit(cache=True)
def show(template: Ints, queue: Ints, P: Floats, spent: Floats) -> tuple[Ints, Floats]:
    """The documents (k,) that a template shows, and the exposure (G,) of groups after the round."""
    shown, seen = np.zeros_like(template), np.zeros(spent.shape[0], dtype=np.int64)
    gain, after = np.zeros(spent.shape[0]), np.empty(spent.shape[0])
    for p in range(template.shape[0]):
        g = template[p]
        shown[p] = queue[g, seen[g]]
        seen[g] += 1
        gain[g] += P[p]
    for g in range(spent.shape[0]):
        after[g] = spent[g] + gain[g]
    return shown, after


@njit(cache=True, nogil=True)
def solve_easy(
    order: Ints,
    groups: Ints,
    certain: Bools,
    row: Ints,
    P: Floats,
    spent: Floats,
    w: Floats,
    tolerance: float,
    displayed_only: bool,
    reach: Bits,
    reach_width: float,
    max_nodes: int,
) -> tuple[bool, bool, Ints, Ints, int, Floats]:
    """The best ranking for a draw, if a short walk without bounds finds and proves it.

    Returns (whether the walk was finished, whether it found any, shown (k,), template (k,), added regret, exposure
    after the round (G,)).
    """
    queue, size, place, cost = build_queues(order, groups, certain, row, P.shape[0], w.shape[0], displayed_only)
    round = Round(P, spent, w, size, place, cost, reach, reach_width, np.zeros((0, 0), dtype=np.int64))
    best = walk(round, no_tables(), tolerance, np.int64(NO_LIMIT), 0.0, max_nodes)
    shown, after = show(best.template, queue, P, spent)
    return best.nodes <= max_nodes, best.found, shown, best.template, best.cost, after


@njit(cache=True, nogil=True)
def solve(
    order: Ints,
    groups: Ints,
    certain: Bools,
    row: Ints,
    P: Floats,
    spent: Floats,
    w: Floats,
    tolerance: float,
    displayed_only: bool,
    fairest: bool,
    place_keys: Ints,
    reach: Bits,
    reach_width: float,
    bounds: Bounds,
    effort: Effort,
) -> tuple[Ints, Ints, int, Floats, float, int, float]:
    """The best ranking for a draw.

    Returns (shown (k,), template (k,), added regret, exposure after the round (G,), its gap, what the added regret and
    the gap are at least). `place_keys` (G, k), unless empty, replace draw positions where equals are settled.
    """
    n_groups, k = w.shape[0], P.shape[0]
    queue, size, place, cost = build_queues(order, groups, certain, row, k, n_groups, displayed_only)
    if place_keys.shape[0] > 0:
        place = place_keys
    round = Round(P, spent, w, size, place, cost, reach, reach_width, bounds.child)
    best, bound, gap_bound = choose(round, bounds, tolerance, fairest, effort)
    shown, after = show(best.template, queue, P, spent)
    return shown, best.template, best.cost, after, largest_gap(after, w), bound, gap_bound
