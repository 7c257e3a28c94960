"""BubbleRank: improves a given list by exchanging neighbours, and is never much worse than it."""

from __future__ import annotations

from math import log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints
from fairexp.query_memory import Field, QueryRecord, Table
from fairexp.rankers.bandits.duels import Duels
from fairexp.rankers.bandits.neighbours import Neighbours
from fairexp.types import Belief, Query, Ranking


class BubbleRank(Neighbours):
    """Starts from the candidates in the order in which they are first given, and exchanges neighbours for good.

    Disjoint neighbours, at even or odd positions by chance, change places with probability 1/2 until the upper one is
    certainly better: its lead exceeds 2 sqrt(N ln(1 / delta)) after N duels, with delta = `horizon`^-4. Where the lower
    one is, they are exchanged for good, from the top down and again until no neighbours are known to stand wrong. A
    list that is shown has at most K / 2 neighbours exchanged, so with high probability it is at most that many pairs
    worse than the one it starts from, at every round. Under click models as for `TopRank` regret is
    O(L K / gap * log T) (not checked against the paper).

    The published algorithm shows all documents (K = L). With more candidates than positions the last position is
    contested by a document drawn from the rest, which enters the list if it is certainly better: experimental.
    Documents that join later stand at the end. Inside `FairExp` each group's members are compared as neighbours among
    themselves (see `Neighbours`), so the safety holds inside each group.

    Li, Kveton, Lattimore, Markov, de Rijke, Szepesvari and Zoghi, "BubbleRank: safe online learning to re-rank via
    implicit click feedback", UAI 2019.
    """

    relative_cost = 2.0
    fields: ClassVar = {**Duels.fields, "place": Field(np.int64)}
    """`place` counts from 1; 0 is for documents that have none yet."""

    def _order(self, tables: dict[str, Table], lists: Ints, rng: np.random.Generator) -> tuple[Ints, Bools]:
        place = tables["place"]
        order = np.lexsort((place, place == 0))
        return order, np.zeros(len(order), dtype=np.bool_)

    def _notes(self, query: Query, belief: Belief) -> dict[str, NDArray[np.generic]]:
        groups = self._groups(query)
        lists = np.zeros(query.n_candidates, dtype=np.int64) if groups is None else groups
        return {**super()._notes(query, belief), "lists": lists}

    def _joined(self, record: QueryRecord, joined: Ints, ranking: Ranking) -> None:
        if len(joined) == 0:
            return
        place = record.tables["place"]
        place[joined] = place.max(initial=0) + 1 + np.arange(len(joined))

    @property
    def least(self) -> float:
        return 16.0 * log(self.horizon)

    def _decided(self, lead: Floats, duels: Floats) -> Bools:
        return np.asarray(lead > 4.0 * np.sqrt(duels * np.log(self.horizon)))

    def _reorder(self, record: QueryRecord, rows: Ints, ranking: Ranking) -> None:
        better, place = record.tables["better"], record.tables["place"]
        classes, lists = np.asarray(ranking.memory["classes"]), np.asarray(ranking.memory["lists"])
        for each in np.unique(lists).tolist():
            members = rows[(lists == each) & (rows >= 0)]
            members = members[np.argsort(place[members])]
            places = place[members]
            place[exchanged(members, better)] = places
        known = rows >= 0
        upper, lower = np.nonzero(np.triu(classes[known][:, None] == classes[known][None, :], 1))
        for i, j in zip(rows[known][upper].tolist(), rows[known][lower].tolist(), strict=True):
            if (better[j, i] and place[i] < place[j]) or (better[i, j] and place[j] < place[i]):
                place[i], place[j] = place[j], place[i]


def exchanged(members: Ints, better: Bools) -> Ints:
    """`members` (m,) with neighbours that stand wrong exchanged, from the top down, until there are none.

    >>> better = np.zeros((3, 3), dtype=bool)
    >>> better[[1, 2], 0] = True
    >>> exchanged(np.array([0, 1, 2]), better)
    array([1, 2, 0])
    """
    order, goes_on = members.tolist(), True
    while goes_on:
        goes_on = False
        for k in range(len(order) - 1):
            if better[order[k + 1], order[k]]:
                order[k], order[k + 1] = order[k + 1], order[k]
                goes_on = True
    return np.array(order, dtype=np.int64)
