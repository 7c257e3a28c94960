"""The cheapest fair interleaving of the groups' queues: which search to use, and what it shows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.kernels.compiling import kernel
from fairexp.kernels.cover_choice import choose_cover
from fairexp.kernels.covers import Subsets
from fairexp.kernels.gaps import largest_gap
from fairexp.kernels.lattice import Lattice, no_tables
from fairexp.kernels.queues import build_queues
from fairexp.kernels.reach import Bits
from fairexp.kernels.search import NO_LIMIT, Choice, Effort, Round, no_guide, walk
from fairexp.kernels.walk_choice import choose_walk


class Bounds(NamedTuple):
    """What helps to search lists of this length: subsets of all positions if they are few, or of the last ones, and the
    lattice of counts; both may be empty."""

    subsets: Subsets
    lattice: Lattice


@kernel(inline="always")
def choose(round: Round, bounds: Bounds, tolerance: float, fairest: bool, effort: Effort) -> Choice:
    """The best template: by covers for short lists of many groups, otherwise by walks."""
    if bounds.subsets.worth.shape[0] < 2 ** min(round.P.shape[0], 62):
        return choose_walk(round, bounds.subsets, bounds.lattice, tolerance, fairest, effort)
    known = walk(round, no_tables(), no_guide(), tolerance, np.int64(NO_LIMIT), 0.0, effort.plain_nodes)
    return choose_cover(round, bounds.subsets, tolerance, fairest, known, effort)


@kernel
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


@kernel(nogil=True)
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
    best = walk(round, no_tables(), no_guide(), tolerance, np.int64(NO_LIMIT), 0.0, max_nodes)
    shown, after = show(best.template, queue, P, spent)
    return best.nodes <= max_nodes, best.found, shown, best.template, best.cost, after


@kernel(nogil=True)
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
    round = Round(P, spent, w, size, place, cost, reach, reach_width, bounds.lattice.child)
    best, bound, gap_bound = choose(round, bounds, tolerance, fairest, effort)
    shown, after = show(best.template, queue, P, spent)
    return shown, best.template, best.cost, after, largest_gap(after, w), bound, gap_bound
