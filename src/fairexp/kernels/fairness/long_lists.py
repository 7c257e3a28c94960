"""The best template of a long list: by walks with bounds from multipliers and tables, where states are not too many."""

import cython
from cython.cimports.fairexp.kernels.fairness.depth_first import NO_LIMIT
from cython.cimports.fairexp.kernels.fairness.gaps import slack
from cython.cimports.fairexp.kernels.fairness.multipliers import IMPOSSIBLE
from cython.cimports.fairexp.kernels.fairness.rounds import Found
from cython.cimports.fairexp.kernels.fairness.subset_cover import LOOKS
from cython.cimports.libc.stdint import int64_t

MARGIN, PART = 8, 20
"""Tables are made for templates that cost no more above the proven bound than this, and this part of it; then more."""

GUESS = 200
"""Effort of the first guess, in steps of a walk."""

CELLS = 2_000
"""Cells of a table that take about the time of one step of a walk."""


@cython.final
@cython.cclass
class LongLists:
    """The `best` template, and what its cost and, where the fairest of equals was sought, its gap are at least.

    There may be no multipliers, tables or first guess. `used` counts the effort of a search.
    """

    def __init__(self, round, walk, multipliers, tables, first_guess):
        self.round, self.walk, self.tables = round, walk, tables
        self.multipliers, self.first_guess = multipliers, first_guess
        self.best = Found(self.round.k)

    def take_cheaper(self, other):
        """Let `best` be the cheaper of itself and another find, if any."""
        if other.found and not (self.best.found and self.best.cost <= other.cost):
            self.best.take(other)

    def table(self, top, max_cells):
        """Make tables for the templates that cost at most `top`, if there may be any."""
        if self.tables is not None:
            self.tables.build(top, max_cells)
            self.used += self.tables.n_cells // CELLS
            self.has_tables = True

    def rise(self, limit, top, max_nodes):
        """Look for the least cost, if it is at most `top`, by walks with a budget that rises from the bound.

        Returns whether it was found; raises the bound.
        """
        budget: int64_t = self.bound
        step: int64_t = 1
        nodes: int64_t = 0
        if self.has_tables:
            self.walk.goal.narrow(limit)
            self.walk.goal.E[:] = self.round.spent
            for t in range(self.tables.count):
                budget = max(budget, self.tables.least_ahead(t, 0, 0, self.walk.goal, -1))
        while budget <= top:
            self.walk.search(limit, budget, 0.0, max_nodes - nodes, self.has_tables)
            nodes += self.walk.found.nodes
            self.used += self.walk.found.nodes
            if nodes > max_nodes or self.walk.found.found:
                proven: cython.bint = self.walk.found.found and nodes <= max_nodes
                self.bound = self.walk.found.cost if proven else budget
                return self.walk.found.found
            budget, step = min(budget + step, top) if budget < top else budget + 1, step * 2
        # Tables know nothing about templates that cost more.
        self.bound = top + 1
        return False

    def guess(self, limit, max_nodes):
        """What is quickly found along the multipliers: most often nearly the best."""
        self.first_guess.search(limit, cython.cast(int64_t, LOOKS * max_nodes))
        self.used += cython.cast(int64_t, self.first_guess.found.nodes / LOOKS)
        self.take_cheaper(self.first_guess.found)

    def least_cost(self, limit, max_nodes, max_cells):
        """Let `best` be the cheapest template within `limit`, unless it is that already, and `bound` what it costs.

        The answer is proven if the bound is its cost; if there is none, a bound of `IMPOSSIBLE` proves that.
        """
        self.multipliers.survey(limit)
        self.bound, self.used = self.multipliers.bound, 0
        margin: int64_t = MARGIN + self.bound // PART
        if self.bound < IMPOSSIBLE:
            self.guess(limit, min(GUESS, max_nodes // 8))
        while self.bound < IMPOSSIBLE and self.used < max_nodes:
            if self.best.found and self.bound > self.best.cost:
                break
            top: int64_t = min(self.bound + margin, IMPOSSIBLE - 1)
            if self.best.found:
                top = min(top, self.best.cost)
            self.table(top, max_cells)
            if self.rise(limit, top, max(max_nodes - self.used, 0)):
                self.best.take(self.walk.found)
                break
            margin *= 4
        self.bound = min(self.bound, IMPOSSIBLE)

    def go_on(self, limit, walked, max_nodes, max_cells):
        """Let `best` be the cheapest template within `limit`, if there is one, after a walk of up to `walked` nodes."""
        if self.multipliers is None and self.walk.found.nodes > walked:
            walked = max_nodes
            self.walk.search(limit, NO_LIMIT, 0.0, max_nodes, False)
        self.best.take(self.walk.found)
        self.used, self.has_tables = self.best.nodes, False
        if self.best.nodes <= walked:
            self.bound = self.best.cost if self.best.found else IMPOSSIBLE
        elif self.multipliers is not None:
            self.least_cost(limit, max_nodes, max_cells)
        else:
            self.bound = 0

    def fairest_of_cheapest(self, tolerance, left, effort):
        """Of the templates within the tolerance that cost what the best does, the fairest."""
        if not self.has_tables and self.multipliers is not None and effort.resolution > 3.0 * slack:
            self.multipliers.survey(tolerance)
            self.table(self.best.cost, effort.max_cells)
            if self.has_tables:
                left = max(left - self.tables.n_cells // CELLS, effort.plain_nodes)
        self.walk.search(tolerance, self.best.cost, effort.resolution, left, self.has_tables)
        self.gap_bound = self.walk.found.gap - effort.resolution if self.walk.found.nodes <= left else 0.0
        if self.walk.found.found:
            self.best.take(self.walk.found)
            left = max(left - self.walk.found.nodes, effort.plain_nodes)
            self.walk.search(self.best.gap, self.best.cost, 0.0, left, self.has_tables)
            if self.walk.found.found:
                self.best.take(self.walk.found)

    def within(self, aim, effort):
        """Find the best template within the tolerance, if there is one, after a short walk that looked for it.

        A quarter of the effort is kept for the fairest of equals.
        """
        plain, most = effort.plain_nodes, effort.max_nodes
        self.go_on(aim.tolerance, plain, most - most // 4, effort.max_cells)
        self.gap_bound = 0.0
        if self.best.found and aim.fairest:
            self.fairest_of_cheapest(aim.tolerance, max(most - self.used, plain), effort)

    def around(self, limit, known, effort):
        """Find the cheapest template within a limit that a `known` one keeps, unless that is as cheap."""
        self.walk.search(limit, NO_LIMIT, 0.0, effort.plain_nodes, False)
        self.go_on(limit, effort.plain_nodes, effort.max_nodes, effort.max_cells)
        self.take_cheaper(known)
