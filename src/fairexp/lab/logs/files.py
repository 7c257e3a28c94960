"""From the files of a log to a record of it, whichever form they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairexp.errors import ArgumentError, DataError
from fairexp.kernels.data.scaling import scale_queries
from fairexp.lab.data import Dataset, read_letor
from fairexp.lab.data.dataset import BY_QUERY
from fairexp.lab.logs.record import Log, places

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = (".csv", ".jsonl", ".ndjson", ".parquet")


def read_log(
    path: Path,
    *,
    queries: Path | None = None,
    items: Path | None = None,
    action: str = "click",
    features: tuple[str, ...] = (),
    ignore: Sequence[str] = (),
) -> Log:
    """The log in a table of rows (.csv, .jsonl, .parquet), in UBI events, or in a LETOR file with grades.

    UBI events come with the file of their `queries`, and with `items`, a table of what is known of each document;
    `action` names the events that count as clicks. `features` are the columns to learn from; by default all numbers
    but those to `ignore` and those whose names say that they are no features (`fairexp.lab.data.columns`).
    """
    from fairexp.lab.logs.rows import log_of_rows
    from fairexp.lab.logs.ubi import log_of_ubi

    if (queries is None) != (items is None):
        raise ArgumentError("--queries and --items", "one of the two", "both, with UBI events, or neither")
    if not path.is_file():
        raise ArgumentError("log", f"{str(path)!r}, which does not exist", "a file")
    if queries is not None and items is not None:
        tables = (read_table(path), read_table(queries), read_table(items))
        return log_of_ubi(*tables, action=action, features=features, ignore=ignore)
    if path.suffix in TABLES:
        return log_of_rows(read_table(path), path, features=features, ignore=ignore)
    if features or ignore:
        given = f"{', '.join((*features, *ignore))} for {path}"
        raise ArgumentError("--features and --ignore", given, "none: LETOR text has no named columns")
    return log_of_grades(read_letor(path, scale=None))


def log_of_grades(data: Dataset) -> Log:
    """Graded documents: each query is a ranking, and nobody has seen it."""
    return Log(
        features=np.concatenate([features for features, _, _ in data.chunks()]),
        names=data.feature_names,
        offsets=data.offsets,
        positions=places(data.offsets),
        grades=np.asarray(data.grades),
        scaling=data.scaling,
    )


def scaled_by_query(log: Log) -> Log:
    """The log with every feature brought to [0, 1] in each ranking, as `scaling: query` of a policy does."""
    scaled = np.ascontiguousarray(log.features, dtype=np.float32)
    scale_queries(scaled, log.offsets)
    return replace(log, features=scaled.astype(np.float64), scaling=BY_QUERY)


def read_table(path: Path) -> pa.Table:
    """The rows of a file."""
    import pyarrow as pa
    from pyarrow import csv, json, parquet

    readers = {
        ".csv": csv.read_csv,
        ".jsonl": json.read_json,
        ".ndjson": json.read_json,
        ".parquet": parquet.read_table,
    }
    if not path.is_file():
        raise ArgumentError("log", f"{str(path)!r}, which does not exist", "a file")
    if path.suffix not in readers:
        raise ArgumentError("log", repr(str(path)), f"a file name that ends in {', '.join(TABLES)}")
    try:
        table = readers[path.suffix](path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(path, f"cannot be read as {path.suffix} ({error})") from error
    if not table.num_rows:
        raise DataError(path, "holds no rows")
    return table
