"""Named arrays and a little JSON as one piece of bytes: the form of log entries and snapshots. Never pickle."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from fairexp.arrays import State
from fairexp.service.problems import CorruptRecordError

MAGIC = b"FX1\x00"
_HEAD = struct.Struct("<4sI")
_KINDS = "biufSU"


def pack(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[np.generic]]) -> bytes:
    """`meta` (plain JSON) and `arrays` as bytes; `unpack` returns both bit for bit.

    >>> meta, arrays = unpack(pack({"a": 1}, {"x": np.arange(3)}))
    >>> meta, arrays["x"]
    ({'a': 1}, array([0, 1, 2]))
    """
    shapes, pieces = [], []
    for name, array in arrays.items():
        value = np.asarray(array)
        if value.dtype.kind not in _KINDS:
            raise TypeError(f"arrays: {name!r} is of dtype {value.dtype}, expected numbers, booleans or text")
        shapes.append([name, value.dtype.str, list(value.shape)])
        pieces.append(value.tobytes())
    header = orjson.dumps({"meta": meta, "arrays": shapes})
    return b"".join([_HEAD.pack(MAGIC, len(header)), header, *pieces])


def unpack(data: bytes | memoryview) -> tuple[dict[str, Any], State]:
    """What `pack` was given; a `CorruptRecordError` if the bytes are not whole."""
    view = memoryview(data)
    try:
        magic, length = _HEAD.unpack_from(view)
        if magic != MAGIC:
            raise ValueError("does not start as a record does")
        start = _HEAD.size + length
        header = orjson.loads(view[_HEAD.size : start])
        arrays: State = {}
        for name, kind, shape in header["arrays"]:
            dtype = np.dtype(kind)
            if dtype.kind not in _KINDS:
                raise ValueError(f"array {name!r} has dtype {kind}")
            end = start + dtype.itemsize * int(np.prod(shape, dtype=np.int64))
            if end > len(view):
                raise ValueError(f"array {name!r} is cut short")
            arrays[name] = np.frombuffer(view[start:end], dtype=dtype).reshape(shape)
            start = end
        if start != len(view):
            raise ValueError(f"{len(view) - start} bytes too many")
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise CorruptRecordError(f"record of {len(view)} bytes: {error}") from error
    return header["meta"], arrays
