"""The one source of randomness of a ranker or a user: a counter-based generator, saved as plain arrays."""

from __future__ import annotations

from reprlib import repr as short_repr
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import State
from fairexp.errors import ArgumentError

Seed = int | np.random.SeedSequence | None


def check_seed(seed: Seed) -> Seed:
    """`seed` if random numbers can come from it, or an `ArgumentError`."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer | np.random.SeedSequence | None):
        raise ArgumentError("seed", short_repr(seed), "a whole number, a numpy SeedSequence, or None")
    if isinstance(seed, int | np.integer) and seed < 0:
        raise ArgumentError("seed", seed, "a whole number of at least 0")
    return seed


def make_rng(seed: Seed) -> np.random.Generator:
    """A Philox generator: its state is a handful of integers, and streams of different seeds are independent."""
    return np.random.Generator(np.random.Philox(check_seed(seed)))


def stream_of(seed: int | np.random.SeedSequence, number: int) -> np.random.SeedSequence:
    """The seed of a stream of its own, known by `number`, which leaves that of `seed` itself as it is."""
    checked = check_seed(seed)
    root = checked if isinstance(checked, np.random.SeedSequence) else np.random.SeedSequence(checked)
    return np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, number))


class Stream:
    """Random numbers by number of occasion: what `at(t)` draws depends on the seed and t alone.

    So a ranker that is rebuilt from what it showed and learned goes on exactly as it would have, without its random
    numbers having been stored.

    >>> stream = Stream(7)
    >>> first = stream.at(0).random()
    >>> stream.at(1).random() != first == stream.at(0).random()
    True
    """

    def __init__(self, seed: Seed) -> None:
        self._rng = make_rng(seed)
        self._origin: dict[str, Any] = dict(self._rng.bit_generator.state)
        self._origin["state"]["counter"][:] = 0
        self._origin["buffer_pos"], self._origin["has_uint32"] = 4, 0

    def at(self, number: int) -> np.random.Generator:
        """The generator, set to the start of occasion `number`; the one before must be done with."""
        # Each occasion has 2^64 blocks of four numbers to itself.
        self._origin["state"]["counter"][1] = number
        self._rng.bit_generator.state = self._origin
        return self._rng

    @property
    def key(self) -> NDArray[np.uint64]:
        """What identifies the stream (2,)."""
        return np.array(self._origin["state"]["key"], dtype=np.uint64)

    @key.setter
    def key(self, key: NDArray[np.uint64]) -> None:
        self._origin["state"]["key"][:] = key


def rng_state(rng: np.random.Generator) -> State:
    """The generator's state as arrays."""
    state: Any = rng.bit_generator.state
    scalars = [state["buffer_pos"], state["has_uint32"], state["uinteger"]]
    return {
        "counter": state["state"]["counter"].copy(),
        "key": state["state"]["key"].copy(),
        "buffer": state["buffer"].copy(),
        "scalars": np.array(scalars, dtype=np.uint64),
    }


def restore_rng(rng: np.random.Generator, arrays: State) -> None:
    """Set the generator to a state that `rng_state` returned."""
    position, has_uint32, uinteger = (int(x) for x in arrays["scalars"])
    rng.bit_generator.state = {
        "bit_generator": "Philox",
        "state": {
            "counter": np.asarray(arrays["counter"], dtype=np.uint64),
            "key": np.asarray(arrays["key"], dtype=np.uint64),
        },
        "buffer": np.asarray(arrays["buffer"], dtype=np.uint64),
        "buffer_pos": position,
        "has_uint32": has_uint32,
        "uinteger": uinteger,
    }
