"""Ranking data from tables: CSV, Parquet, Feather and NumPy files, or a table in memory; one row per document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Ints
from fairexp.errors import ArgumentError, DataError
from fairexp.lab.data.columns import ROLES, Assignment, Columns, left_out_note, listed
from fairexp.lab.data.dataset import BY_QUERY, Dataset, Values, numbered
from fairexp.lab.data.query_sizes import read_sizes, sizes_beside
from fairexp.lab.data.rows import Words, as_word, assemble, is_grade

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".csv", ".tsv", ".parquet", ".feather", ".arrow", ".npz", ".npy")
MATRICES = ("features", "x")
_NUMBER = re.compile(r"column #(\d+)")
_WRITTEN_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


def read_table(
    path: str | Path,
    *,
    columns: Columns | str | None = None,
    ignore: Sequence[str] = (),
    scale: str | None = BY_QUERY,
) -> Dataset:
    """Ranking data from a file whose name ends in one of `ENDINGS`.

    The rows of a query need not stand together. Features are numbers or true and false, all of them finite; grades are
    whole numbers of at least 0; a column of groups, of any words, is optional. `columns` says which column holds what
    where their names do not (`fairexp.lab.data.Columns`). Columns to `ignore`, and those that hold words or whose names
    say that they are no features, are left out, with a note. A .npz file holds arrays under such names and a matrix
    `features`; a .npy file a matrix with the columns query, grade, features, or a structured array with such names.
    Where a CSV file has no column for the query, a file beside it may hold the sizes (`fairexp.lab.data.query_sizes`).
    """
    place = Path(path)
    if not place.is_file():
        raise DataError(place, "no such file. Check the path.")
    wanted = _wanted(columns)
    ending = place.suffix.lower()
    if ending in (".csv", ".tsv"):
        table, assigned = _from_csv(place, wanted, ignore)
    else:
        table = _from_numpy(place) if ending in (".npz", ".npy") else _from_arrow(place)
        assigned = _assigned(table.column_names, wanted, ignore, place)
    return _dataset(table, assigned, wanted, scale=scale, name=place.stem, where=place)


def from_table(
    table: Any,
    *,
    columns: Columns | str | None = None,
    ignore: Sequence[str] = (),
    scale: str | None = BY_QUERY,
    name: str = "data",
    where: str | Path = "table",
) -> Dataset:
    """Ranking data from a table in memory: a pandas, Polars or Arrow one, or a dict of columns; one row per document.

    >>> from_table({"query": [1, 1, 2], "grade": [2, 0, 1], "price": [3.0, 5.0, 4.0], "group": ["a", "b", "a"]})
    Dataset('data', 2 queries, 3 documents, 1 features, 2 groups)
    """
    import pyarrow as pa

    wanted = _wanted(columns)
    try:
        known = table if isinstance(table, pa.Table) else pa.table(table)
    except (pa.ArrowException, TypeError, ValueError) as error:
        expected = "a table of columns (pandas, Polars, Arrow or a dict)"
        raise ArgumentError("table", f"{type(table).__name__} ({error})", expected) from error
    assigned = _assigned(known.column_names, wanted, ignore, where)
    return _dataset(known, assigned, wanted, scale=scale, name=name, where=where)


def _wanted(columns: Columns | str | None) -> Columns:
    return Columns.parse(columns) if isinstance(columns, str) else columns or Columns()


def _assigned(names: Sequence[str], wanted: Columns, ignore: Sequence[str], where: str | Path) -> Assignment:
    if isinstance(ignore, str):
        raise ArgumentError("ignore", repr(ignore), "a list of names of columns")
    if len(set(names)) < len(names):
        raise DataError(where, f"has two columns of one name: {listed(names)}. Rename one.")
    return wanted.among(names, where, ignore=ignore)


def _dataset(
    table: pa.Table, assigned: Assignment, wanted: Columns, *, scale: str | None, name: str, where: str | Path
) -> Dataset:
    """The data of a table whose columns hold what is `assigned`."""
    if table.num_rows == 0:
        raise DataError(where, "holds no rows, expected one per document.")
    if wanted.features is None:
        words = {each: "words" for each in assigned.features if _holds_words(table[each], each, where)}
        features = tuple(each for each in assigned.features if each not in words)
        assigned = replace(assigned, features=features, left_out={**assigned.left_out, **words})
    note = left_out_note(assigned.left_out)
    if not assigned.features:
        raise DataError(where, f"has no column left for features. {' '.join(note) or 'Add at least one.'}")
    return assemble(
        np.column_stack([_numbers(table, each, where) for each in assigned.features]),
        _grades(table, assigned.grade, where),
        _words(table, assigned.query, where),
        None if assigned.group is None else _words(table, assigned.group, where),
        feature_names=assigned.features,
        scale=scale,
        name=name,
        notes=tuple(note),
    )


def _from_csv(path: Path, wanted: Columns, ignore: Sequence[str]) -> tuple[pa.Table, Assignment]:
    """The rows of a CSV file: features as the float32 nearest to what is written, the rest as words."""
    import pyarrow as pa
    from pyarrow import csv

    parse = csv.ParseOptions(delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    names: list[str] = []
    try:
        schema = csv.open_csv(path, parse_options=parse).schema
        names = schema.names
        has_query = wanted.query is not None or any(name.lower() in ROLES["query"] for name in names)
        sizes = None if has_query else sizes_beside(path)
        added = [] if sizes is None else [ROLES["query"][0]]
        assigned = _assigned([*names, *added], wanted, ignore, path)
        types = {name: _csv_type(schema.field(name).type, wanted) for name in assigned.features}
        types |= {name: pa.string() for name in (assigned.query, assigned.group) if name is not None}
        read = [name for name in dict.fromkeys([*types, assigned.grade]) if name not in added]
        convert = csv.ConvertOptions(column_types=types, include_columns=read, strings_can_be_null=True)
        table = csv.read_csv(path, parse_options=parse, convert_options=convert)
    except (pa.ArrowException, OSError) as error:
        told = _NUMBER.sub(lambda found: _called(names, found), str(error).splitlines()[0])
        remedy = "Features must be numbers; leave a column out with --ignore NAME."
        raise DataError(path, f"cannot be read as a table of ranking data ({told}). {remedy}") from error
    if sizes is not None:
        table = table.append_column(*added, [_counted(sizes, path, table.num_rows)])
    return table, assigned


def _csv_type(kind: pa.DataType, wanted: Columns) -> pa.DataType:
    """How a feature's column is read whose first rows look like `kind`: as numbers, truth, or else as words."""
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return kind
    return pa.string() if wanted.features is None and _is_text(kind) else pa.float32()


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
            own = dict(zip(numbered(array.shape[1]), array.T, strict=True))
            if columns.keys() & own.keys():
                raise DataError(path, f"holds two matrices of features, or columns called as {name!r} numbers its own.")
            columns.update(own)
        elif array.ndim == 1:
            columns[name] = array
        else:
            problem = f"{name!r} has shape {array.shape}, expected a column, or a matrix called 'features'."
            raise DataError(path, problem)
    lengths = {name: len(array) for name, array in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(path, f"has arrays of different lengths ({lengths}), expected one row per document.")
    return pa.table({name: np.ascontiguousarray(array) for name, array in columns.items()})


def _words(table: pa.Table, name: str, where: str | Path) -> Words:
    """A column of words, or of numbers taken for words."""
    import pyarrow as pa

    column = table[name]
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    encoded = plain.combine_chunks().dictionary_encode()
    numbers = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    values = encoded.dictionary.to_pylist()
    lacking = [number for number, value in enumerate(values) if value is None or value == "" or value != value]
    missing = np.isin(numbers, [-1, *lacking])
    if missing.any():
        raise DataError(where, f"row {int(np.argmax(missing)) + 1} has no {name!r}. Give every document one.")
    words = [as_word(value) for value in values]
    places = {word: place for place, word in enumerate(dict.fromkeys(words))}
    return np.array([places[word] for word in words], dtype=np.int64)[numbers], list(places)


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_temporal)
    return any(check(kind) for check in checks)


