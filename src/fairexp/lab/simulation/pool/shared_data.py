"""Data that several processes work on, held in memory once: saved by one, mapped by the others."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fairexp.lab.data import Dataset
from fairexp.lab.simulation.settings import DataSettings, Parts, RunSettings, loaded_parts

_PREFIX = "fairexp-runs-"
ARRAYS = ("features", "grades", "offsets", "groups", "raw", "raw_rows")


class Mapped(NamedTuple):
    """Where an array lies: enough for any process to map it."""

    path: str
    offset: int
    dtype: str
    shape: tuple[int, ...]

    def open(self) -> NDArray[Any]:
        return np.memmap(self.path, mode="r", offset=self.offset, dtype=self.dtype, shape=self.shape)


class SharedDataset(NamedTuple):
    """A data set whose arrays are files; the `rest` is what else it holds."""

    arrays: dict[str, Mapped]
    rest: dict[str, Any]

    def open(self) -> Dataset:
        """The data set, its arrays memory-mapped: processes that open it share the pages."""
        arrays: dict[str, Any] = {name: mapped.open() for name, mapped in self.arrays.items()}
        return Dataset(**arrays, **self.rest)


DataKind = tuple[DataSettings, bool]
"""Which data, and whether validation queries are held back."""
Shared = dict[DataKind, tuple[SharedDataset | None, ...]]
"""The parts of each kind of data: to serve from, to evaluate on, to choose parameters on."""


class SharedData:
    """Data of runs, each kind loaded once, in a folder that lasts as long as this object (or until it is closed)."""

    def __init__(self) -> None:
        self._folder = _own_folder()
        self.close = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._shared: Shared = {}

    def of(self, runs: Iterable[RunSettings]) -> Shared:
        """All data so far and that of `runs`."""
        new = [settings for settings in runs if data_kind(settings) not in self._shared]
        if new:
            self._shared.update(share(new, self._folder / str(len(self._shared))))
        return dict(self._shared)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def share(runs: Iterable[RunSettings], folder: Path) -> Shared:
    """Load the data of all `runs`, each kind once, and put it into files of `folder` that processes can map.

    Arrays that are mapped from files already stay where they are.
    """
    shared: Shared = {}
    for kind in dict.fromkeys(map(data_kind, runs)):
        place = folder / str(len(shared))
        parts = enumerate(loaded_parts(*kind))
        shared[kind] = tuple(None if part is None else _save(part, place / str(i)) for i, part in parts)
    return shared


def open_shared(shared: Shared) -> dict[DataKind, Parts]:
    """Map what `share` saved: the parts of each kind of data, for `run(..., data=...)`."""
    opened: Any = {
        kind: tuple(None if part is None else part.open() for part in parts) for kind, parts in shared.items()
    }
    return dict(opened)


def data_kind(settings: RunSettings) -> DataKind:
    """The kind of data that a run needs."""
    return settings.data, settings.validate


def _own_folder() -> Path:
    """A new folder for shared data, named after this process; those that killed processes left behind are removed."""
    top = Path(tempfile.gettempdir())
    for left in top.glob(f"{_PREFIX}*") if os.name == "posix" else ():  # elsewhere one cannot ask without a signal
        number = left.name.removeprefix(_PREFIX).partition("-")[0]
        if number.isdigit() and not _is_alive(int(number)):
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _save(dataset: Dataset, folder: Path) -> SharedDataset:
    folder.mkdir(parents=True)
    rest = {field.name: getattr(dataset, field.name) for field in fields(dataset)}
    arrays = {name: _mapped(rest.pop(name), folder / name) for name in ARRAYS if rest[name] is not None}
    return SharedDataset(arrays, rest)


def _mapped(array: NDArray[Any], path: Path) -> Mapped:
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    if isinstance(root, np.memmap) and root.filename is not None and array.flags.c_contiguous:
        offset = root.offset + array.ctypes.data - root.ctypes.data
        return Mapped(str(root.filename), offset, array.dtype.str, array.shape)
    np.ascontiguousarray(array).tofile(path)
    return Mapped(str(path), 0, array.dtype.str, array.shape)
