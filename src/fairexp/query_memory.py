"""What is known of each query by itself: numbers by query id and document id, bounded in number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fairexp.arrays import Id, Ints, State, read_ids, written_ids
from fairexp.copies import shallow
from fairexp.errors import StateError
from fairexp.validation import check_count

Table = NDArray[Any]
UNKNOWN = -1
"""The row of a document that the memory does not hold."""

DOCUMENT_BYTES = 150
"""About what a document's id of some twenty letters takes, and where it is found."""


_NONE: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Field:
    """One number per document (`axes=1`), or per pair of documents (`axes=2`); or `width` numbers per document."""

    dtype: DTypeLike = np.float64
    axes: int = 1
    width: int | None = None

    def empty(self, n: int) -> Table:
        """The field for `n` documents of which nothing is known."""
        shape = (n, n) if self.axes == 2 else (n,) if self.width is None else (n, self.width)
        return np.zeros(shape, dtype=self.dtype)

    def taken(self, table: Table, rows: Ints) -> Table:
        """The entries of `rows`, zeros where a row is unknown."""
        known = rows >= 0
        if self.axes == 2:
            part = table[np.ix_(rows, rows)] if len(table) else self.empty(len(rows))
            part[~known], part[:, ~known] = 0, 0
            return part
        part = table[rows] if len(table) else self.empty(len(rows))
        part[~known] = 0
        return part


class QueryRecord:
    """One query: its documents, the latest ranking for which each was a candidate, and the tables of its ranker.

    `born` is the number of the ranking that began it; `rounds` counts the feedback that was learned.
    """

    __slots__ = ("born", "documents", "rounds", "rows", "seen", "tables")

    def __init__(self, fields: Mapping[str, Field], *, born: int) -> None:
        self.born = born
        self.rounds = 0
        self.documents: list[Id] = []
        self.rows: dict[Id, int] = {}
        self.seen: Ints = np.zeros(0, dtype=np.int64)
        self.tables: dict[str, Table] = {name: field.empty(0) for name, field in fields.items()}

    def copied(self) -> QueryRecord:
        """One with tables of its own; lists and indices of documents are replaced, never changed."""
        other = QueryRecord({}, born=self.born)
        other.rounds, other.documents, other.rows = self.rounds, self.documents, self.rows
        other.seen, other.tables = self.seen.copy(), {name: table.copy() for name, table in self.tables.items()}
        return other

    def find(self, documents: list[Id]) -> Ints:
        """The rows (n,) of these documents, `UNKNOWN` where there is none."""
        if documents == self.documents:
            return np.arange(len(documents))
        return np.array([self.rows.get(each, UNKNOWN) for each in documents], dtype=np.int64)


