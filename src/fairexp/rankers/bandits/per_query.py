"""The contract of rankers that learn of each query by itself, by its id and the ids of its documents."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints, State, fits_records
from fairexp.errors import ArgumentError, CannotScoreError
from fairexp.query_memory import Field, QueryMemory, QueryRecord, Table
from fairexp.randomness import Seed
from fairexp.ranker import Host, Ranker
from fairexp.remap import Remap
from fairexp.types import Belief, Query, Ranking
from fairexp.validation import check_count

MAX_QUERIES, MAX_DOCUMENTS = 1000, 200
HORIZON = 10_000


class PerQuery(Ranker):
    """A ranker without a model of features: what it knows of a query is in that query's `QueryRecord`.

    Subclasses name their `fields`, read them with `_look`, and write `_learn` in place of `_update`. A record begins
    and documents join it when a ranking is shown. Memory is bounded by `max_queries` and `max_documents` as
    `QueryMemory` says; feedback for what was forgotten meanwhile is dropped.
    """

    scores_unseen = False
    needs_query_id = True
    rescaling = "none"
    fields: ClassVar[Mapping[str, Field]]

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        max_queries: int = MAX_QUERIES,
        max_documents: int = MAX_DOCUMENTS,
        seed: Seed = None,
    ) -> None:
        super().__init__(n_features, length=length, seed=seed)
        self.max_queries, self.max_documents = max_queries, max_documents
        self.queries = QueryMemory(self._fields(), max_queries=max_queries, max_documents=max_documents)

    def _fields(self) -> Mapping[str, Field]:
        """The tables of a record."""
        return self.fields

    def _look(self, query: Query) -> tuple[dict[str, Table], int]:
        """The tables of the query's candidates, in their order and for reading only, and the rounds learned so far."""
        assert query.query_id is not None and query.document_ids is not None
        return self.queries.look(query.query_id, query.document_ids.tolist())

    def _noted(self, query: Query) -> dict[str, NDArray[np.generic]]:
        """What every ranking must carry: the ids of all candidates (n,), in their order."""
        assert query.document_ids is not None
        return {"documents": query.document_ids}

    def _shown(self, ranking: Ranking) -> None:
        assert ranking.query_id is not None
        documents = ranking.memory["documents"].tolist()
        record, joined = self.queries.note(ranking.query_id, documents, ranking.number)
        self._joined(record, joined, ranking)

    def _copied(self) -> Self:
        after = super()._copied()
        after.queries = self.queries.copied()
        return after

    def _joined(self, record: QueryRecord, joined: Ints, ranking: Ranking) -> None:
        """Take note of a ranking beyond that its candidates, of which the rows `joined` are new, are in the record."""

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        self._teach(ranking, clicks)

    def _teach(self, ranking: Ranking, clicks: NDArray[Any]) -> None:
        """Have `_learn` learn, unless the query was forgotten."""
        found = self.queries.learned(ranking.query_id, ranking.memory["documents"].tolist(), ranking.number)
        if found is not None:
            self._learn(*found, ranking, clicks)

    @abstractmethod
    def _learn(self, record: QueryRecord, rows: Ints, ranking: Ranking, clicks: NDArray[Any]) -> None:
        """Learn from checked clicks, or from rewards (m,) where it is `Rewarded`.

        `rows` (n,) are those of all candidates, `UNKNOWN` where one was forgotten.
        """

    def _score(self, features: Floats) -> Floats:
        raise CannotScoreError(
            f"score: a {type(self).__name__} knows documents by their ids and cannot score features. "
            "Evaluate it on the lists that it shows."
        )

    def _check_query(self, query: Query) -> None:
        super()._check_query(query)
        if query.document_ids is None:
            raise ArgumentError(
                "query.document_ids",
                "None",
                f"the candidates' ids, by which a {type(self).__name__} knows what it has learned",
                "Pass query_id and document_ids, the same for the same query and document every time.",
            )

    def _take_over(self, before: PerQuery, remap: Remap) -> None:
        """What is known of documents does not depend on features."""
        self.queries.restore(before.queries.state())

    def _state(self) -> State:
        return {f"queries.{key}": value for key, value in self.queries.state().items()}

    def _checked_state(self, arrays: State) -> State:
        own = super()._checked_state(arrays)
        self.queries.check(_of_queries(own))
        return own

    def _restore(self, arrays: State) -> None:
        self.queries.restore(_of_queries(arrays))

    def fits(self, key: str, value: NDArray[np.generic], expected: NDArray[np.generic]) -> bool:
        return fits_records(value, expected) if key.startswith("queries.") else super().fits(key, value, expected)


class PerQueryHost(PerQuery, Host):
    """One with an explicit belief; `_notes` is what its rankings must carry beyond the candidates' ids."""

    remembers_positions = False

    def memory(
        self, query: Query, belief: Belief, shown: Ints, rng: np.random.Generator
    ) -> dict[str, NDArray[np.generic]]:
        return {**self._noted(query), **self._notes(query, belief)}

    def _notes(self, query: Query, belief: Belief) -> dict[str, NDArray[np.generic]]:
        return {}

    def _groups(self, query: Query) -> Ints | None:
        """The candidates' groups (n,) where templates go by them, or pins; else None: what makes documents differ."""
        return query.groups if self.templated or query.pinned else None


class PlannedHost(PerQueryHost):
    """One that sets its error probabilities for `horizon` rounds of a query."""

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        horizon: int = HORIZON,
        max_queries: int = MAX_QUERIES,
        max_documents: int = MAX_DOCUMENTS,
        seed: Seed = None,
    ) -> None:
        super().__init__(n_features, length=length, max_queries=max_queries, max_documents=max_documents, seed=seed)
        self.horizon = check_count("horizon", horizon)


def _of_queries(arrays: State) -> State:
    return {key[8:]: value for key, value in arrays.items() if key.startswith("queries.")}
