"""Parsed data sets on disk, opened by memory mapping.

An entry is a folder named after the source's path and the options; its `meta.json` also holds the size and time of
change of the source, and of a file of query sizes beside it, so what changed is parsed anew in the same place. An entry
is written beside its place and moved there in one step: no reader ever sees half of it, and of two writers one wins.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairexp.arrays import Ints
from fairexp.lab.data.letor.rows import Values
from fairexp.lab.data.query_sizes import sizes_beside

FORMAT = 1
_STALE_SECONDS = 24 * 3600


@dataclass(frozen=True)
class Entry:
    """A data set as it lies on disk; `features` (N, d), `raw` (N, d) or None, and `grades` (N,) are memory-mapped."""

    features: Values
    raw: Values | None
    grades: Ints
    offsets: Ints
    query_ids: tuple[str, ...]


def cache_folder() -> Path:
    """$FAIREXP_CACHE, or else fairexp in $XDG_CACHE_HOME, or else ~/.cache/fairexp."""
    if own := os.environ.get("FAIREXP_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path("~/.cache").expanduser()) / "fairexp"


def identity(source: Path, **options: Any) -> dict[str, Any]:
    """What an entry must agree with to stand for `source` as it is now."""
    resolved = source.resolve()
    status = resolved.stat()
    sizes = sizes_beside(source)
    beside = {"sizes": [str(sizes), sizes.stat().st_size, sizes.stat().st_mtime_ns]} if sizes is not None else {}
    return {
        "format": FORMAT,
        "byteorder": sys.byteorder,
        "source": str(resolved),
        "options": options,
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        **beside,
    }


def entry_path(key: dict[str, Any]) -> Path:
    """Where the entry lies; sizes and times of change do not count, so that a new version replaces the old."""
    lasting = {name: value for name, value in key.items() if name not in ("size", "mtime_ns", "sizes")}
    digest = hashlib.sha256(json.dumps(lasting, sort_keys=True).encode()).hexdigest()[:16]
    return cache_folder() / "letor" / f"{Path(key['source']).stem}-{digest}"


def open_entry(key: dict[str, Any]) -> Entry | None:
    """The entry for `key`, or None where there is none, or one that is damaged, foreign or out of date."""
    try:
        return _open(entry_path(key), key)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _open(folder: Path, key: dict[str, Any]) -> Entry | None:
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    if meta["key"] != key:
        return None
    if any((folder / name).stat().st_size != size for name, size in meta["files"].items()):
        return None
    offsets = np.fromfile(folder / "offsets.i64", dtype=np.int64)
    query_ids = tuple((folder / "query_ids.txt").read_bytes().decode("utf-8").split("\n"))
    n, d = int(offsets[-1]), int(meta["n_features"])
    if offsets[0] != 0 or np.any(np.diff(offsets) < 1) or len(query_ids) != len(offsets) - 1:
        return None
    has_raw = "raw.f32" in meta["files"]
    return Entry(
        features=np.memmap(folder / "features.f32", dtype=np.float32, mode="r", shape=(n, d)),
        raw=np.memmap(folder / "raw.f32", dtype=np.float32, mode="r", shape=(n, d)) if has_raw else None,
        grades=np.memmap(folder / "grades.i64", dtype=np.int64, mode="r", shape=(n,)),
        offsets=offsets,
        query_ids=query_ids,
    )


def begin_entry(key: dict[str, Any]) -> Path:
    """A new empty folder beside the entry's place; raises OSError where the cache cannot be written."""
    parent = entry_path(key).parent
    parent.mkdir(parents=True, exist_ok=True)
    _sweep(parent)
    return Path(tempfile.mkdtemp(prefix=".writing-", dir=parent))


def finish_entry(
    folder: Path, key: dict[str, Any], *, grades: Ints, offsets: Ints, query_ids: tuple[str, ...], n_features: int
) -> None:
    """Complete what `begin_entry` began (the matrices are there already) and move it into its place."""
    grades.tofile(folder / "grades.i64")
    offsets.tofile(folder / "offsets.i64")
    (folder / "query_ids.txt").write_bytes("\n".join(query_ids).encode("utf-8"))
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    meta = {"key": key, "n_features": n_features, "files": sizes}
    (folder / "meta.json").write_text(json.dumps(meta, indent=1), encoding="utf-8")
    for path in folder.iterdir():  # sizes are right at once, contents only after this: a power cut must not leave zeros
        with path.open("rb") as file:
            os.fsync(file.fileno())
    place = entry_path(key)
    try:
        folder.rename(place)
    except OSError:  # the place is taken: by an old or damaged entry, or by another process that was faster
        if open_entry(key) is not None:
            discard(folder)
            return
        old = Path(tempfile.mkdtemp(prefix=".writing-", dir=place.parent))
        with contextlib.suppress(FileNotFoundError):
            place.rename(old / "old")
        discard(old)
        folder.rename(place)


def discard(folder: Path) -> None:
    """Remove a folder as far as possible."""
    shutil.rmtree(folder, ignore_errors=True)


def _sweep(parent: Path) -> None:
    """Remove what a crash left behind more than a day ago."""
    for left in parent.glob(".writing-*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                discard(left)
