"""Checks on what callers pass in, each of which returns the value in its proper form or raises an `ArgumentError`."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairexp.arrays import Bools, Floats, Ints
from fairexp.errors import ArgumentError

MAX_FEATURE = 1e100
"""Larger magnitudes overflow when squared; they are refused like infinities."""

MAX_FLOAT = float(np.finfo(np.float64).max)
MAX_COUNT = 2**40
"""Nothing that is counted here can be larger: a number beyond it was meant for something else."""


def check_kind(name: str, value: Any, kind: type, expected: str) -> Any:
    """`value` if it is of this `kind`, or an `ArgumentError`."""
    if not isinstance(value, kind):
        raise ArgumentError(name, short_repr(value), expected)
    return value


def check_mapping(name: str, value: object, expected: str) -> Mapping[Any, Any]:
    """`value` if it is a mapping, or an `ArgumentError`."""
    mapping: Mapping[Any, Any] = check_kind(name, value, Mapping, expected)
    return mapping


def check_callable(name: str, value: object) -> None:
    """Raise an `ArgumentError` unless `value` can be called, or is None."""
    if value is not None and not callable(value):
        raise ArgumentError(name, short_repr(value), "a function, or None")


def check_text(name: str, value: object, expected: str = "text") -> str:
    """`value` if it is text, or an `ArgumentError`."""
    text: str = check_kind(name, value, str, expected)
    return text


def as_names(name: str, value: object) -> tuple[str, ...]:
    """Several names, or one text with commas between them, as a tuple with each name once.

    >>> as_names("record", "shown, clicked"), as_names("record", ["shown"])
    (('shown', 'clicked'), ('shown',))
    """
    several = value.split(",") if isinstance(value, str) else value
    if not isinstance(several, Sequence) or not all(isinstance(each, str) for each in several):
        raise ArgumentError(name, short_repr(value), "names, or one text with commas between them")
    return tuple(dict.fromkeys(each.strip() for each in several))


def as_path(name: str, value: object, expected: str) -> Path:
    """`value`, text or a path, as a `Path`, or an `ArgumentError`."""
    if not isinstance(value, str | os.PathLike):
        raise ArgumentError(name, short_repr(value), expected)
    return Path(value)


def as_array(name: str, values: ArrayLike) -> NDArray[Any]:
    """`values` as an array, or an `ArgumentError` where lists inside it differ in length."""
    try:
        return np.asarray(values)
    except (ValueError, TypeError, OverflowError):
        raise ArgumentError(name, short_repr(values), "an array, or lists of one length") from None


def as_numbers(name: str, values: ArrayLike, *, n: int, each: str) -> Floats:
    """`values` as an (n,) float64 array, one for `each`, or an `ArgumentError`."""
    given = as_array(name, values)
    if given.shape != (n,) or given.dtype.kind not in "fiub":
        raise ArgumentError(name, f"{given.dtype} of shape {given.shape}", f"{n} numbers, one per {each}")
    return given.astype(np.float64)


def as_features(features: ArrayLike, *, name: str = "features", n_features: int | None = None) -> Floats:
    """`features` as a C-ordered (n, d) float64 array, or an `ArgumentError` that names `name`."""
    given = as_array(name, features)
    if given.dtype.kind not in "fiub":
        raise ArgumentError(name, f"dtype {given.dtype}", "numbers", "Convert text and missing values first.")
    if given.ndim != 2:
        raise ArgumentError(name, f"shape {given.shape}", "a matrix with one row per candidate")
    if n_features is not None and given.shape[1] != n_features:
        raise ArgumentError(
            name,
            f"{given.shape[1]} columns",
            f"{n_features} columns",
            "The ranker was built with n_features.",
        )
    matrix = np.ascontiguousarray(given, dtype=np.float64)
    numbers = matrix.ravel()
    # The sum of squares takes a tenth of the time, and says whether a closer look is needed; NaN passes no comparison.
    with np.errstate(over="ignore"):
        squares = numbers.dot(numbers)
    if not squares <= MAX_FEATURE**2 and not (np.abs(matrix) <= MAX_FEATURE).all():
        row, column = np.argwhere(~(np.abs(matrix) <= MAX_FEATURE))[0]
        raise ArgumentError(
            name,
            f"{matrix[row, column]} at row {row}, feature {column + 1}",
            f"finite numbers of magnitude at most {MAX_FEATURE:g}",
            "Impute or drop such values.",
        )
    return matrix


def as_groups(groups: ArrayLike, *, n: int, name: str = "groups") -> Ints:
    """`groups` as an (n,) int64 array of group numbers from 0, or an `ArgumentError`."""
    given = as_array(name, groups)
    if given.dtype.kind not in "iub":
        raise ArgumentError(name, f"dtype {given.dtype}", "integers 0, 1, ..., one per candidate")
    if given.shape != (n,):
        raise ArgumentError(name, f"shape {given.shape}", f"shape ({n},), one group per candidate")
    if given.size and given.min() < 0:
        raise ArgumentError(name, int(given.min()), "group numbers of at least 0")
    return np.ascontiguousarray(given, dtype=np.int64)


def as_document_ids(ids: ArrayLike, *, n: int, name: str = "document_ids") -> NDArray[np.generic]:
    """`ids` as an (n,) array of different texts or of different whole numbers, or an `ArgumentError`."""
    given = as_array(name, ids)
    if given.shape != (n,):
        raise ArgumentError(name, f"shape {given.shape}", f"shape ({n},), one id per candidate")
    if given.dtype.kind not in "iuU":
        raise ArgumentError(name, f"dtype {given.dtype}", "texts or whole numbers, one per candidate")
    values = given.tolist()
    if given.dtype.kind == "U" and not isinstance(ids, np.ndarray) and list(ids) != values:  # type: ignore[arg-type]
        raise ArgumentError(name, "texts among numbers", "either texts or whole numbers")
    if len(set(values)) != n:
        twice = next(each for place, each in enumerate(values) if each in values[:place])
        raise ArgumentError(name, f"{twice!r} twice", "ids that differ from each other", "List each candidate once.")
    return given.astype(np.int64, copy=False) if given.dtype.kind in "iu" else given


def as_pins(pinned: Mapping[int, int], *, n: int, name: str = "pinned") -> dict[int, int]:
    """`pinned` as candidates by position, each of them once, or an `ArgumentError`."""
    wanted = f"different candidates below {n} by position, from 0"
    check_mapping(name, pinned, wanted)
    pins = dict(sorted(pinned.items()))
    whole = all(
        isinstance(number, int | np.integer) and not isinstance(number, bool) and 0 <= number < n
        for pin in pins.items()
        for number in pin
    )
    if not whole or len(set(pins.values())) < len(pins):
        raise ArgumentError(name, repr(dict(pinned)), wanted)
    return {int(position): int(candidate) for position, candidate in pins.items()}


def as_shares(shares: ArrayLike) -> Floats:
    """`shares` as a (G,) array of at least two positive numbers, or an `ArgumentError`."""
    given = as_array("shares", shares)
    if given.ndim != 1 or len(given) < 2 or given.dtype.kind not in "fiu":
        raise ArgumentError("shares", repr(shares), "at least two numbers, one per group")
    if not all(0.0 < share < inf for share in given.tolist()):
        raise ArgumentError("shares", repr(shares), "finite numbers above 0", "A share of 0 would ban the group.")
    return given.astype(np.float64)


def as_clicks(clicks: ArrayLike, length: int) -> Bools:
    """`clicks` as a (length,) bool array, or an `ArgumentError`."""
    given = as_array("clicks", clicks)
    if given.shape != (length,):
        raise ArgumentError("clicks", f"shape {given.shape}", f"shape ({length},), one per shown position")
    if given.dtype.kind != "b" and not (given.dtype.kind in "iuf" and np.isin(given, (0, 1)).all()):
        raise ArgumentError("clicks", f"{given!r}", "booleans (or zeros and ones)")
    return given.astype(np.bool_)


def as_grades(grades: ArrayLike, clicks: Bools) -> Ints:
    """`grades` (m,) as whole numbers that are above 0 where `clicks` (m,) says so and 0 elsewhere."""
    given = as_array("grades", grades)
    whole = given.dtype.kind in "iu" and given.shape == clicks.shape
    if not whole or (given < 0).any() or not np.array_equal(given > 0, clicks):
        raise ArgumentError("grades", f"{given!r}", f"{len(clicks)} whole numbers, above 0 where there was a click")
    return given.astype(np.int64)


def check_count(name: str, value: int) -> int:
    """`value` as an int of at least 1, or an `ArgumentError`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ArgumentError(name, short_repr(value), "a whole number of at least 1")
    if value > MAX_COUNT:
        raise ArgumentError(name, short_repr(value), f"a whole number of at most {MAX_COUNT:,}")
    return int(value)


