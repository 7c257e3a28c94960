"""Named arrays and a little JSON as one piece of bytes: the form of log entries and snapshots. Never pickle.

Compressed by deflate (RFC 1951). Arrays lie column by column, because the values of one feature are alike, and numbers
of eight bytes by significance, because only their upper bytes are. A preset dictionary stands for what all headers say.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from fairexp.arrays import State
from fairexp.service.problems import CorruptRecordError

MAGIC = b"FX2\x00"
LEVEL = 4
BULK_LEVEL = 1
BULK_BYTES = 100_000
"""From this size on, as snapshots are, the last few percent are not worth the time."""

HUGE_BYTES = 8_000_000
"""From this size on, as snapshots of very many features are, only what is nearly empty is, as new models are: others
would have to wait for the rest."""

SAMPLE_BYTES = 50_000
EMPTY_SHARE = 0.1
"""So small compressed, what is nearly empty is written sooner than whole."""

_LENGTH = struct.Struct("<I")
_WINDOW = -13
"""Deflate without a frame; matches within 8 kB, which is about a record, so that little has to be set up for one."""
_KINDS = "biufSU"
_DICTIONARY = (
    b'[{"e":[{"i":"purchase:0","t":"purchase","p":0,"w":2.0,"a":null}],"s":"window_closed","s":"noted","c":[],"l":[]},'
    b'{"e":[{"i":"click:0","t":"click","p":0,"w":1.0,"a":null},{"i":"click:1","t":"click","p":1,"w":1.0,"a":null}],'
    b'"s":"learned","c":[0,1,2],"l":[]},[]]'
    b'[{"version":1,"generation":1,"number":100,"n":100,"regret":0,"qualified":null,"believed":false,"asked":"","took":0'
    b',"qualified":true,"believed":true,"ids":["item-1","item-2"],"accounts":[["groups",0.0,true]]},[["shown","<i4",[10]],["features","<f4",[10,136]],'
    b'["scores","<f8",[10]],["place","<i4",[10]],["c.scores","<f4",[10]],["c.block","<i4",[10]],["c.above","|u1",[10,2'
    b']],["c.below","|u1",[10,2]],["rest","<i4",[90]],["r.scores","<f4",[90]],["groups","<i2",[10]],["c.groups","<i2",['
    b'10]],["exposure","<f8",[10]],["spent.0","<f8",[2]],["m.'
)
"""Part of the form: what was packed with it is read with it only."""


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
        pieces.append(_laid_out(value))
    header = orjson.dumps([meta, shapes])
    body = b"".join([_LENGTH.pack(len(header)), header, *pieces])
    level = LEVEL if len(body) < BULK_BYTES else BULK_LEVEL if len(body) < HUGE_BYTES or _is_empty(body) else 0
    deflate = zlib.compressobj(level, zlib.DEFLATED, _WINDOW, 8, zlib.Z_DEFAULT_STRATEGY, _DICTIONARY)
    return b"".join([MAGIC, deflate.compress(body), deflate.flush()])


def _is_empty(body: bytes) -> bool:
    """Whether there is nearly nothing in it, by a sample from its middle."""
    middle = body[len(body) // 2 :][:SAMPLE_BYTES]
    return len(zlib.compress(middle, BULK_LEVEL)) < EMPTY_SHARE * len(middle)


def unpack(data: bytes | memoryview) -> tuple[dict[str, Any], State]:
    """What `pack` was given, each array in memory of its own; a `CorruptRecordError` if the bytes are not whole."""
    try:
        body = _inflated(memoryview(data))
        start = _LENGTH.size + _LENGTH.unpack_from(body)[0]
        meta, shapes = orjson.loads(body[_LENGTH.size : start])
        arrays: State = {}
        for name, kind, shape in shapes:
            dtype = np.dtype(kind)
            if dtype.kind not in _KINDS:
                raise ValueError(f"array {name!r} has dtype {kind}")
            end = start + dtype.itemsize * int(np.prod(shape, dtype=np.int64))
            if end > len(body):
                raise ValueError(f"array {name!r} is cut short")
            arrays[name] = _restored(body[start:end], dtype, shape)
            start = end
        if start != len(body):
            raise ValueError(f"{len(body) - start} bytes too many")
    except (struct.error, zlib.error, ValueError, KeyError, TypeError) as error:
        raise CorruptRecordError(f"record of {len(data)} bytes: {error}") from error
    return meta, arrays


def _inflated(data: memoryview) -> memoryview:
    if data[: len(MAGIC)] != MAGIC:
        raise ValueError("does not start as a record does")
    inflate = zlib.decompressobj(_WINDOW, _DICTIONARY)
    body = inflate.decompress(data[len(MAGIC) :])
    if not inflate.eof or inflate.unused_data:
        raise ValueError("cut short" if not inflate.eof else f"{len(inflate.unused_data)} bytes too many")
    return memoryview(body)


def _laid_out(value: NDArray[Any]) -> bytes:
    columns = value.tobytes(order="F")
    if value.dtype.itemsize != 8:
        return columns
    return np.frombuffer(columns, dtype=np.uint8).reshape(-1, 8).T.tobytes()


def _restored(piece: memoryview, dtype: np.dtype[Any], shape: list[int]) -> NDArray[Any]:
    if dtype.itemsize == 8:
        piece = memoryview(np.frombuffer(piece, dtype=np.uint8).reshape(8, -1).T.tobytes())
    return np.array(np.frombuffer(piece, dtype=dtype).reshape(shape, order="F"), order="C")
