"""Reading LETOR / SVMrank text: once by parsing, then by memory mapping."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from fairexp.errors import ArgumentError, DataError
from fairexp.lab.data.compressed import plain_name
from fairexp.lab.data.dataset import BY_QUERY, UNSCALED, Dataset
from fairexp.lab.data.letor import cache as cached
from fairexp.validation import as_path, check_choice, check_count


def read_letor(
    path: str | os.PathLike[str], *, n_features: int | None = None, scale: str | None = BY_QUERY, cache: bool = True
) -> Dataset:
    """Read ranking data in the text format of LETOR and SVMrank, `grade qid:ID id:value ... # comment` per document.

    Features that a line leaves out are 0; ids start at 1 and may come in any order; rows of a query need not stand
    together, they are brought together in the order in which they appear. The file may be plain or compressed with
    gzip, xz or zstd. `n_features` fixes the width (the largest id otherwise). `scale="query"` maps each feature to
    [0, 1] within each query, constant ones to 0; the unscaled values are kept too, for groups by raw thresholds.
    Where lines have no `qid:ID`, a file beside this one may hold the sizes of queries (`fairexp.lab.data.query_sizes`).

    The first call writes the parsed matrices to a cache folder ($FAIREXP_CACHE, $XDG_CACHE_HOME/fairexp or
    ~/.cache/fairexp), later calls map them into memory. `cache=False`, or a folder that cannot be written, parses to
    memory. A line that cannot be read raises a `DataError` with the file and the line.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "tiny.txt")
    ...     _ = file.write_text("2 qid:a 1:4 2:1\\n0 qid:a 1:2 # missing features are 0\\n1 qid:b 2:5\\n")
    ...     data = read_letor(file, cache=False)
    >>> data.n_queries, data.query(0).features.tolist(), data.relevance(0).tolist()
    (2, [[1.0, 1.0], [0.0, 0.0]], [2, 0])

    Qin and Liu, "Introducing LETOR 4.0 datasets", 2013, describe the format.
    """
    source = as_path("path", path, "a text file of ranking data")
    if n_features is not None:
        check_count("n_features", n_features)
    if scale is not None:
        check_choice("scale", scale, (BY_QUERY,))
    if not isinstance(cache, bool):
        raise ArgumentError("cache", repr(cache), "True or False", "The folder comes from $FAIREXP_CACHE.")
    if not source.is_file():
        kind = "is a folder" if source.is_dir() else "no such file"
        raise DataError(source, f"{kind}, expected a text file of ranking data. Check the path.")
    entry = _cached(source, n_features, scale) if cache else None
    if entry is None:
        return _in_memory(source, n_features, scale)
    return Dataset(
        features=entry.features,
        grades=entry.grades,
        offsets=entry.offsets,
        query_ids=entry.query_ids,
        name=_name(source),
        raw=entry.raw,
        scaling=scale or UNSCALED,
    )


def first_width(path: Path) -> int:
    """The largest feature id in the first lines of a file, as many as come in one block; 0 where it has none."""
    from fairexp.kernels.data.letor import largest_id
    from fairexp.lab.data.letor.blocks import line_blocks

    return max(0, int(largest_id(next(iter(line_blocks(path, n_bytes=1 << 18)), np.zeros(0, dtype=np.uint8)))))


def _cached(source: Path, n_features: int | None, scale: str | None) -> cached.Entry | None:
    """The data through the cache; None where the cache cannot be used."""
    key: dict[str, Any] = cached.identity(source, n_features=n_features, scale=scale)
    found = cached.open_entry(key)
    if found is not None:
        return found
    from fairexp.lab.data.letor.layout import build
    from fairexp.lab.data.letor.rows import FolderRows

    try:
        folder = cached.begin_entry(key)
    except OSError:
        return None
    store = FolderRows(folder)
    try:
        layout = build(source, store, n_features=n_features, scale=scale is not None)
        store.close()
        cached.finish_entry(folder, key, **vars(layout))
    except OSError:  # the disk is full, for one; trouble with the source itself is a DataError
        return None
    finally:
        store.close()
        cached.discard(folder)
    return cached.open_entry(key)


def _in_memory(source: Path, n_features: int | None, scale: str | None) -> Dataset:
    from fairexp.lab.data.letor.layout import build
    from fairexp.lab.data.letor.rows import MemoryRows

    store = MemoryRows()
    layout = build(source, store, n_features=n_features, scale=scale is not None)
    shape = (len(layout.grades), layout.n_features)
    return Dataset(
        features=store.whole("features").reshape(shape),
        grades=layout.grades,
        offsets=layout.offsets,
        query_ids=layout.query_ids,
        name=_name(source),
        raw=None if scale is None else store.whole("raw").reshape(shape),
        scaling=scale or UNSCALED,
    )


def _name(source: Path) -> str:
    """The file's name without what says how it is stored."""
    stem = plain_name(source).removesuffix(".txt").removesuffix(".dat")
    return stem or source.name
