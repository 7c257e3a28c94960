"""UniRank: the list that the comparisons so far speak for, explored between neighbours."""

from __future__ import annotations

from math import log

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.kernels.bandits.orders import chains
from fairexp.query_memory import Table
from fairexp.rankers.bandits.bounds import bernoulli_kl
from fairexp.rankers.bandits.neighbours import Neighbours


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
        rank, is_open = chains(tables["lead"], lists, keys, self.length)
        return np.lexsort((keys, rank)), is_open

    @property
    def least(self) -> float:
        return log(self.horizon) / log(2.0)  # kl((1 - x) / 2, 1 / 2) is at most x^2 ln 2

    def _decided(self, lead: Floats, duels: Floats) -> Bools:
        losing = 0.5 * (1.0 - lead / np.maximum(duels, 1.0))
        return np.asarray((lead > 0) & (duels * bernoulli_kl(losing, np.full_like(losing, 0.5)) >= log(self.horizon)))
