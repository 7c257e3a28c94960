"""Reading a text file, compressed or not, in blocks of whole lines."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairexp.errors import DataError

BLOCK_BYTES = 1 << 22
_MARK = b"\xef\xbb\xbf"  # UTF-8 byte order mark, which some editors put first
_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"


def line_blocks(path: Path, *, n_bytes: int = BLOCK_BYTES) -> Iterator[NDArray[np.uint8]]:
    """Blocks (n,) of whole lines, each ending with a newline; a block is valid until the next one is asked for.

    What the file is compressed with (gzip, xz, zstd or nothing) is seen from its first bytes, not from its name.
    """
    try:
        with _open(path) as stream:
            yield from _split(stream, n_bytes)
    except (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
        if not path.exists():
            raise DataError(path, "no such file. Check the path.") from error
        if path.is_dir():
            raise DataError(path, "is a folder, expected a text file of ranking data.") from error
        raise DataError(path, f"cannot be read ({error}). Is it complete?") from error


def _open(path: Path) -> Any:
    with path.open("rb") as file:
        start = file.read(6)
    if start.startswith(_GZIP):
        return gzip.open(path)
    if start.startswith(_XZ):
        return lzma.open(path)
    if start.startswith(_ZSTD):
        import pyarrow

        return pyarrow.CompressedInputStream(pyarrow.OSFile(str(path)), "zstd")
    return path.open("rb", buffering=0)


def _split(stream: Any, n_bytes: int) -> Iterator[NDArray[np.uint8]]:
    buffer = np.empty(n_bytes + 1, dtype=np.uint8)  # one spare byte for a last newline that is missing
    filled, is_first = 0, True
    while True:
        n_read = stream.readinto(buffer.data[filled:-1])
        filled += n_read
        if n_read and filled < len(buffer) - 1:
            continue
        if is_first and buffer[: len(_MARK)].tobytes() == _MARK:
            buffer[: len(_MARK)] = ord(" ")
        is_first = False
        if not n_read and filled and buffer[filled - 1] != ord("\n"):
            buffer[filled] = ord("\n")
            filled += 1
        end = _after_last_newline(buffer[:filled])
        if end:
            yield buffer[:end]
            buffer[: filled - end] = buffer[end:filled].copy()
            filled -= end
        elif n_read:  # one line is longer than the buffer
            buffer = np.concatenate([buffer[:filled], np.empty(filled + 1, dtype=np.uint8)])
        if not n_read:
            return


def _after_last_newline(text: NDArray[np.uint8]) -> int:
    """The position after the last newline, 0 if there is none; looks from the end, where it nearly always is."""
    step = 1 << 16
    for stop in range(len(text), 0, -step):
        start = max(0, stop - step)
        found = np.flatnonzero(text[start:stop] == ord("\n"))
        if len(found):
            return start + int(found[-1]) + 1
    return 0
