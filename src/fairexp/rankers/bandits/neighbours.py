"""Neighbours in a list that change places by chance: how BubbleRank and UniRank explore."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from fairexp.arrays import Bools, Ints
from fairexp.kernels.bandits.orders import blocks_along, exchange_neighbours
from fairexp.query_memory import Table
from fairexp.rankers.bandits.duels import Duels, ExchangeableBelief
from fairexp.rankers.bandits.orders import exchangeable
from fairexp.types import Query


class Neighbours(Duels):
    """Shows a list of its own with some pairs of neighbours exchanged, each with probability 1/2, and compares those.

    Under templates each group has a list of its own, whose neighbours are compared: the pair's exchange then leaves
    the groups in the draw as they are. Unless all candidates are shown, how many positions a group will get is not
    known beforehand, so the border beyond which its documents wait is drawn uniformly; without templates it is the
    list's length.
    """

    def believe(self, query: Query, rng: np.random.Generator | None = None) -> ExchangeableBelief:
        tables, _ = self._look(query)
        better, groups = tables["better"].copy(), self._groups(query)
        rng = self.stream.at(self.n_ranked) if rng is None else rng
        lists = np.zeros(query.n_candidates, dtype=np.int64) if groups is None else groups
        order, is_open = self._order(tables, lists, rng)
        varied = groups is not None and query.n_candidates > self.length
        chances = rng.random((4, query.n_candidates))
        draw, classes, scores = exchange_neighbours(order, lists, is_open, better, self.length, varied, chances)
        return ExchangeableBelief(
            scores=scores,
            draw=draw,
            block=self._blocks(order, better, is_open),
            above=better,
            classes=exchangeable(classes, better, groups),
        )

    @abstractmethod
    def _order(self, tables: dict[str, Table], lists: Ints, rng: np.random.Generator) -> tuple[Ints, Bools]:
        """All candidates (n,) from the best down, and which (n,) are in a list that is to be shuffled as a whole."""

    def _blocks(self, order: Ints, better: Bools, is_open: Bools) -> Ints:
        return np.zeros(len(order), dtype=np.int64) if np.count_nonzero(is_open) else blocks_along(order, better)