def _holds_words(column: Any, name: str, where: str | Path) -> bool:
    """Whether a column holds words or dates; one that mostly holds numbers, written as words, is an error."""
    import pyarrow as pa
    from pyarrow import compute

    if not _is_text(column.type) or pa.types.is_temporal(column.type):
        return _is_text(column.type)
    words = column.cast(pa.string())
    is_number = np.asarray(compute.match_substring_regex(words, _WRITTEN_NUMBER).fill_null(False).to_numpy())
    if 2 * is_number.sum() <= len(words) - words.null_count:
        return True
    row = int(np.argmin(is_number)) if not is_number.all() else 0
    problem = f"row {row + 1} has {words[row].as_py() or 'nothing'!r} in column {name!r}, expected a number"
    raise DataError(where, f"{problem}. Correct the column, or leave it out with --ignore.")


def _numbers(table: pa.Table, name: str, where: str | Path) -> Values:
    """A column of finite float32 values."""
    import pyarrow as pa

    column = table[name]
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        problem = f"column {name!r} holds {column.type}, expected numbers. Leave it out with --ignore, or name the"
        raise DataError(where, f"{problem} features: --columns features=A+B.")
    with np.errstate(over="ignore"):
        values = column.to_numpy().astype(np.float32)
    _check_all(np.isfinite(values), table[name], name, where, "a finite number")
    return np.asarray(values)


def _grades(table: pa.Table, name: str, where: str | Path) -> Ints:
    values = table[name].to_numpy()
    if values.dtype.kind not in "iufb":
        raise DataError(where, f"column {name!r} holds {table[name].type}, expected grades: whole numbers from 0.")
    _check_all(is_grade(values), table[name], name, where, "a whole number of at least 0")
    return np.asarray(values.astype(np.int64))


def _check_all(good: NDArray[np.bool_], column: Any, name: str, where: str | Path, expected: str) -> None:
    if not good.all():
        row = int(np.argmin(good))
        value = column[row].as_py()
        raise DataError(
            where, f"row {row + 1} has {'nothing' if value is None else value} in column {name!r}, expected {expected}."
        )


def _called(names: Sequence[str], found: re.Match[str]) -> str:
    """The column that a reader means by its number."""
    number = int(found[1])
    return f"column {names[number]!r}" if number < len(names) else found[0]
