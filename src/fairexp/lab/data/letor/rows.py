"""Where parsed blocks go: files of a folder, or memory. Both grow by appending and end as one array each."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float32]


class RowStore(Protocol):
    """Named float32 sequences that grow by appending."""

    def append(self, name: str, block: Values) -> None: ...
    def rename(self, old: str, new: str) -> None: ...
    def drop(self, name: str) -> None: ...
    def read(self, name: str, start: int, stop: int) -> Values:
        """A writable copy of the values start:stop."""
        ...

    def whole(self, name: str) -> Values:
        """All values as one flat array; nothing may be appended afterwards."""
        ...


class MemoryRows:
    """Keeps each sequence in one array that is grown in place by an eighth at a time."""

    def __init__(self) -> None:
        self._arrays: dict[str, Values] = {}
        self._filled: dict[str, int] = {}

    def append(self, name: str, block: Values) -> None:
        array = self._arrays.setdefault(name, np.empty(0, dtype=np.float32))
        start = self._filled.get(name, 0)
        stop = start + block.size
        if stop > len(array):
            # Large arrays are moved by remapping pages, not by copying; nobody holds a view before whole().
            array.resize(max(stop, len(array) * 9 // 8), refcheck=False)
        array[start:stop] = block.ravel()
        self._filled[name] = stop

    def rename(self, old: str, new: str) -> None:
        self._arrays[new] = self.whole(old)
        self._filled[new] = self._filled.pop(old, 0)
        self.drop(old)

    def drop(self, name: str) -> None:
        self._arrays.pop(name, None)
        self._filled.pop(name, None)

    def read(self, name: str, start: int, stop: int) -> Values:
        return self._arrays[name][start:stop].copy()

    def whole(self, name: str) -> Values:
        array = self._arrays.setdefault(name, np.empty(0, dtype=np.float32))
        if len(array) > self._filled.get(name, 0):
            array.resize(self._filled[name], refcheck=False)
        return array


class FolderRows:
    """Appends to files `<name>.f32` of a folder, so that memory holds a block at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, BinaryIO] = {}

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.f32"

    def append(self, name: str, block: Values) -> None:
        if name not in self._files:
            self._files[name] = self.path(name).open("w+b")
        self._files[name].write(np.ascontiguousarray(block).data)

    def rename(self, old: str, new: str) -> None:
        if old in self._files:
            self.path(old).rename(self.path(new))
            self._files[new] = self._files.pop(old)

    def drop(self, name: str) -> None:
        if name in self._files:
            self._files.pop(name).close()
            self.path(name).unlink()

    def read(self, name: str, start: int, stop: int) -> Values:
        file = self._files[name]
        file.flush()
        with self.path(name).open("rb") as reader:
            reader.seek(4 * start)
            return np.fromfile(reader, dtype=np.float32, count=stop - start)

    def whole(self, name: str) -> Values:
        if name not in self._files:
            return np.empty(0, dtype=np.float32)
        self._files[name].flush()
        return np.memmap(self.path(name), dtype=np.float32, mode="r")

    def close(self) -> None:
        """Close every file; the folder is then ready to be moved."""
        for file in self._files.values():
            file.close()
        self._files.clear()
