"""Data that several processes work on, held in memory once: saved by one, mapped by the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairexp.data import Dataset
from fairexp.simulation.settings import DataSettings, Settings

ARRAYS = ("features", "grades", "offsets", "groups", "raw", "raw_rows")
_Parts = tuple[Dataset | None, ...]


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


Shared = dict[tuple[DataSettings, bool], tuple[SharedDataset | None, ...]]
"""For each kind of data, and whether validation queries are held back: train, heldout (and validation) parts."""

_opened: dict[tuple[DataSettings, bool], _Parts] = {}


@dataclass(frozen=True)
class SharedData(DataSettings):
    """Settings of data that `adopt` has made known to this process; the same fields, but nothing is read or made."""

    def load(self) -> tuple[Dataset, Dataset | None]:
        return _opened[_plain(self), False]  # type: ignore[return-value]

    def load_parts(self, *, validation: bool = True) -> tuple[Dataset, Dataset, Dataset | None]:
        return _opened[_plain(self), validation]  # type: ignore[return-value]


def share(runs: Iterable[Settings], folder: Path) -> Shared:
    """Load the data of all `runs`, each kind once, and put it into files of `folder` that processes can map.

    Arrays that are mapped from files already stay where they are.
    """
    shared: Shared = {}
    for settings in runs:
        kind = settings.data, settings.validate
        if kind not in shared:
            parts: _Parts = settings.data.load_parts() if settings.validate else settings.data.load()
            place = folder / str(len(shared))
            saved = (None if part is None else _save(part, place / str(i)) for i, part in enumerate(parts))
            shared[kind] = tuple(saved)
    return shared


def adopt(shared: Shared) -> None:
    """Map what `share` saved, for settings that `with_shared_data` returned."""
    for kind, parts in shared.items():
        _opened[kind] = tuple(None if part is None else part.open() for part in parts)


def with_shared_data(settings: Settings) -> Settings:
    """The same run on the data that its process has adopted."""
    return replace(settings, data=SharedData(**_values(settings.data)))


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


def _plain(data: DataSettings) -> DataSettings:
    return DataSettings(**_values(data))


def _values(data: DataSettings) -> dict[str, Any]:
    return {field.name: getattr(data, field.name) for field in fields(data)}
