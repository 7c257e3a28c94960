"""What groups, or single documents of a query, have received and merit: for rivals that can be fair to either."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints, State, fits_records
from fairexp.errors import ArgumentError
from fairexp.query_memory import UNKNOWN, Field, QueryMemory
from fairexp.ranker import Ranker
from fairexp.rankers.bandits.per_query import MAX_DOCUMENTS, MAX_QUERIES
from fairexp.rankers.baselines.group_exposure import FairToGroups, GroupArguments
from fairexp.rankers.baselines.unbiased_relevance import Memory
from fairexp.remap import Remap
from fairexp.types import Query, Ranking
from fairexp.validation import check_choice

LEVELS = ("group", "item")
ITEM_MERIT_FLOOR = 0.01
"""Documents whose estimated relevance is below this count as this relevant."""

_OWN = "queries."


class Standing(NamedTuple):
    """Units (m,), groups or documents: what each has `received`, its `merit`, and each candidate's unit `of` (n,)."""

    received: Floats
    merit: Floats
    of: Ints


class LevelArguments(GroupArguments, total=False):
    """What every rival takes that can be fair to groups or to documents."""

    level: str
    max_queries: int
    max_documents: int


class EitherLevel(FairToGroups):
    """Fair to groups over all queries (`level` "group"), or to the documents of each query by itself ("item").

    With "item" a query needs an id and its candidates `document_ids`, groups and `merit` are not used, and a document's
    merit is its estimated relevance. Memory is then bounded by `max_queries` and `max_documents` as
    `fairexp.query_memory.QueryMemory` says.
    """

    def __init__(
        self,
        n_features: int,
        *,
        level: str = "group",
        max_queries: int = MAX_QUERIES,
        max_documents: int = MAX_DOCUMENTS,
        **others: Unpack[GroupArguments],
    ) -> None:
        super().__init__(n_features, **others)
        self.level = check_choice("level", level, LEVELS)
        self.max_queries, self.max_documents = max_queries, max_documents
        self.queries = QueryMemory(self._fields(), max_queries=max_queries, max_documents=max_documents)
        self.needs_query_id = self.by_item
        self.keeps_account = not self.by_item

    @property
    def by_item(self) -> bool:
        """Whether it is fair to documents, and not to groups."""
        return self.level == "item"

    def _fields(self) -> Mapping[str, Field]:
        """What is known of each document of a query."""
        return {"received": Field()}

    def _standing(self, query: Query, scores: Floats) -> Standing:
        """What the groups, or this query's candidates, have received and merit."""
        if not self.by_item:
            assert query.groups is not None
            return Standing(self._received(), self.merits(), query.groups)
        received = self._look(query)["received"]
        return Standing(received, np.maximum(scores, ITEM_MERIT_FLOOR), np.arange(len(scores)))

    def _received(self) -> Floats:
        """What each group (G,) has received."""
        return self.spent

    def _look(self, query: Query) -> dict[str, Any]:
        """What is known of the query's candidates, in their order and for reading only."""
        assert query.query_id is not None and query.document_ids is not None
        return self.queries.look(query.query_id, query.document_ids.tolist())[0]

    def account(self) -> Floats | None:
        return None if self.by_item else super().account()

    def forget_account(self) -> None:
        super().forget_account()
        self.queries.records.clear()

    def _noted(self, query: Query) -> Memory:
        if not self.by_item:
            return super()._noted(query)
        assert query.document_ids is not None
        return {"documents": query.document_ids}

    def _shown(self, ranking: Ranking) -> None:
        if not self.by_item:
            super()._shown(ranking)
            return
        assert ranking.query_id is not None
        self.queries.note(ranking.query_id, ranking.memory["documents"].tolist(), ranking.number)
        self._book_shown(ranking)

    def _copied(self) -> Self:
        after = super()._copied()
        after.queries = self.queries.copied()
        return after

    def _measure(self, ranking: Ranking, measured: Floats) -> None:
        if not self.by_item:
            super()._measure(ranking, measured)
        elif ranking.exposure is not None:
            self._book_shown(replace(ranking, exposure=measured - ranking.exposure))

    def _book_shown(self, ranking: Ranking) -> None:
        """Add what a ranking gives to its documents by being shown."""
        assert ranking.exposure is not None
        self._book_items(ranking, ranking.exposure)

    def _book_items(self, ranking: Ranking, amounts: Floats | Bools) -> None:
        """Add `amounts` (m,) to what the shown documents have received, where they are still known."""
        record = None if ranking.query_id is None else self.queries.records.get(ranking.query_id)
        if record is not None and ranking.number >= record.born:
            rows = record.find(ranking.memory["documents"][ranking.shown].tolist())
            known = rows != UNKNOWN
            record.tables["received"][rows[known]] += amounts[known]

    def _check_query(self, query: Query) -> None:
        if not self.by_item:
            super()._check_query(query)
            return
        Ranker._check_query(self, query)
        if query.document_ids is None:
            expected = "the candidates' ids, by which documents are known"
            remedy = "Pass query_id and document_ids, the same for the same query and document every time."
            raise ArgumentError("query.document_ids", "None", expected, remedy)

    def _take_over_account(self, before: Ranker, remap: Remap) -> None:
        super()._take_over_account(before, remap)
        if self.by_item and type(before) is type(self) and before.by_item:
            self.queries.restore(before.queries.state())

    def _state(self) -> State:
        return {**super()._state(), **{_OWN + key: value for key, value in self.queries.state().items()}}

    def _checked_state(self, arrays: State) -> State:
        own = super()._checked_state(arrays)
        self.queries.check(_of_queries(own))
        return own

    def _restore(self, arrays: State) -> None:
        super()._restore(arrays)
        self.queries.restore(_of_queries(arrays))

    def fits(self, key: str, value: NDArray[np.generic], expected: NDArray[np.generic]) -> bool:
        return fits_records(value, expected) if key.startswith(_OWN) else super().fits(key, value, expected)


def _of_queries(arrays: State) -> State:
    return {key.removeprefix(_OWN): value for key, value in arrays.items() if key.startswith(_OWN)}
