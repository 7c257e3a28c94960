"""Comparing states and measuring how much a ranker holds."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from fairexp.arrays import State


def first_difference(state: State, other: State) -> str | None:
    """The name of the first entry in which two states differ by a single bit, or None.

    >>> first_difference({"a": np.array(0.0)}, {"a": np.array(-0.0)})
    'a'
    """
    for key in sorted(state.keys() | other.keys()):
        if key not in state or key not in other:
            return key
        one, two = np.asarray(state[key]), np.asarray(other[key])
        if one.dtype != two.dtype or one.shape != two.shape or one.tobytes() != two.tobytes():
            return key
    return None


def copy_of(state: State) -> State:
    """A state whose arrays nobody else holds."""
    return {key: np.array(value) for key, value in state.items()}


def size_of(thing: object, seen: set[int] | None = None) -> int:
    """Roughly the bytes that `thing` keeps alive: arrays by their size, everything else by counting.

    >>> size_of({"a": np.zeros(10)}) - size_of({"a": np.zeros(0)})
    80
    """
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, type):
        return 0
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return int(thing.nbytes)
    if isinstance(thing, str | bytes | bytearray):
        return len(thing)
    if isinstance(thing, Mapping):
        return 8 + sum(size_of(key, seen) + size_of(value, seen) for key, value in thing.items())
    if isinstance(thing, Collection):
        return 8 + sum(8 + size_of(item, seen) for item in thing)
    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    names = [*getattr(thing, "__dict__", ()), *slots]
    return 8 + sum(size_of(getattr(thing, name), seen) for name in names if hasattr(thing, name))
