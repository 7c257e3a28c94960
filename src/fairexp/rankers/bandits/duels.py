"""Pairs of exchangeable documents compared by their clicks: what TopRank, BubbleRank and UniRank share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints
from fairexp.kernels.bandits.orders import count_duels
from fairexp.query_memory import Field, QueryRecord
from fairexp.rankers.bandits.orders import add_orders
from fairexp.rankers.bandits.per_query import PlannedHost
from fairexp.types import Belief, Query, Ranking


@dataclass(frozen=True, eq=False, kw_only=True)
class ExchangeableBelief(Belief):
    """A belief whose draw could as likely have had two documents of the same of `classes` (n,) exchanged."""

    classes: Ints


class Duels(PlannedHost):
    """Counts, for pairs of documents that were exchangeable, the rounds in which one of them was clicked.

    - `lead` (n, n): clicks on i minus clicks on j over those rounds; `duels` (n, n): their number. What was not shown
      counts as not clicked.
    - `better` (n, n): the orders that were found certain, closed under transitivity.

    Every ranking carries the class of each candidate: two of the same class were as likely to be shown with their
    places exchanged. So `lead` is a fair game where both are equally attractive, whatever the positions are worth. That
    is all that the tests of these rankers need, and it stays true under templates, where only documents of one group
    share a class. Orders between groups are then never learned; FairExp's templates decide them.

    `horizon` is the number of rounds of one query that error probabilities are set for.
    """

    fields: ClassVar = {"lead": Field(axes=2), "duels": Field(axes=2), "better": Field(np.bool_, axes=2)}

    @property
    @abstractmethod
    def least(self) -> float:
        """No order is certain while the square of its lead is below this times the number of duels."""

    @abstractmethod
    def _decided(self, lead: Floats, duels: Floats) -> Bools:
        """Whether each lead (p,) is large enough after so many duels (p,) to be certain."""

    def _notes(self, query: Query, belief: Belief) -> dict[str, NDArray[np.generic]]:
        assert isinstance(belief, ExchangeableBelief)
        return {"classes": belief.classes}

    def _learn(self, record: QueryRecord, rows: Ints, ranking: Ranking, clicks: Bools) -> None:
        tables, classes = record.tables, np.asarray(ranking.memory["classes"], dtype=np.int64)
        pairs = count_duels(tables["lead"], tables["duels"], rows, classes, ranking.shown, clicks, self.least)
        if len(pairs) == 0:
            return
        winners, losers = pairs.T
        decided = self._decided(tables["lead"][winners, losers], tables["duels"][winners, losers])
        found: Bools = np.zeros_like(tables["better"])
        found[winners[decided], losers[decided]] = True
        if add_orders(tables["better"], found):
            self._reorder(record, rows, ranking)

    def _reorder(self, record: QueryRecord, rows: Ints, ranking: Ranking) -> None:
        """Act on orders that have become certain."""
