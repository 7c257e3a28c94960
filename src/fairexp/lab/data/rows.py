"""From rows in any order to a data set: each query's rows together, words numbered, features scaled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairexp.arrays import Ints
from fairexp.errors import ArgumentError
from fairexp.lab.data.dataset import BY_QUERY, UNSCALED, Dataset, Values
from fairexp.lab.data.group_files import ordered_names
from fairexp.validation import as_features, check_choice

MAX_GRADE = 2**31 - 1
Words = tuple[Ints, list[str]]
"""A column of words: the number (N,) of each row's word, and the words in the order in which they first appear."""


def from_arrays(
    features: ArrayLike,
    grades: ArrayLike,
    queries: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    scale: str | None = BY_QUERY,
    name: str = "data",
) -> Dataset:
    """Ranking data from arrays with one row per document, scaled as a file would be.

    Args:
        features: (n, d) finite numbers.
        grades: (n,) whole numbers of at least 0.
        queries: (n,) words or numbers; the rows of a query need not stand together.
        groups: (n,) words or numbers, numbered in the order of their names; default: no groups.
        feature_names: d names; default: the columns of `features` where it is a data frame, else 1, 2, ...
        scale: "query" maps each feature to [0, 1] within each query, None leaves the values as they are.
        name: what the data are called.

    >>> from_arrays([[3.0, 1.0], [5.0, 0.0], [4.0, 2.0]], [2, 0, 1], [1, 1, 2], ["a", "b", "a"])
    Dataset('data', 2 queries, 3 documents, 2 features, 2 groups)
    """
    names = getattr(features, "columns", ()) if feature_names is None else feature_names
    with np.errstate(over="ignore"):
        raw = as_features(features).astype(np.float32)
    if not raw.size:
        raise ArgumentError("features", f"shape {raw.shape}", "at least one document and one feature")
    if not np.isfinite(raw).all():
        row, column = np.argwhere(~np.isfinite(raw))[0]
        raise ArgumentError("features", f"a number too large at row {row}, feature {column + 1}", "float32 numbers")
    return assemble(
        raw,
        _whole_grades(grades, len(raw)),
        _numbered_words("queries", queries, len(raw)),
        None if groups is None else _numbered_words("groups", groups, len(raw)),
        feature_names=tuple(map(str, names)),
        scale=scale,
        name=name,
    )


def assemble(
    raw: Values,
    grades: Ints,
    queries: Words,
    groups: Words | None,
    *,
    feature_names: tuple[str, ...],
    scale: str | None,
    name: str,
    notes: tuple[str, ...] = (),
) -> Dataset:
    """The data set of rows in any order: `raw` (N, d) float32, `grades` (N,)."""
    if scale is not None:
        check_choice("scale", scale, (BY_QUERY,))
    numbers, ids = queries
    order = np.argsort(numbers, kind="stable")
    raw = np.ascontiguousarray(raw[order])
    offsets = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=len(ids)))]).astype(np.int64)
    data = Dataset(
        features=_scaled(raw, offsets) if scale else raw,
        grades=grades[order],
        offsets=offsets,
        query_ids=tuple(ids),
        name=name,
        raw=raw if scale else None,
        notes=notes,
        feature_names=feature_names,
        scaling=BY_QUERY if scale else UNSCALED,
    )
    if groups is None:
        return data
    names = ordered_names(groups[1])
    places = {word: place for place, word in enumerate(names)}
    of_word = np.array([places[word] for word in groups[1]])
    return data.with_groups(of_word[groups[0]][order], names=names)


def as_word(value: object) -> str:
    """A query or a group as a word; whole numbers without a point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _numbered_words(name: str, values: ArrayLike, n: int) -> Words:
    given = np.asarray(values)
    if given.shape != (n,):
        raise ArgumentError(name, f"shape {given.shape}", f"shape ({n},), one per document")
    words = [as_word(value) for value in given.tolist()]
    if given.dtype.kind in "fO":
        lacking = next((row for row, value in enumerate(given.tolist()) if value is None or value != value), None)
        if lacking is not None:
            raise ArgumentError(name, f"{words[lacking]} at row {lacking}", "one for every document")
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(word, len(numbers)) for word in words], dtype=np.int64), list(numbers)


def _whole_grades(grades: ArrayLike, n: int) -> Ints:
    given = np.asarray(grades)
    if given.shape != (n,) or given.dtype.kind not in "iufb":
        told = f"shape {given.shape}, dtype {given.dtype}"
        raise ArgumentError("grades", told, f"shape ({n},), one whole number of at least 0 per document")
    good = is_grade(given)
    if not good.all():
        row = int(np.argmin(good))
        raise ArgumentError("grades", f"{given[row]} at row {row}", "whole numbers of at least 0")
    return given.astype(np.int64)


def is_grade(values: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Which of these numbers (n,) are grades."""
    numbers = values.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray((numbers >= 0) & (numbers <= MAX_GRADE) & (np.floor(numbers) == numbers))


def _scaled(raw: Values, offsets: Ints) -> Values:
    from fairexp.kernels.data.scaling import scale_queries

    features = raw.copy()
    scale_queries(features, offsets)
    return features
