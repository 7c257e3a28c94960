"""Names for the array types that every part speaks of, and ids as arrays."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
State = dict[str, NDArray[np.generic]]
Id = str | int


def written_ids(ids: Iterable[Id]) -> NDArray[np.str_]:
    """Ids as texts that say which of them are numbers; the mark at the end keeps what arrays strip there.

    >>> written_ids(["a", 7])
    array(['ta.', 'n7.'], dtype='<U3')
    """
    texts = [f"{'t' if isinstance(each, str) else 'n'}{each}." for each in ids]
    return np.array(texts, dtype=np.str_) if texts else np.zeros(0, dtype="U1")


def read_ids(texts: NDArray[np.generic]) -> list[Id]:
    """The ids that `written_ids` wrote."""
    return [text[1:-1] if text[0] == "t" else int(text[1:-1]) for text in texts.tolist()]


def fits_records(value: NDArray[np.generic], expected: NDArray[np.generic]) -> bool:
    """Whether a saved array may take the place of `expected`: as many records as there are, texts of any length."""
    return value.shape[1:] == expected.shape[1:] and value.dtype.kind == expected.dtype.kind
