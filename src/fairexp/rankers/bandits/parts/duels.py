"""Pairs of exchangeable documents compared by their clicks: what TopRank, BubbleRank and UniRank share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints
from fairexp.rankers.bandits.parts.orders import add_orders
from fairexp.rankers.bandits.parts.per_query import PlannedExplorer
from fairexp.rankers.bandits.parts.query_memory import Field, QueryRecord
from fairexp.types import Belief, Query, Ranking


@dataclass(frozen=True, eq=False, kw_only=True)
class ExchangeableBelief(Belief):
    """A belief whose draw could as likely have had two documents of the same of `classes` (n,) exchanged."""

    classes: Ints


class Duels(PlannedExplorer):
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

    @abstractmethod
    def _decided(self, lead: Floats, duels: Floats) -> Bools:
        """Whether each lead (by row, over the column) is large enough after so many duels to be certain."""

    def _notes(self, query: Query, belief: Belief) -> dict[str, NDArray[np.generic]]:
        assert isinstance(belief, ExchangeableBelief)
        return {"classes": belief.classes}

    def _learn(self, record: QueryRecord, rows: Ints, ranking: Ranking, clicks: Bools) -> None:
        found = self._compared(record, rows, ranking, clicks)
        if found is not None and add_orders(record.tables["better"], found):
            self._reorder(record, rows, ranking)

    def _compared(self, record: QueryRecord, rows: Ints, ranking: Ranking, clicks: Bools) -> Bools | None:
        """Count the duels; the orders (N, N) between the record's documents that are certain now, None if none."""
        classes = np.asarray(ranking.memory["classes"])
        clicked = np.zeros(len(rows))
        clicked[ranking.shown] = clicks
        known = np.flatnonzero(rows >= 0)
        difference = clicked[known][:, None] - clicked[known][None, :]
        difference *= classes[known][:, None] == classes[known][None, :]
        if not difference.any():
            return None
        here = np.ix_(rows[known], rows[known])
        lead, duels = record.tables["lead"][here] + difference, record.tables["duels"][here] + np.abs(difference)
        record.tables["lead"][here], record.tables["duels"][here] = lead, duels
        decided = (difference != 0) & (duels > 0) & self._decided(lead, duels)
        if not decided.any():
            return None
        found: NDArray[np.bool_] = np.zeros_like(record.tables["better"])
        found[here] = decided
        return found

    def _reorder(self, record: QueryRecord, rows: Ints, ranking: Ranking) -> None:
        """Act on orders that have become certain."""
