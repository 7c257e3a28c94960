"""Sizes of queries in a file beside the data, as LightGBM has them: the rows of each query in turn, a number a line."""

from __future__ import annotations

from pathlib import Path

from fairexp.errors import DataError
from fairexp.lab.data.compressed import plain_name

ENDINGS = (".query", ".group")


def sizes_beside(path: Path) -> Path | None:
    """The file of sizes that belongs to the data at `path`: train.txt.query, train.txt.group, train.query, train.group.

    How the data are compressed does not count: train.txt.query belongs to train.txt.gz as well.
    """
    whole = plain_name(path)
    stems = dict.fromkeys((path.name, whole, Path(whole).stem))
    places = [path.with_name(stem + ending) for stem in stems for ending in ENDINGS]
    return next((place for place in places if place != path and place.is_file()), None)


def read_sizes(place: Path, path: Path, *, n_rows: int) -> list[int]:
    """The sizes in `place`, which must add up to the `n_rows` of the data at `path`; blank lines are skipped."""
    sizes = []
    try:
        for line, text in enumerate(place.read_text(encoding="utf-8-sig").splitlines(), start=1):
            word = text.strip()
            if word and not (word.isascii() and word.isdigit() and int(word) > 0):
                problem = f"{word[:60]!r}, expected the number of rows of a query of {path.name}, at least 1."
                raise DataError(place, problem, line=line)
            sizes += [int(word)] if word else []
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(place, f"cannot be read as a text file of the sizes of queries ({error}).") from error
    if sum(sizes) != n_rows:
        raise DataError(
            place,
            f"its {len(sizes)} sizes of queries add up to {sum(sizes)} rows, but {path.name} has {n_rows}. "
            "Do both files belong together, and are both complete?",
        )
    return sizes
