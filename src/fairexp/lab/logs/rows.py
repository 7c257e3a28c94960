"""A log as a table: one row for each document that was shown.

Columns: `ranking`, the same for all rows of one ranking; `click` (or `grade`); and, where known, `position` from 1,
`query`, `document` and `propensity`, the probability that the document stands at its position. Every other column
of numbers is a feature, unless its name says that it is none, or features are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.errors import DataError, did_you_mean
from fairexp.lab.data.columns import is_label, left_out_note, listed, other_meaning
from fairexp.lab.logs.record import Log, places

if TYPE_CHECKING:
    import pyarrow as pa

OWN = ("ranking", "query", "document", "position", "click", "grade", "propensity")


def log_of_rows(table: pa.Table, path: Path, *, features: tuple[str, ...] = (), ignore: Sequence[str] = ()) -> Log:
    """The log in a table, whose rows may come in any order; without positions, their order within a ranking counts."""
    columns = table.column_names
    told = [name for name in ("click", "grade") if name in columns]
    if "ranking" not in columns or len(told) != 1:
        raise DataError(path, f"has the columns {', '.join(columns)}; expected `ranking`, and `click` or `grade`")
    rankings = codes(table, "ranking")
    positions = whole_numbers(table, "position", path) if "position" in columns else np.arange(1, table.num_rows + 1)
    if positions.min() < 1:
        raise DataError(path, f"has position {positions.min()}; expected positions from 1")
    order = np.lexsort((positions, rankings))
    starts = np.flatnonzero(np.diff(rankings[order], prepend=-1))
    offsets = np.append(starts, len(order))
    names, notes = feature_columns(table, path, named=features, ignore=ignore)
    outcomes = whole_numbers(table, told[0], path)[order]
    if told[0] == "click" and not np.isin(outcomes, (0, 1)).all():
        raise DataError(path, f"has click {outcomes[~np.isin(outcomes, (0, 1))][0]}; expected 0 and 1")
    queries = codes(table, "query")[order][starts] if "query" in columns else None
    return Log(
        features=feature_matrix(table, names, path)[order],
        names=names,
        offsets=offsets,
        positions=positions[order] if "position" in columns else places(offsets),
        clicks=outcomes.astype(np.bool_) if told[0] == "click" else None,
        grades=outcomes if told[0] == "grade" else None,
        queries=queries,
        documents=codes(table, "document")[order] if "document" in columns else None,
        propensity=_numbers(table, "propensity", path)[order] if "propensity" in columns else None,
        notes=notes,
    )


def codes(table: pa.Table, name: str) -> Ints:
    """A number (n,) for each value of a column, the same for equal values, in the order of their first coming."""
    encoded = table.column(name).combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)


def feature_columns(
    table: pa.Table, where: Path | str, *, named: tuple[str, ...] = (), ignore: Sequence[str] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The features: those `named`, or all numbers without another meaning; and a note of what else was left out."""
    import pyarrow as pa

    for name in (*named, *ignore):
        if name not in table.column_names:
            remedy = did_you_mean(name, table.column_names) or f"There are {listed(table.column_names)}."
            raise DataError(where, f"has no column {name!r}. {remedy}")
    if named:
        return named, ()
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    numbers = [field.name for field in table.schema if any(kind(field.type) for kind in kinds)]
    reasons = {name: _reason(name, ignore) for name in numbers if name not in OWN}
    left_out = {name: reason for name, reason in reasons.items() if reason is not None}
    return tuple(name for name in reasons if name not in left_out), tuple(left_out_note(left_out))


def _reason(name: str, ignore: Sequence[str]) -> str | None:
    """Why a column of this name is no feature, if it is none."""
    if name in ignore:
        return "ignored"
    return "another grade" if is_label(name) else other_meaning(name)


def feature_matrix(table: pa.Table, names: tuple[str, ...], path: Path | str) -> Floats:
    """The features (n, d) called `names`."""
    if not names:
        raise DataError(path, "has no column of numbers to learn from; expected one for each feature")
    return np.column_stack([_numbers(table, name, path) for name in names])


def whole_numbers(table: pa.Table, name: str, path: Path) -> Ints:
    """A column of whole numbers (n,), or of truth."""
    values = _numbers(table, name, path)
    if not np.array_equal(values, np.round(values)):
        raise DataError(path, f"has {values[values != np.round(values)][0]:g} as {name}; expected whole numbers")
    return values.astype(np.int64)


def _numbers(table: pa.Table, name: str, path: Path | str) -> Floats:
    import pyarrow as pa

    if name not in table.column_names:
        raise DataError(path, f"has no column {name!r}; there are {', '.join(table.column_names)}")
    column = table.column(name)
    if column.null_count:
        raise DataError(path, f"lacks {column.null_count} values of {name}; expected a number in every row")
    try:
        values = np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    except pa.ArrowException as error:
        raise DataError(path, f"has {name} as {column.type}; expected numbers") from error
    if not np.isfinite(values).all():
        raise DataError(path, f"has {values[~np.isfinite(values)][0]} as {name}; expected finite numbers")
    return values
