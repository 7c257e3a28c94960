"""Groups of documents from a text file.

One line per document: `query_id document group`, separated by blanks. `document` counts the query's documents from 0
in the order of the data file; `group` is any word. Blank lines and what follows a `#` are skipped. Lines for queries
that the data set does not hold are ignored, so one file can serve all folds. Groups are numbered in the order of
their names (as numbers, where all names are numbers), over the whole file: the same in every fold.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairexp.arrays import Ints
from fairexp.errors import DataError

if TYPE_CHECKING:
    from fairexp.lab.data.dataset import Dataset


def read_groups(path: str | Path, dataset: Dataset) -> tuple[Ints, tuple[str, ...]]:
    """The groups (N,) of the data set's documents, and the groups' names."""
    first_rows = dict(zip(dataset.query_ids, dataset.offsets[:-1].tolist(), strict=True))
    sizes = dict(zip(dataset.query_ids, np.diff(dataset.offsets).tolist(), strict=True))
    found = np.full(dataset.n_documents, -1, dtype=np.int64)
    numbers: dict[str, int] = {}
    for line, query_id, document, label in _lines(Path(path)):
        number = numbers.setdefault(label, len(numbers))
        if query_id not in first_rows:
            continue
        if document >= sizes[query_id]:
            problem = f"document {document} of query {query_id}, which has {sizes[query_id]}. Count them from 0."
            raise DataError(path, problem, line=line)
        row = first_rows[query_id] + document
        if found[row] >= 0:
            raise DataError(path, f"document {document} of query {query_id} comes twice. Keep one line.", line=line)
        found[row] = number
    missing = np.flatnonzero(found < 0)
    if len(missing):
        query = int(np.searchsorted(dataset.offsets, missing[0], side="right")) - 1
        where = f"document {missing[0] - dataset.offsets[query]} of query {dataset.query_ids[query]}"
        raise DataError(path, f"no group for {where} ({len(missing)} documents lack one). Add a line for each.")
    names = ordered_names(list(numbers))
    renumbered = np.array([names.index(name) for name in numbers], dtype=np.int64)
    return renumbered[found], names


def _lines(path: Path) -> Iterator[tuple[int, str, int, str]]:
    try:
        with path.open(encoding="utf-8") as file:
            for line, text in enumerate(file, start=1):
                words = text.split("#", 1)[0].split()
                if not words:
                    continue
                if len(words) != 3 or not (words[1].isascii() and words[1].isdigit()):
                    given = text.strip()[:60]
                    raise DataError(path, f"{given!r}, expected `query_id document group`.", line=line)
                yield line, words[0], int(words[1]), words[2]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(path, f"cannot be read as a text file of groups ({error}).") from error


def ordered_names(labels: list[str]) -> tuple[str, ...]:
    """Names of groups in order: as numbers where all are, else as words."""
    if all(label.isascii() and label.isdigit() for label in labels):
        return tuple(sorted(labels, key=lambda label: (int(label), label)))
    return tuple(sorted(labels))
