"""What a template is chosen for: the groups' queues, what taking a document out of turn costs, and what is owed.

Each group's documents wait in one queue in the order of the exploration draw. Walking a template pops, at each
position, the queue of the group that it names. What a pop costs depends only on how many documents each group has
shown so far, so costs come from a table.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.fairness.gaps import slack
from cython.cimports.libc.stdint import int64_t


@cython.final
@cython.cclass
class Draw:
    """An exploration draw `order` (n,) of documents in `groups` (n,).

    Document e ought to stand above d, and showing it below costs `regret[row[e], row[d]]`: 1 or 0 where orders are
    certain or not.
    """

    def __init__(self, order, groups, regret, row):
        self.order, self.groups, self.regret, self.row = order, groups, regret, row


@cython.final
@cython.cclass
class Aim:
    """What is owed: exposure `spent` (G,) so far and `shares` (G,), which no pair may miss by more than the tolerance.

    Added regret counts shown documents only, or all. Of equals the fairest wins, or the one closest to the draw; `keys`
    (G, k), unless empty, stand for draw positions there.
    """

    def __init__(self, spent, shares, tolerance, displayed_only, fairest, keys):
        self.spent, self.shares, self.tolerance = spent, shares, tolerance
        self.displayed_only, self.fairest, self.keys = displayed_only, fairest, keys


@cython.final
@cython.cclass
class Effort:
    """How much to search: nodes without bounds and in all, cells in tables, and the least difference between gaps that
    counts."""

    def __init__(self, plain_nodes, max_nodes, max_cells, resolution):
        self.plain_nodes, self.max_nodes, self.max_cells = plain_nodes, max_nodes, max_cells
        self.resolution = resolution


@cython.final
@cython.cclass
class Found:
    """A search's best template (k,), what it costs and the gap it leaves, whether there is one, and the effort."""

    def __init__(self, k: int64_t):
        self.template = np.zeros(k, dtype=np.int64)
        self.forget()

    def forget(self):
        """Nothing is found yet."""
        self.found, self.cost, self.gap, self.nodes = False, 0, 0.0, 0

    def take(self, other):
        """What another search found, its effort included."""
        self.found, self.cost, self.gap, self.nodes = other.found, other.cost, other.gap, other.nodes
        self.template[:] = other.template


