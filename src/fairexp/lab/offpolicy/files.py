"""Files of a log for off-policy work, Parquet or JSON lines.

A row for each round: `query`; `shown`, candidates by number from the top down; `propensity` and `reward` (1 for a
click) of each; `propensity_kind` ("exact" or "estimated"); and `list_log_propensity`, null where unknown. Candidates
are in a file beside it, called `NAME.candidates.SUFFIX`, with a row for each: `query`, `document` (its number),
`group`, and features. A table of `fairexp learn`, with a row for each document shown, serves if it has `propensity`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.errors import ArgumentError, DataError
from fairexp.lab.data.dataset import numbered
from fairexp.lab.logs.files import read_table
from fairexp.lab.logs.rows import codes, feature_matrix, log_of_rows
from fairexp.lab.offpolicy.propensity import ESTIMATED, EXACT
from fairexp.lab.offpolicy.record import BanditLog

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = (".parquet", ".jsonl")
OF_ROUNDS = ("query", "shown", "propensity", "reward")
OF_CANDIDATES = ("query", "document", "group")


def candidates_file(path: Path) -> Path:
    """Where the candidates of a log lie."""
    return path.with_name(f"{path.stem}.candidates{path.suffix}")


def write_bandit_log(log: BanditLog, path: Path) -> None:
    """Write the rounds to `path`, as Parquet or JSON lines as its name ends, and their candidates beside it."""
    import pyarrow as pa

    if path.suffix not in SUFFIXES:
        raise ArgumentError("out", repr(str(path)), f"a file name that ends in {' or '.join(SUFFIXES)}")
    ids = [str(each) for each in log.query_ids or range(len(log.starts) - 1)]
    kinds = [None] * log.n_rounds if log.exact is None else [EXACT if each else ESTIMATED for each in log.exact]
    rounds = {
        "round": np.arange(1, log.n_rounds + 1),
        "query": pa.array([ids[context] for context in log.context]),
        "shown": pa.ListArray.from_arrays(log.offsets.astype(np.int32), log.shown.astype(np.int32)),
        "propensity": pa.ListArray.from_arrays(log.offsets.astype(np.int32), log.propensity),
        "propensity_kind": pa.array(kinds, pa.string()),
        "list_log_propensity": _nullable(log.log_list, log.n_rounds),
        "reward": pa.ListArray.from_arrays(log.offsets.astype(np.int32), log.reward),
    }
    sizes = np.diff(log.starts)
    candidates = {
        "query": pa.array(ids).take(pa.array(np.repeat(np.arange(len(sizes)), sizes))),
        "document": (np.arange(len(log.features)) - np.repeat(log.starts[:-1], sizes)).astype(np.int32),
        **({} if log.groups is None else {"group": log.groups.astype(np.int32)}),
    }
    names = log.feature_names or numbered(log.features.shape[1])
    if own := candidates.keys() & set(names):
        raise ArgumentError("features", f"one called {min(own)!r}", f"other names than {', '.join(candidates)}")
    candidates |= dict(zip(names, log.features.T.astype(np.float32), strict=True))
    _write_rows(pa.table(rounds), path)
    _write_rows(pa.table(candidates), candidates_file(path))


def _nullable(values: Floats | None, n: int) -> pa.Array:
    import pyarrow as pa

    return pa.nulls(n, pa.float64()) if values is None else pa.array(values, from_pandas=True)


def _write_rows(table: pa.Table, path: Path) -> None:
    from pyarrow import parquet

    if path.suffix == ".parquet":
        parquet.write_table(table, path, compression="zstd")
        return
    with path.open("w", encoding="utf-8") as file:
        for batch in table.to_batches(max_chunksize=1000):
            file.writelines(json.dumps(row) + "\n" for row in batch.to_pylist())


def read_bandit_log(path: Path, *, features: tuple[str, ...] = ()) -> BanditLog:
    """The log in a file of rounds with its candidates beside it, or in a table of documents shown."""
    table = read_table(path)
    if "shown" not in table.column_names:
        return _of_documents(table, path, features)
    missing = [name for name in OF_ROUNDS if name not in table.column_names]
    if missing:
        raise DataError(path, f"has no column {missing[0]}; expected {', '.join(OF_ROUNDS)}")
    return _of_rounds(table, path, features)


def _of_rounds(table: pa.Table, path: Path, features: tuple[str, ...]) -> BanditLog:
    known = read_table(candidates_file(path))
    names = features or tuple(name for name in known.column_names if name not in OF_CANDIDATES)
    queries = codes(known, "query")
    order = np.lexsort((np.asarray(known.column("document").to_numpy()), queries))
    firsts = order[np.flatnonzero(np.diff(queries[order], prepend=-1))]
    ids = [str(each) for each in known.column("query").take(firsts).to_pylist()]
    numbers = {each: number for number, each in enumerate(ids)}
    asked = [str(each) for each in table.column("query").to_pylist()]
    unknown = next((each for each in asked if each not in numbers), None)
    if unknown is not None:
        raise DataError(candidates_file(path), f"has no candidates of query {unknown!r}, which {path.name} names")
    shown = [table.column(name).combine_chunks() for name in ("shown", "propensity", "reward")]
    counts = [np.asarray(column.value_lengths().fill_null(0), dtype=np.int64) for column in shown]
    if any(not np.array_equal(counts[0], each) for each in counts[1:]) or any(column.null_count for column in shown):
        raise DataError(path, "has rounds with fewer or no propensities or rewards; expected one for each shown")
    starts = _offsets(np.bincount(queries))
    context = np.array([numbers[each] for each in asked], dtype=np.int64)
    flat = [column.flatten().to_numpy(zero_copy_only=False) for column in shown]
    sizes = np.diff(starts)[np.repeat(context, counts[0])]
    if not ((flat[0] >= 0) & (flat[0] < sizes)).all():
        raise DataError(path, "shows documents that are not among the candidates of their query")
    lists = table.column("list_log_propensity") if "list_log_propensity" in table.column_names else None
    return BanditLog(
        features=feature_matrix(known, names, candidates_file(path))[order],
        starts=starts,
        context=context,
        offsets=_offsets(counts[0]),
        shown=flat[0].astype(np.int64),
        reward=flat[2].astype(np.float64),
        propensity=flat[1].astype(np.float64),
        log_list=None if lists is None else np.array(lists.to_pylist(), dtype=np.float64),
        exact=_exact(table),
        groups=_groups(known, order),
        query_ids=tuple(ids),
        feature_names=names,
    )


def _of_documents(table: pa.Table, path: Path, features: tuple[str, ...]) -> BanditLog:
    """Each ranking is a context of its own: a target ranks again what it showed."""
    if "propensity" not in table.column_names:
        raise DataError(path, "has no column propensity, without which its clicks cannot be weighed for another ranker")
    log = log_of_rows(table, path, features=features)
    if log.clicks is None or log.propensity is None:
        raise DataError(path, "has grades; expected clicks")
    sizes = np.diff(log.offsets)
    return BanditLog(
        features=log.features,
        starts=log.offsets,
        context=np.arange(log.n_rankings),
        offsets=log.offsets,
        shown=np.arange(len(log.positions)) - np.repeat(log.offsets[:-1], sizes),
        reward=log.clicks.astype(np.float64),
        propensity=log.propensity,
        feature_names=log.names,
    )


def _exact(table: pa.Table) -> Bools | None:
    if "propensity_kind" not in table.column_names or table.column("propensity_kind").null_count:
        return None
    return np.array([kind == EXACT for kind in table.column("propensity_kind").to_pylist()])


def _groups(known: pa.Table, order: Ints) -> Ints | None:
    if "group" not in known.column_names or known.column("group").null_count:
        return None
    return np.asarray(known.column("group").to_numpy(), dtype=np.int64)[order]


def _offsets(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
