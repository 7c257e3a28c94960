"""Ranking data from tables: CSV, Parquet, Feather and NumPy files, or a table in memory; one row per document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Ints
from fairexp.data.dataset import Dataset, Values
from fairexp.data.group_files import ordered_names
from fairexp.data.query_sizes import read_sizes, sizes_beside
from fairexp.errors import ArgumentError, DataError
from fairexp.validation import check_choice

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".csv", ".tsv", ".parquet", ".feather", ".arrow", ".npz", ".npy")
KNOWN = {
    "query": ("query", "qid", "query_id"),
    "grade": ("grade", "label", "relevance", "rel", "y"),
    "group": ("group", "group_id", "provider", "provider_group"),
}
"""What columns are called, in any letter case; the first that is there counts."""

IGNORED = ("document", "document_id", "doc", "doc_id", "docid", "item", "item_id", "id", "index", "__index_level_0__")
"""Columns that name a document are neither features nor anything else."""

MATRICES = ("features", "x")
_MAX_GRADE = 2**31 - 1
_NUMBER = re.compile(r"column #(\d+)")


@dataclass(frozen=True)
class Columns:
    """Which columns hold what; what is None is guessed by `KNOWN`, and features are all others but those `IGNORED`.

    >>> Columns.parse("query=session,features=price+rating")
    Columns(query='session', grade=None, group=None, features=('price', 'rating'))
    """

    query: str | None = None
    grade: str | None = None
    group: str | None = None
    features: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, text: str) -> Columns:
        """The columns that a text such as `query=session,grade=stars,group=seller,features=price+rating` names."""
        given: dict[str, Any] = {}
        for part in text.split(","):
            key, separator, name = part.partition("=")
            if not separator or not name or key not in ("query", "grade", "group", "features") or key in given:
                expected = "parts such as query=session,grade=stars,group=seller,features=price+rating"
                raise ArgumentError("columns", repr(text), expected)
            given[key] = tuple(name.split("+")) if key == "features" else name
        return cls(**given)

    def among(self, names: Sequence[str], where: str | Path) -> Columns:
        """The same with every column named, of those that a table has."""
        found: dict[str, str | None] = {}
        for key, words in KNOWN.items():
            own = getattr(self, key)
            if own is not None and own not in names:
                raise DataError(
                    where, f"has no column {own!r} for the {key}, only {_listed(names)}. Correct `columns`."
                )
            low = {name.lower(): name for name in reversed(names)}
            found[key] = own or next((low[word] for word in words if word in low), None)
            if found[key] is None and key != "group":
                raise DataError(
                    where,
                    f"has no column for the {key}: expected one called {', '.join(words)}, found {_listed(names)}. "
                    f"Rename it, or say which it is: --columns {key}=NAME.",
                )
        taken = {*found.values()}
        features = self.features or tuple(n for n in names if n not in taken and n.lower() not in IGNORED)
        for name in features:
            if name not in names:
                raise DataError(where, f"has no column {name!r}, only {_listed(names)}. Correct `columns`.")
        if not features:
            raise DataError(where, f"has no column left for features, only {_listed(names)}. Add at least one.")
        return Columns(found["query"], found["grade"], found["group"], features)


def read_table(path: str | Path, *, columns: Columns | str | None = None, scale: str | None = "query") -> Dataset:
    """Ranking data from a file whose name ends in one of `ENDINGS`.

    The rows of a query need not stand together. Features are numbers, all of them finite; grades are whole numbers of
    at least 0; a column of groups, of any words, is optional. A .npz file holds arrays under such names and a matrix
    `features`; a .npy file a matrix with the columns query, grade, features, or a structured array with such names.
    Where a CSV file has no column for the query, a file beside it may hold the sizes (`fairexp.data.query_sizes`).
    """
    place = Path(path)
    if not place.is_file():
        raise DataError(place, "no such file. Check the path.")
    wanted = Columns.parse(columns) if isinstance(columns, str) else columns or Columns()
    ending = place.suffix.lower()
    if ending in (".npz", ".npy"):
        table = _from_numpy(place)
    elif ending in (".csv", ".tsv"):
        table = _from_csv(place, wanted)
    else:
        table = _from_arrow(place)
    return from_table(table, columns=wanted, scale=scale, name=place.stem, where=place)


def from_table(
    table: Any,
    *,
    columns: Columns | str | None = None,
    scale: str | None = "query",
    name: str = "data",
    where: str | Path = "table",
) -> Dataset:
    """Ranking data from a table in memory: a pandas, Polars or Arrow one, or a dict of columns; one row per document.

    >>> from_table({"query": [1, 1, 2], "grade": [2, 0, 1], "price": [3.0, 5.0, 4.0], "group": ["a", "b", "a"]})
    Dataset('data', 2 queries, 3 documents, 1 features, 2 groups)
    """
    import pyarrow as pa

    if scale is not None:
        check_choice("scale", scale, ("query",))
    wanted = Columns.parse(columns) if isinstance(columns, str) else columns or Columns()
    try:
        known = table if isinstance(table, pa.Table) else pa.table(table)
    except (pa.ArrowException, TypeError, ValueError) as error:
        expected = "a table of columns (pandas, Polars, Arrow or a dict)"
        raise ArgumentError("table", f"{type(table).__name__} ({error})", expected) from error
    if len(set(known.column_names)) < known.num_columns:
        raise DataError(where, f"has two columns of one name: {_listed(known.column_names)}. Rename one.")
    if known.num_rows == 0:
        raise DataError(where, "holds no rows, expected one per document.")
    found = wanted.among(known.column_names, where)
    assert found.query is not None and found.grade is not None and found.features is not None
    queries = _words(known, found.query, where)
    ids = list(dict.fromkeys(queries))
    numbers = {query: number for number, query in enumerate(ids)}
    of_row = np.array([numbers[query] for query in queries], dtype=np.int64)
    order = np.argsort(of_row, kind="stable")
    raw = np.ascontiguousarray(np.column_stack([_numbers(known, each, where) for each in found.features])[order])
    offsets = np.concatenate([[0], np.cumsum(np.bincount(of_row, minlength=len(ids)))]).astype(np.int64)
    data = Dataset(
        features=_scaled(raw, offsets) if scale else raw,
        grades=_grades(known, found.grade, where)[order],
        offsets=offsets,
        query_ids=tuple(ids),
        name=name,
        raw=raw if scale else None,
    )
    if found.group is None:
        return data
    words = _words(known, found.group, where)
    names = ordered_names(list(dict.fromkeys(words)))
    places = {word: number for number, word in enumerate(names)}
    return data.with_groups(np.array([places[word] for word in words])[order], names=names)


def _from_csv(path: Path, wanted: Columns) -> pa.Table:
    """The rows of a CSV file: features as the float32 nearest to what is written, the rest as words."""
    import pyarrow as pa
    from pyarrow import csv

    parse = csv.ParseOptions(delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    names: list[str] = []
    try:
        names = csv.open_csv(path, parse_options=parse).schema.names
        has_query = wanted.query is not None or any(name.lower() in KNOWN["query"] for name in names)
        sizes = None if has_query else sizes_beside(path)
        added = [] if sizes is None else [KNOWN["query"][0]]
        found = wanted.among([*names, *added], path)
        types: dict[str, pa.DataType] = dict.fromkeys(found.features or (), pa.float32())
        types.update({name: pa.string() for name in (found.query, found.group) if name is not None})
        read = [name for name in _named(found) if name not in added]
        convert = csv.ConvertOptions(column_types=types, include_columns=read, strings_can_be_null=True)
        table = csv.read_csv(path, parse_options=parse, convert_options=convert)
        return table if sizes is None else table.append_column(*added, [_counted(sizes, path, table.num_rows)])
    except (pa.ArrowException, OSError) as error:
        told = _NUMBER.sub(lambda found: _called(names, found), str(error).splitlines()[0])
        remedy = "Features must be numbers; name those that are with --columns features=A+B."
        raise DataError(path, f"cannot be read as a table of ranking data ({told}). {remedy}") from error


def _counted(sizes: Path, path: Path, n_rows: int) -> list[str]:
    """The query of each row by the file of sizes: 1, 2, ..."""
    each = read_sizes(sizes, path, n_rows=n_rows)
    return [str(number) for number, size in enumerate(each, start=1) for _ in range(size)]


def _from_arrow(path: Path) -> pa.Table:
    import pyarrow as pa
    from pyarrow import feather, parquet

    reader = parquet.read_table if path.suffix.lower() == ".parquet" else feather.read_table
    try:
        return reader(path)
    except (pa.ArrowException, OSError) as error:
        told = str(error).splitlines()[0]
        raise DataError(path, f"cannot be read as {path.suffix} ({told}). Is it complete?") from error


def _from_numpy(path: Path) -> pa.Table:
    import pyarrow as pa

    try:
        loaded = np.load(path, allow_pickle=False)
        arrays = {name: loaded[name] for name in loaded.files} if path.suffix.lower() == ".npz" else loaded
    except (OSError, ValueError, EOFError) as error:
        raise DataError(path, f"cannot be read as arrays of numbers or words ({error}).") from error
    if isinstance(arrays, np.ndarray):
        if arrays.dtype.names:
            arrays = {name: arrays[name] for name in arrays.dtype.names}
        elif arrays.ndim == 2 and arrays.shape[1] >= 3:
            arrays = {"query": arrays[:, 0], "grade": arrays[:, 1], "features": arrays[:, 2:]}
        else:
            problem = f"has shape {arrays.shape}, expected a matrix with the columns query, grade, feature 1, 2, ..."
            raise DataError(path, problem)
    columns: dict[str, Any] = {}
    for name, array in arrays.items():
        if array.ndim == 2 and name.lower() in MATRICES:
            columns.update({f"{name}{number + 1}": array[:, number] for number in range(array.shape[1])})
        elif array.ndim == 1:
            columns[name] = array
        else:
            problem = f"{name!r} has shape {array.shape}, expected a column, or a matrix called 'features'."
            raise DataError(path, problem)
    lengths = {name: len(array) for name, array in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(path, f"has arrays of different lengths ({lengths}), expected one row per document.")
    return pa.table({name: np.ascontiguousarray(array) for name, array in columns.items()})


def _words(table: pa.Table, name: str, where: str | Path) -> list[str]:
    """A column as words; whole numbers without a point."""
    values = table[name].to_pylist()
    for row, value in enumerate(values):
        if value is None or value == "" or value != value:
            raise DataError(where, f"row {row + 1} has no {name!r}. Give every document one.")
    return [str(int(value)) if isinstance(value, float) and value.is_integer() else str(value) for value in values]


def _numbers(table: pa.Table, name: str, where: str | Path) -> Values:
    """A column of finite float32 values."""
    import pyarrow as pa

    kind = table[name].type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        problem = f"column {name!r} holds {kind}, expected numbers. Leave it out, or name the features: --columns"
        raise DataError(where, f"{problem} features=A+B.")
    with np.errstate(over="ignore"):
        values = table[name].to_numpy().astype(np.float32)
    _check_all(np.isfinite(values), table[name], name, where, "a finite number")
    return np.asarray(values)


def _grades(table: pa.Table, name: str, where: str | Path) -> Ints:
    values = table[name].to_numpy()
    if values.dtype.kind not in "iufb":
        raise DataError(where, f"column {name!r} holds {table[name].type}, expected grades: whole numbers from 0.")
    good = (
        (values >= 0) & (values <= _MAX_GRADE) & (np.floor(values) == values)
        if values.dtype.kind != "b"
        else values == values
    )
    _check_all(np.asarray(good), table[name], name, where, "a whole number of at least 0")
    return np.asarray(values.astype(np.int64))


def _check_all(good: NDArray[np.bool_], column: Any, name: str, where: str | Path, expected: str) -> None:
    if not good.all():
        row = int(np.argmin(good))
        value = column[row].as_py()
        raise DataError(
            where, f"row {row + 1} has {'nothing' if value is None else value} in column {name!r}, expected {expected}."
        )


def _scaled(raw: Values, offsets: Ints) -> Values:
    from fairexp.kernels.data.scaling import scale_queries

    features = raw.copy()
    scale_queries(features, offsets)
    return features


def _called(names: Sequence[str], found: re.Match[str]) -> str:
    """The column that a reader means by its number."""
    number = int(found[1])
    return f"column {names[number]!r}" if number < len(names) else found[0]


def _named(columns: Columns) -> list[str]:
    named = [columns.query, columns.grade, columns.group, *(columns.features or ())]
    return list(dict.fromkeys(name for name in named if name is not None))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(str, names[:12]))
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown or "nothing"
