"""A belief to start from: weights by feature, and how many observations they are worth."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats
from fairexp.errors import ArgumentError, DataError
from fairexp.validation import MAX_FEATURE, check_number

EVEN_SPREAD = 1.0 / 6.0
"""The mean squared difference of two numbers drawn evenly from [0, 1], to which features are brought by default."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Prior:
    """What a ranker believes before its first click: `weights` (d,), worth `strength` observed pairs of documents.

    A difference of 1 in score says that the odds of preferring one document to the other are e to 1. `spread` (d,) is
    the mean squared difference of each feature between the two documents of a typical pair; a number stands for all
    features. Pairs that differ so tell strength x spread of each feature, which is what counts as seen.

    >>> Prior([2.0, 0.0], strength=60).seen
    array([10., 10.])
    """

    weights: Floats
    strength: float
    spread: Floats

    def __init__(self, weights: ArrayLike, *, strength: float, spread: ArrayLike = EVEN_SPREAD) -> None:
        given = _as_numbers("prior.weights", weights)
        if given.ndim != 1 or not given.size:
            raise ArgumentError("prior.weights", f"shape {given.shape}", "numbers, one per feature")
        spreads = _as_numbers("prior.spread", spread)
        if spreads.shape not in ((), given.shape) or not (spreads >= 0.0).all():
            raise ArgumentError("prior.spread", repr(spread), f"a number of at least 0, or {len(given)} of them")
        object.__setattr__(self, "weights", given)
        object.__setattr__(self, "strength", check_number("prior.strength", strength, at_least=0.0))
        object.__setattr__(self, "spread", np.broadcast_to(spreads, given.shape).astype(np.float64))

    def __repr__(self) -> str:
        return f"Prior({len(self.weights)} weights, strength={self.strength:g})"

    @property
    def seen(self) -> Floats:
        """What `strength` pairs add to the diagonal (d,) of M, the sum of the products of their differences."""
        return self.strength * self.spread

    @property
    def curvature(self) -> Floats:
        """What they add to the diagonal (d,) of the logistic loss's curvature at `weights`.

        A pair adds sigma'(z) times its product, where z is its difference in score. With z normal of variance v, the
        mean of sigma'(z) is about 1 / (4 sqrt(1 + pi v / 8)). Along the weights themselves pairs tell somewhat less.
        """
        variance = float(self.spread @ np.square(self.weights))
        return np.asarray(self.seen / (4.0 * np.sqrt(1.0 + np.pi * variance / 8.0)))


def as_prior(prior: Prior | str | Path | None, *, n_features: int) -> Prior | None:
    """`prior` as a `Prior` for so many features, read from the file where it is one that `fairexp learn` wrote."""
    if prior is None:
        return None
    if isinstance(prior, str | Path):
        prior = read_learned(Path(prior)).prior
    if not isinstance(prior, Prior):
        raise ArgumentError("prior", type(prior).__name__, "a fairexp.Prior, or a file that `fairexp learn` wrote")
    if len(prior.weights) != n_features:
        raise ArgumentError("prior", f"{len(prior.weights)} weights", f"{n_features}, one per feature")
    return prior


@dataclass(frozen=True, slots=True, eq=False)
class LearnedFile:
    """What `fairexp learn` wrote: a prior, the names of its features, and the exposure by position if there was one."""

    prior: Prior
    names: tuple[str, ...]
    exposure: list[float] | None


def read_learned(path: Path) -> LearnedFile:
    """The contents of a file that `fairexp learn` wrote."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        prior = Prior(record["weights"], strength=record["strength"], spread=record["spread"])
        names, exposure = tuple(str(name) for name in record["features"]), record["exposure"]
    except FileNotFoundError:
        raise ArgumentError(
            "prior", f"{str(path)!r}, which does not exist", "a file that `fairexp learn` wrote"
        ) from None
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(path, "expected a file that `fairexp learn` wrote") from error
    if len(names) != len(prior.weights):
        raise DataError(path, f"holds {len(names)} features and {len(prior.weights)} weights; expected as many")
    return LearnedFile(prior, names, exposure)


def _as_numbers(name: str, given: ArrayLike) -> Floats:
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(name, repr(given), "finite numbers") from None
    if not (np.abs(numbers) <= MAX_FEATURE).all():
        raise ArgumentError(name, repr(given), "finite numbers")
    return numbers