def check_number(
    name: str, value: float, *, above: float = -np.inf, at_least: float = -np.inf, at_most: float = np.inf
) -> float:
    """`value` as a finite float above `above`, at least `at_least` and at most `at_most`, or an `ArgumentError`."""
    wanted = "a finite number"
    if above > -np.inf:
        wanted += f" above {above:g}"
    if at_least > -np.inf:
        wanted += f" of at least {at_least:g}"
    if at_most < np.inf:
        wanted += f"{' and' if at_least > -np.inf else ','} at most {at_most:g}"
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not is_number or not abs(value) <= MAX_FLOAT or value <= above or value < at_least or value > at_most:
        raise ArgumentError(name, short_repr(value), wanted)
    return float(value)


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    """`value` if it is one of `choices`, or an `ArgumentError`."""
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(name, short_repr(value), "one of " + ", ".join(map(repr, choices)))
    return value


def as_measured(measured: ArrayLike, length: int, name: str = "measured") -> Floats:
    """Measured exposure (length,): finite numbers of at least 0."""
    numbers = as_numbers(name, measured, n=length, each="shown position")
    if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
        raise ArgumentError(name, repr(measured), "finite numbers of at least 0")
    return numbers


def whole_signature(cls: type) -> inspect.Signature:
    """The arguments of a class with those that its constructor hands on; a seed comes last.

    >>> class Base:
    ...     def __init__(self, size, *, rate=1.0, seed=None): ...
    >>> class Derived(Base):
    ...     def __init__(self, size, *, steps=3, **others): ...
    >>> whole_signature(Derived)
    <Signature (size, *, rate=1.0, steps=3, seed=None)>
    """
    found: list[inspect.Parameter] = []
    for base in cls.__mro__:
        if "__init__" in base.__dict__:
            own = list(inspect.signature(base.__dict__["__init__"]).parameters.values())[1:]
            handed_on = [parameter for parameter in own if parameter.kind is inspect.Parameter.VAR_KEYWORD]
            known = {parameter.name for parameter in found}
            found = [parameter for parameter in own if parameter.name not in known] + found
            if not handed_on:
                break
            found.remove(handed_on[0])
    return inspect.Signature(sorted(found, key=lambda parameter: (parameter.kind, parameter.name == "seed")))