@cython.final
@cython.cclass
class Round:
    """P (k,) exposure by position and their sum, `spent` (G,) so far, w (G,) shares, and the queues.

    Queues (G, k) hold documents, `size` (G,) says how many, and `place` (G, k) by which keys equals are settled: draw
    positions by default. `cost[g, i, h, a]` is what popping the i-th document of group g costs on account
    of group h when a documents of h are gone: what documents of h that came before it in the draw, and are still
    waiting, cost if they stand below it. Among shown documents only, the same reversals are counted when the second of
    the two is popped.
    """

    def __init__(self, P, n_groups: int64_t):
        self.P = np.array(P, dtype=np.float64)
        self.k, self.n_groups = len(P), n_groups
        self.total = 0.0
        for p in range(self.k):
            self.total += self.P[p]
        self.spent, self.w = np.zeros((2, n_groups))
        self.size, self.gone = np.zeros((2, n_groups), dtype=np.int64)
        self.queue = np.zeros((n_groups, self.k), dtype=np.int64)
        self.place = np.zeros((n_groups, self.k), dtype=np.int64)
        self.cost = np.zeros((n_groups, self.k, n_groups, self.k + 1), dtype=np.int64)
        self.in_queue = np.zeros(0, dtype=np.int64)

    def begin(self, draw, aim):
        """Let the round be this one."""
        if self.in_queue.shape[0] < draw.order.shape[0]:
            self.in_queue = np.zeros(draw.order.shape[0], dtype=np.int64)
        with cython.nogil:
            self.spent[:] = aim.spent
            self.w[:] = aim.shares
            self.fill_queues(draw)
            self.count_reversals(draw, aim.displayed_only)
            self.add_up(aim.displayed_only)
            if aim.keys.shape[0] > 0:
                self.place[:, :] = aim.keys

    def fill_queues(self, draw):
        """The first k documents of each group, in the order of the draw."""
        self.size[:] = 0
        for p in range(draw.order.shape[0]):
            g = draw.groups[draw.order[p]]
            i = self.size[g]
            self.in_queue[p] = i
            if i < self.k:
                self.queue[g, i], self.place[g, i] = draw.order[p], p
                self.size[g] += 1

    def count_reversals(self, draw, displayed_only):
        """Enter what each order that a pop may reverse costs, where it counts first."""
        self.cost[:, :, :, :] = 0
        for g in range(self.n_groups):
            for i in range(self.size[g]):
                d = draw.row[self.queue[g, i]]
                for p in range(self.place[g, i]):
                    e = draw.order[p]
                    h = draw.groups[e]
                    regret = draw.regret[draw.row[e], d]
                    if h == g or not regret:
                        continue
                    if not displayed_only:
                        # e is still waiting while at most in_queue[p] documents of h are gone.
                        self.cost[g, i, h, self.in_queue[p]] += regret
                    elif self.in_queue[p] < self.k:
                        # Charged to e's own pop: d is already shown once i + 1 documents of g are gone.
                        self.cost[h, self.in_queue[p], g, i + 1] += regret

    def add_up(self, displayed_only):
        """Let costs be those of all reversals so far, or still ahead."""
        for g in range(self.n_groups):
            for i in range(self.size[g]):
                for h in range(self.n_groups):
                    if displayed_only:
                        for a in range(1, self.k + 1):
                            self.cost[g, i, h, a] += self.cost[g, i, h, a - 1]
                    else:
                        for a in range(self.k - 1, -1, -1):
                            self.cost[g, i, h, a] += self.cost[g, i, h, a + 1]

    def price(self, template):
        """What a whole template costs."""
        price: int64_t = 0
        self.gone[:] = 0
        for p in range(template.shape[0]):
            g = template[p]
            for h in range(self.n_groups):
                price += self.cost[g, self.gone[g], h, self.gone[h]]
            self.gone[g] += 1
        return price


@cython.final
@cython.cclass
class Corridors:
    """The least and most exposure, `lower` and `upper` (G,), that each group may end with if no pair exceeds `limit`.

    E (G,) is what groups have so far.
    """

    def __init__(self, round):
        self.round = round
        self.lower, self.upper, self.E = np.zeros((3, self.round.n_groups))

    def narrow(self, limit):
        """Let the limit be this."""
        self.limit = limit
        lay_corridors(self.round.total, self.round.spent, self.round.w, limit, self.lower, self.upper)


def lay_corridors(total, spent, w, limit, lower, upper):
    """Enter the corridors of groups (G,) that share a list of so much exposure.

    With T = sum E after the round, the same for every template, and W = sum w: if every pair is within x, then
    |W E_g / w_g - T| <= x c_g with c_g = sum over h != g of w_h / w_min(g, h).
    """
    T, W = total, 0.0
    for g in range(w.shape[0]):
        T += spent[g]
        W += w[g]
    for g in range(w.shape[0]):
        c = 0.0
        for h in range(w.shape[0]):
            if h != g:
                c += w[h] / w[min(g, h)]
        spread = limit * c if c > 0.0 else 0.0
        lower[g] = w[g] * (T - spread) / W - slack
        upper[g] = w[g] * (T + spread) / W + slack


def is_permutation(order):
    """Whether `order` (n,) holds each of 0..n-1 once."""
    n = order.shape[0]
    seen: cython.uchar[::1] = np.zeros(n, dtype=np.uint8)
    for p in range(n):
        if order[p] < 0 or order[p] >= n or seen[order[p]]:
            return False
        seen[order[p]] = True
    return True