class QueryMemory:
    """Records of the `max_queries` queries that were shown last; the one whose last ranking is oldest goes first.

    Of a query it holds the candidates of its latest request and, up to `max_documents` altogether, those that were
    candidates last. What comes back after it was forgotten starts anew, and feedback from before is of no use then.

    >>> memory = QueryMemory({"clicks": Field()}, max_queries=2, max_documents=10)
    >>> for number, query in enumerate(["a", "b", "a", "c"]):
    ...     _ = memory.note(query, [1, 2], number)
    >>> list(memory.records)
    ['a', 'c']
    """

    def __init__(self, fields: Mapping[str, Field], *, max_queries: int, max_documents: int) -> None:
        self.fields = fields
        self.max_queries = check_count("max_queries", max_queries)
        self.max_documents = check_count("max_documents", max_documents)
        self.records: dict[Id, QueryRecord] = {}

    def copied(self) -> QueryMemory:
        """One that can `note` a ranking without a change here."""
        other = shallow(self)
        other.records = self.records.copy()
        return other

    def look(self, query_id: Id, documents: list[Id]) -> tuple[dict[str, Table], int]:
        """The tables of these documents, in their order and for reading only, and the rounds of feedback so far."""
        record = self.records.get(query_id)
        if record is None:
            return {name: field.empty(len(documents)) for name, field in self.fields.items()}, 0
        if documents == record.documents:
            return record.tables, record.rounds
        rows = record.find(documents)
        taken = {name: field.taken(record.tables[name], rows) for name, field in self.fields.items()}
        return taken, record.rounds

    def note(self, query_id: Id, documents: list[Id], number: int) -> tuple[QueryRecord, Ints]:
        """Take note that ranking `number` had these candidates; the record, and the rows (j,) that have joined it."""
        record = self.records.pop(query_id, None)
        record = QueryRecord(self.fields, born=number) if record is None else record.copied()
        self.records[query_id] = record
        while len(self.records) > self.max_queries:
            del self.records[next(iter(self.records))]
        if documents == record.documents:
            record.seen[:] = number
            return record, _NONE
        rows = record.find(documents)
        new = [each for each, row in zip(documents, rows.tolist(), strict=True) if row == UNKNOWN]
        if new:
            self._make_room(record, set(documents), len(new))
            self._arrange(record, [*record.documents, *new])
            rows = record.find(documents)
        record.seen[rows] = number
        return record, np.arange(len(record.documents) - len(new), len(record.documents))

    def learned(self, query_id: Id | None, documents: list[Id], number: int) -> tuple[QueryRecord, Ints] | None:
        """The record to learn feedback for ranking `number` into, and the rows of its candidates; None if forgotten."""
        record = self.records.get(query_id) if query_id is not None else None
        if record is None or number < record.born:
            return None
        record.rounds += 1
        return record, record.find(documents)

    def _make_room(self, record: QueryRecord, present: set[Id], n_new: int) -> None:
        n_surplus = len(record.documents) + n_new - self.max_documents
        absent = [row for row, each in enumerate(record.documents) if each not in present]
        if n_surplus <= 0 or not absent:
            return
        oldest = sorted(absent, key=lambda row: (record.seen[row], row))[:n_surplus]
        gone = set(oldest)
        self._arrange(record, [each for row, each in enumerate(record.documents) if row not in gone])

    def _arrange(self, record: QueryRecord, documents: list[Id]) -> None:
        """Give the record these documents; those that it knows keep what is known of them."""
        rows = record.find(documents)
        record.tables = {name: field.taken(record.tables[name], rows) for name, field in self.fields.items()}
        record.seen = Field(np.int64).taken(record.seen, rows)
        record.documents = documents
        record.rows = {each: row for row, each in enumerate(documents)}

    def state(self) -> State:
        """All records as flat arrays, the one to go first in front."""
        records = list(self.records.values())
        own: State = {
            "queries": written_ids(self.records),
            "sizes": np.array([len(record.documents) for record in records], dtype=np.int64),
            "counts": np.array([[record.born, record.rounds] for record in records], dtype=np.int64).reshape(-1, 2),
            "documents": written_ids(each for record in records for each in record.documents),
            "seen": _joined([record.seen for record in records], np.zeros(0, dtype=np.int64)),
        }
        for name, field in self.fields.items():
            tables = [record.tables[name] for record in records]
            flat = [table.ravel() for table in tables] if field.axes == 2 else tables
            own[f"table.{name}"] = _joined(flat, field.empty(0).ravel() if field.axes == 2 else field.empty(0))
        return own

    @property
    def most_bytes(self) -> int:
        """About how many bytes it comes to when it is full, and as many candidates come as it can hold."""
        n, tables = self.max_documents, self.fields.values()
        in_tables = sum(np.dtype(each.dtype).itemsize * n**each.axes * (each.width or 1) for each in tables)
        return int(self.max_queries * (in_tables + n * DOCUMENT_BYTES))

    def check(self, arrays: State) -> None:
        """Raise a `StateError` unless the lengths of a state's arrays belong together."""
        sizes = np.asarray(arrays["sizes"], dtype=np.int64)
        expected = {"queries": len(sizes), "counts": len(sizes), "documents": sizes.sum(), "seen": sizes.sum()}
        for name, field in self.fields.items():
            expected[f"table.{name}"] = (sizes * sizes).sum() if field.axes == 2 else sizes.sum()
        for name, length in expected.items():
            if len(arrays[name]) != length:
                raise StateError(f"state: {name} has {len(arrays[name])} entries, expected {length} for its documents")

    def restore(self, arrays: State) -> None:
        """Hold what a `state()` holds; beyond `max_queries`, those that were shown last."""
        sizes = np.asarray(arrays["sizes"], dtype=np.int64)
        ends = np.cumsum(sizes)
        documents, self.records = read_ids(arrays["documents"]), {}
        square_ends = np.cumsum(sizes * sizes)
        for q, (query, size) in enumerate(zip(read_ids(arrays["queries"]), sizes.tolist(), strict=True)):
            here = slice(int(ends[q]) - size, int(ends[q]))
            born, rounds = arrays["counts"][q].tolist()
            record = QueryRecord(self.fields, born=born)
            record.rounds, record.documents = rounds, documents[here]
            record.rows = {each: row for row, each in enumerate(record.documents)}
            record.seen = np.array(arrays["seen"][here], dtype=np.int64)
            for name, field in self.fields.items():
                flat = arrays[f"table.{name}"]
                if field.axes == 2:
                    part = flat[int(square_ends[q]) - size * size : int(square_ends[q])].reshape(size, size)
                else:
                    part = flat[here]
                record.tables[name] = np.array(part, dtype=field.dtype)
            self.records[query] = record
        while len(self.records) > self.max_queries:
            del self.records[next(iter(self.records))]


def _joined(parts: list[Table], none: Table) -> Table:
    return np.concatenate(parts) if parts else none
