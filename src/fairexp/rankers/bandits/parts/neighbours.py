"""Neighbours in a list that change places by chance: how BubbleRank and UniRank explore."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from fairexp.arrays import Bools, Ints
from fairexp.rankers.bandits.parts.duels import Duels, ExchangeableBelief
from fairexp.rankers.bandits.parts.orders import blocks_along, exchangeable
from fairexp.rankers.bandits.parts.query_memory import Table
from fairexp.types import Query


def neighbour_pairs(order: Ints, border: int, better: Bools, rng: np.random.Generator) -> Ints:
    """Disjoint pairs (p, 2) of positions in `order` whose documents are not certainly in order yet, the upper first.

    They are neighbours among the first `border` positions, from the first or the second on as a coin decides. Where
    that leaves out the last of them, it meets one of the documents further down, drawn uniformly.
    """
    first = int(rng.integers(2))
    pairs = [(upper, upper + 1) for upper in range(first, border - 1, 2)]
    if (border - first) % 2 and len(order) > border:
        rivals = border + np.flatnonzero(~better[order[border - 1], order[border:]])
        if len(rivals):
            pairs.append((border - 1, int(rivals[rng.integers(len(rivals))])))
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return found[~better[order[found[:, 0]], order[found[:, 1]]]]


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
        draw, classes = order.copy(), np.arange(query.n_candidates)
        for each in np.unique(lists).tolist():
            at = np.flatnonzero(lists[order] == each)
            members = order[at]
            if is_open[members[0]]:
                draw[at] = rng.permutation(members)
                classes[members] = members[0]
                continue
            border = min(self.length, len(members))
            if groups is not None and query.n_candidates > self.length:
                border = int(rng.integers(1, border + 1))
            pairs = neighbour_pairs(members, border, better, rng)
            classes[members[pairs[:, 1]]] = members[pairs[:, 0]]
            swapped = pairs[rng.random(len(pairs)) < 0.5]
            draw[at[swapped]] = members[swapped[:, ::-1]]
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return ExchangeableBelief(
            scores=np.asarray(-place, dtype=np.float64),
            draw=draw,
            block=self._blocks(order, better, is_open),
            above=better,
            classes=exchangeable(classes, better, groups),
        )

    @abstractmethod
    def _order(self, tables: dict[str, Table], lists: Ints, rng: np.random.Generator) -> tuple[Ints, Bools]:
        """All candidates (n,) from the best down, and which (n,) are in a list that is to be shuffled as a whole."""

    def _blocks(self, order: Ints, better: Bools, is_open: Bools) -> Ints:
        return np.zeros(len(order), dtype=np.int64) if is_open.any() else blocks_along(order, better)
