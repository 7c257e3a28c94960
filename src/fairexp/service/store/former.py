"""Records as they were before they were compressed, for the step that brings them up to date."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import orjson

from fairexp.arrays import State
from fairexp.service.problems import CorruptRecordError

_HEAD = struct.Struct("<4sI")


def unpack_former(data: bytes) -> tuple[dict[str, Any], State]:
    """The JSON and the arrays of a record that begins with FX1; a `CorruptRecordError` if it does not."""
    magic, length = _HEAD.unpack_from(data)
    if magic != b"FX1\x00":
        raise CorruptRecordError(f"record of {len(data)} bytes: does not start as a record of that time does")
    start = _HEAD.size + length
    header = orjson.loads(data[_HEAD.size : start])
    arrays: State = {}
    for name, kind, shape in header["arrays"]:
        dtype = np.dtype(kind)
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(data, dtype=dtype, count=count, offset=start).reshape(shape).copy()
        start += dtype.itemsize * count
    return header["meta"], arrays
