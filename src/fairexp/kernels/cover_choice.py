"""The best template by covers: the cheapest within the tolerance, or the cheapest of the least unfair."""

from __future__ import annotations

import numpy as np

from fairexp.kernels.compiling import kernel
from fairexp.kernels.covering import cover
from fairexp.kernels.covers import CHEAPEST, FAIREST_OF_THOSE, LEAST_GAP, LOOKS, Subsets
from fairexp.kernels.gaps import corridor
from fairexp.kernels.lattice import no_tables
from fairexp.kernels.search import NO_LIMIT, Choice, Effort, Found, Round, no_guide, walk

GROWTH = 1.2
"""From one limit to the next, where the least gap is searched for from below; a little more each time."""

DESPERATE = 1_000
"""Steps of a walk for any template at all, where no limit was found that allows one; a list's length suffices."""


@kernel
def seek(
    round: Round, subsets: Subsets, limit: float, known: Found, rule: np.int64, resolution: float, max_nodes: int
) -> tuple[Found, bool]:
    """The best cover, no dearer than what is `known`, or else that; and whether the search was finished."""
    budget = np.int64(known.cost if known.found and rule != LEAST_GAP else NO_LIMIT)
    max_looks = int(LOOKS * max_nodes)
    best = cover(round, subsets, limit, budget, rule, resolution, max_looks)
    finished, nodes = best.nodes <= max_looks, int(np.ceil(best.nodes / LOOKS))
    if not best.found and known.found:
        best = known
    return Found(best.found, best.template, best.cost, best.gap, nodes), finished


@kernel
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


@kernel(inline="always")
def least_gap(round: Round, subsets: Subsets, above: float, resolution: float, max_nodes: int) -> tuple[Found, float]:
    """The least gap of all templates, which is known to lie above `above`, and what it is at least."""
    bound, used, growth = max(above, top_limit(round)), 0, GROWTH
    limit = max(bound, resolution)
    nothing = Found(False, np.zeros(round.P.shape[0], dtype=np.int64), 0, np.inf, 0)
    best = nothing
    while used < max_nodes and not best.found:
        limit *= growth
        growth *= 1.02
        best, finished = seek(round, subsets, limit, nothing, LEAST_GAP, resolution, max_nodes - used)
        used += best.nodes
        if finished:
            bound = best.gap - resolution if best.found else limit
    if not best.found:
        steps = max(DESPERATE, round.P.shape[0])
        best = walk(round, no_tables(), no_guide(), np.inf, np.int64(NO_LIMIT), resolution, steps)
    return Found(True, best.template, best.cost, best.gap, used), bound


@kernel(inline="always")
def choose_cover(
    round: Round, subsets: Subsets, tolerance: float, fairest: bool, known: Found, effort: Effort
) -> Choice:
    """The best template, given what a short walk has found within the tolerance, if anything."""
    left = effort.max_nodes
    rule = FAIREST_OF_THOSE if fairest else CHEAPEST
    best, finished = seek(round, subsets, tolerance, known, rule, 0.0, left)
    left = max(left - best.nodes, effort.plain_nodes)
    if best.found:
        return Choice(best, best.cost if finished else 0, best.gap if finished else 0.0)
    fair, gap_bound = least_gap(round, subsets, tolerance if finished else 0.0, effort.resolution, left)
    left = max(left - fair.nodes, effort.plain_nodes)
    # An unfinished search may have missed what is within the tolerance.
    best, finished = seek(round, subsets, max(fair.gap, tolerance), fair, CHEAPEST, 0.0, left)
    return Choice(best, best.cost if finished else 0, gap_bound)
