"""UniRank: the list that the comparisons so far speak for, explored between neighbours."""

from __future__ import annotations

from math import log

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.rankers.bandits.parts.bounds import bernoulli_kl
from fairexp.rankers.bandits.parts.neighbours import Neighbours
from fairexp.rankers.bandits.parts.query_memory import Table


class UniRank(Neighbours):
    """Leads with a chain in which nobody trails anyone below, and compares neighbours that could be in the wrong order.

    A pair is settled once the upper Kullback-Leibler bound on the lower one's share of duels won, with the budget
    ln `horizon`, is at most 1/2. Where no chain of the list's length exists, everything is shuffled. The published
    algorithm has regret O(L / gap * log T) in unimodal click models, of which cascade and position-based ones are two;
    this is its pairwise core with neighbours paired as in `Neighbours`: experimental.

    Inside `FairExp` each group has a chain of its own.

    Gauthier, Gaudel and Fromont, "UniRank: unimodal bandit algorithms for online ranking", ICML 2022.
    """

    relative_cost = 3.0

    def _order(self, tables: dict[str, Table], lists: Ints, rng: np.random.Generator) -> tuple[Ints, Bools]:
        keys = rng.random(len(lists))
        rank, is_open = np.empty(len(lists), dtype=np.int64), np.zeros(len(lists), dtype=np.bool_)
        for each in np.unique(lists).tolist():
            members = np.flatnonzero(lists == each)
            trails = tables["lead"][np.ix_(members, members)] < 0
            order, n_chained = chain(trails, keys[members], min(self.length, len(members)))
            rank[members[order]] = np.arange(len(members))
            is_open[members] = n_chained < min(self.length, len(members))
        return np.lexsort((keys, rank)), is_open

    def _decided(self, lead: Floats, duels: Floats) -> Bools:
        losing = 0.5 * (1.0 - lead / np.maximum(duels, 1.0))
        return np.asarray((lead > 0) & (duels * bernoulli_kl(losing, np.full_like(losing, 0.5)) >= log(self.horizon)))


def chain(trails: Bools, keys: Floats, length: int) -> tuple[Ints, int]:
    """An order (n,) whose first documents trail nobody that comes after them, and how many those are.

    Of several that could come next, the one with the smallest of `keys` (n,) does. What is left when none can, or when
    there are `length`, follows by the number of documents that it trails.

    >>> chain(np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool), np.array([0.1, 0.3, 0.2]), 3)
    (array([2, 1, 0]), 3)
    """
    n_trailed = trails.sum(axis=1)
    waiting = np.ones(len(keys), dtype=np.bool_)
    order: list[int] = []
    while len(order) < length:
        ready = np.flatnonzero(waiting & (n_trailed == 0))
        if len(ready) == 0:
            break
        chosen = int(ready[np.argmin(keys[ready])])
        order.append(chosen)
        waiting[chosen] = False
        n_trailed = n_trailed - trails[:, chosen]
    rest = np.flatnonzero(waiting)
    rest = rest[np.lexsort((keys[rest], n_trailed[rest]))]
    return np.concatenate([np.array(order, dtype=np.int64), rest]), len(order)
