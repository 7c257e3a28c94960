"""One pass over LETOR text: rows go to a store in file order, and what was seen is remembered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Ints
from fairexp.errors import DataError
from fairexp.kernels.data import letor as kernel
from fairexp.lab.data.letor.blocks import line_blocks
from fairexp.lab.data.letor.numbers import nearest_float32
from fairexp.lab.data.letor.rows import RowStore, Values
from fairexp.lab.data.query_sizes import read_sizes, sizes_beside

MAX_FEATURES = 100_000
"""A dense matrix wider than this is almost surely a mistake in the file."""

BLOCK_VALUES = 1 << 20
"""How many float32 values a block of parsed rows may hold (4 MB)."""

_MAX_GRADE = 2**31 - 1
_SPARE_ODD = 4096

Text = NDArray[np.uint8]


@dataclass
class Parsed:
    """What one pass found: `runs` are (query, rows) in file order, `widths` are (rows, columns stored for them)."""

    query_numbers: dict[bytes, int] = field(default_factory=dict)
    runs: list[tuple[int, int]] = field(default_factory=list)
    widths: list[tuple[int, int]] = field(default_factory=list)
    grades: list[Ints] = field(default_factory=list)

    def add_rows(self, n_rows: int, width: int) -> None:
        if self.widths and self.widths[-1][1] == width:
            n_rows += self.widths.pop()[0]
        self.widths.append((n_rows, width))

    def add_run(self, query_id: bytes, n_rows: int) -> None:
        query = self.query_numbers.setdefault(query_id, len(self.query_numbers))
        if self.runs and self.runs[-1][0] == query:
            n_rows += self.runs.pop()[1]
        self.runs.append((query, n_rows))

    def divide(self, sizes: Sequence[int]) -> None:
        """Make queries 1, 2, ... of what was read as one run."""
        self.query_numbers = {str(number + 1).encode(): number for number in range(len(sizes))}
        self.runs = list(enumerate(sizes))


def parse_file(path: Path, store: RowStore, *, n_features: int | None) -> Parsed:
    """Append the rows of the file to "parsed" of `store`; a row is as wide as the largest feature id so far.

    Where `n_features` is given every row has that width, and a larger id is an error. Where the first document has no
    query id, none may have one, and the sizes of queries come from a file beside this one.
    """
    parsed = Parsed()
    width, line = n_features or 0, 1
    sizes: Path | None = None
    for text in line_blocks(path):
        at = 0
        while at < len(text):
            n_rows = max(1, min(BLOCK_VALUES // max(width, 1), len(text) // len("0 qid:1")))
            features = np.empty((n_rows, width), dtype=np.float32)
            grades, runs = np.empty(n_rows, dtype=np.int64), np.empty((n_rows, 4), dtype=np.int64)
            odd = np.empty((width + 1 + _SPARE_ODD, 4), dtype=np.int64)
            code, stop, n, n_runs, n_odd, n_lines, *token = kernel.parse_lines(
                text, at, features, grades, runs, odd, sizes is None
            )
            if code == kernel.TOO_WIDE and n_features is None:
                width = _wider(path, kernel.largest_id(text), line + n_lines)
                continue
            if code == kernel.NO_QUERY and not (n or parsed.runs) and (sizes := sizes_beside(path)) is not None:
                continue
            for entry in odd[:n_odd].tolist():
                _settle_odd(path, text, entry, features, grades, line + _newlines(text[at : entry[2]]))
            if code not in (kernel.END, kernel.FULL):
                problem = _problem(code, _shown(text, token[0], token[1]), width)
                raise DataError(path, problem, line=line + n_lines)
            if n:
                _record(parsed, text, runs[:n_runs], n, width)
                parsed.grades.append(grades[:n].copy())
                store.append("parsed", features[:n])
            at, line = stop, line + n_lines
    if sizes is not None:
        parsed.divide(read_sizes(sizes, path, n_rows=sum(n_rows for _, n_rows in parsed.runs)))
    return parsed


def _record(parsed: Parsed, text: Text, runs: Ints, n_rows: int, width: int) -> None:
    parsed.add_rows(n_rows, width)
    lengths = np.diff(runs[:, 0], append=n_rows).tolist()
    for (_, begin, end, _), length in zip(runs.tolist(), lengths, strict=True):
        parsed.add_run(text[begin:end].tobytes(), length)


def _settle_odd(path: Path, text: Text, entry: list[int], features: Values, grades: Ints, line: int) -> None:
    """Put in one number that the kernel left out, or say what is wrong with it."""
    row, column, begin, end = entry
    is_grade = column == kernel.GRADE_COLUMN
    try:
        value = nearest_float32(text[begin:end].tobytes())
    except ValueError:
        what = "grade" if is_grade else f"feature {column + 1}"
        problem = f"{what} is {_shown(text, begin, end)!r}, expected a finite number."
        raise DataError(path, problem, line=line) from None
    if not is_grade:
        features[row, column] = value
    elif 0 <= value <= _MAX_GRADE and value == int(value):
        grades[row] = int(value)
    else:
        raise DataError(path, _problem(kernel.BAD_GRADE, _shown(text, begin, end), 0), line=line)


def _wider(path: Path, width: int, line: int) -> int:
    if width > MAX_FEATURES:
        problem = f"from here on there is a feature id of {width}, expected at most {MAX_FEATURES}. Number them from 1."
        raise DataError(path, problem, line=line)
    return width


def _newlines(text: Text) -> int:
    return int(np.count_nonzero(text == ord("\n")))


def _shown(text: Text, begin: int, end: int) -> str:
    token = text[begin : min(end, begin + 60)].tobytes().decode("utf-8", "backslashreplace")
    return token + "..." if end - begin > 60 else token


def _problem(code: int, token: str, width: int) -> str:
    """What is wrong with `token`, what was expected, and what to do."""
    problems = {
        kernel.BAD_GRADE: f"the grade is {token!r}, expected a whole number of at least 0 first on the line.",
        kernel.NO_QUERY: f"no query id, found {token!r} where `qid:ID` is expected. Write it after the grade, "
        "or put the sizes of queries beside the file (see docs/data.md).",
        kernel.NO_VALUE: f"feature {token!r} has no value, expected `id:value`. Leave it out to mean 0.",
        kernel.BAD_ID: f"{token!r} is no feature, expected `id:value` with a whole id of at least 1.",
        kernel.TOO_WIDE: f"feature {token!r} is beyond n_features={width}. Pass a larger n_features, or None.",
        kernel.DUPLICATE: f"feature {token!r} comes twice on this line. Keep one value per feature.",
    }
    return problems[code]
