"""From parsed rows to the matrices of a data set: each query's rows together, all of one width, scaled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairexp.arrays import Ints
from fairexp.errors import DataError
from fairexp.kernels.data.scaling import scale_queries
from fairexp.lab.data.letor.parser import BLOCK_VALUES, Parsed, parse_file
from fairexp.lab.data.letor.rows import RowStore, Values


@dataclass(frozen=True)
class Layout:
    """The shape of a data set: `offsets` (Q + 1,), `grades` (N,), the queries' ids, the number of columns."""

    offsets: Ints
    grades: Ints
    query_ids: tuple[str, ...]
    n_features: int


def build(path: Path, store: RowStore, *, n_features: int | None, scale: bool) -> Layout:
    """Read the file into `store`: "features" (N, d) and, where these are scaled, "raw" (N, d) beside them."""
    parsed = parse_file(path, store, n_features=n_features)
    if not parsed.runs:
        raise DataError(path, "holds no document, expected lines such as `2 qid:1 1:0.5 2:3`.")
    layout, order = _layout(parsed)
    if layout.n_features == 0:
        raise DataError(path, "no line has a feature, expected `id:value` after the query id.")
    if order is None and len(parsed.widths) == 1:
        store.rename("parsed", "raw")
    else:
        _rearrange(store, parsed, order, layout)
        store.drop("parsed")
    if scale:
        _scale(store, layout)
    else:
        store.rename("raw", "features")
    return layout


def query_blocks(offsets: Ints, *, n_rows: int) -> list[tuple[int, int]]:
    """Ranges (first, last + 1) of queries with at most `n_rows` rows each, or of one query with more.

    >>> query_blocks(np.array([0, 2, 4, 9, 10]), n_rows=4)
    [(0, 2), (2, 3), (3, 4)]
    """
    blocks, first = [], 0
    while first < len(offsets) - 1:
        fits = int(np.searchsorted(offsets, offsets[first] + n_rows, side="right")) - 1
        last = max(first + 1, fits)
        blocks.append((first, last))
        first = last
    return blocks


def _layout(parsed: Parsed) -> tuple[Layout, Ints | None]:
    """The layout, and the file's row for each row (N,), or None where the file has them in order already."""
    queries = np.array([query for query, _ in parsed.runs], dtype=np.int64)
    lengths = np.array([n_rows for _, n_rows in parsed.runs], dtype=np.int64)
    sizes = np.zeros(len(parsed.query_numbers), dtype=np.int64)
    np.add.at(sizes, queries, lengths)
    grades = np.concatenate(parsed.grades)
    order = None
    if len(queries) > len(sizes):  # a query that appears in two runs is not contiguous
        order = np.argsort(np.repeat(queries, lengths), kind="stable")
        grades = grades[order]
    layout = Layout(
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        grades=grades,
        query_ids=tuple(name.decode("utf-8", "backslashreplace") for name in parsed.query_numbers),
        n_features=max(width for _, width in parsed.widths),
    )
    return layout, order


def _rearrange(store: RowStore, parsed: Parsed, order: Ints | None, layout: Layout) -> None:
    """Write "raw" from "parsed": rows in the order of their queries, padded with zeros to one width."""
    values, d, n = store.whole("parsed"), layout.n_features, len(layout.grades)
    segments: list[tuple[int, Values]] = []
    row, at = 0, 0
    for n_rows, width in parsed.widths:
        segments.append((row, values[at : at + n_rows * width].reshape(n_rows, width)))
        row, at = row + n_rows, at + n_rows * width
    step = max(1, BLOCK_VALUES // d)
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n)) if order is None else order[start : start + step]
        block = np.zeros((len(rows), d), dtype=np.float32)
        for first, segment in segments:
            here = (rows >= first) & (rows < first + len(segment))
            if here.any():
                block[here, : segment.shape[1]] = segment[rows[here] - first]
        store.append("raw", block)


def _scale(store: RowStore, layout: Layout) -> None:
    """Write "features" from "raw", scaled to [0, 1] within each query."""
    d, offsets = layout.n_features, layout.offsets
    for first, last in query_blocks(offsets, n_rows=max(1, BLOCK_VALUES // d)):
        start, stop = int(offsets[first]), int(offsets[last])
        block = store.read("raw", start * d, stop * d).reshape(-1, d)
        scale_queries(block, offsets[first : last + 1] - start)
        store.append("features", block)
