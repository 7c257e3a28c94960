"""A belief to start from: weights by feature, and how many observations they are worth."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats
from fairexp.errors import ArgumentError, DataError, did_you_mean
from fairexp.validation import MAX_FEATURE, check_choice, check_number

EVEN_SPREAD = 1.0 / 6.0
"""The mean squared difference of two numbers drawn evenly from [0, 1], to which features are brought by default."""

UNITS = {
    "none": "log-odds of a preference per unit of the feature",
    "query": "log-odds of a preference per range of the feature in its query",
}
"""What weights count, by how the features are scaled that they were learned from."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Prior:
    """What a ranker believes before its first click: `weights` (d,), worth `strength` observed pairs of documents.

    A difference of 1 in score says that the odds of preferring one document to the other are e to 1. `spread` (d,) is
    the mean squared difference of each feature between the two documents of a typical pair; a number stands for all
    features. Pairs that differ so tell strength x spread of each feature, which is what counts as seen.
    `feature_names` (d,) and their `scaling` ("none", or "query": each feature by its range in each query) are None
    where nobody says; `for_features` compares them with the data.

    >>> Prior([2.0, 0.0], strength=60).seen
    array([10., 10.])
    """

    weights: Floats
    strength: float
    spread: Floats
    feature_names: tuple[str, ...] | None
    scaling: str | None

    def __init__(
        self,
        weights: ArrayLike,
        *,
        strength: float,
        spread: ArrayLike = EVEN_SPREAD,
        feature_names: Sequence[str] | None = None,
        scaling: str | None = None,
    ) -> None:
        given = _as_numbers("prior.weights", weights)
        if given.ndim != 1 or not given.size:
            raise ArgumentError("prior.weights", f"shape {given.shape}", "numbers, one per feature")
        spreads = _as_numbers("prior.spread", spread)
        if spreads.shape not in ((), given.shape) or not (spreads >= 0.0).all():
            raise ArgumentError("prior.spread", repr(spread), f"a number of at least 0, or {len(given)} of them")
        names = None if feature_names is None else tuple(feature_names)
        if names is not None and (len(names) != len(given) or len(set(names)) < len(names)):
            expected = f"{len(given)} names that differ, one per weight"
            raise ArgumentError("prior.feature_names", f"{len(names)} names", expected)
        if scaling is not None:
            check_choice("prior.scaling", scaling, tuple(UNITS))
        object.__setattr__(self, "feature_names", names)
        object.__setattr__(self, "scaling", scaling)
        object.__setattr__(self, "weights", given)
        object.__setattr__(self, "strength", check_number("prior.strength", strength, at_least=0.0))
        object.__setattr__(self, "spread", np.broadcast_to(spreads, given.shape).astype(np.float64))

    def __repr__(self) -> str:
        return f"Prior({len(self.weights)} weights, strength={self.strength:g})"

    def for_features(self, names: Sequence[str], *, scaling: str | None) -> Prior:
        """This prior with its weights in the order of the features called `names`, which have this `scaling`.

        What the prior does not know of itself is taken to fit, and so is an unknown `scaling` of the features (None).

        Raises:
            ArgumentError: a feature is missing or is one too many, or the features were scaled otherwise.

        >>> prior = Prior([2.0, 0.5], strength=9, feature_names=["price", "age"])
        >>> prior.for_features(["age", "price"], scaling=None).weights
        array([0.5, 2. ])
        """
        self.check_scaling(scaling)
        own = self.feature_names
        if own is None or own == tuple(names):
            return self
        lacking = [name for name in names if name not in own]
        extra = [name for name in own if name not in names]
        if lacking or extra:
            name = (lacking or extra)[0]
            given = f"one without {name!r}" if lacking else f"one with {name!r}, which the data do not have"
            raise ArgumentError(
                "prior", given, "the features of the data", did_you_mean(name, own if lacking else names)
            )
        order = [own.index(name) for name in names]
        return Prior(
            self.weights[order],
            strength=self.strength,
            spread=self.spread[order],
            feature_names=names,
            scaling=self.scaling,
        )

    def check_scaling(self, scaling: str | None) -> None:
        """Raise an `ArgumentError` if the weights are known to be for features of another `scaling`."""
        if scaling is not None and self.scaling is not None and self.scaling != scaling:
            raise ArgumentError(
                "prior",
                f"weights learned with scaling {self.scaling!r} ({UNITS[self.scaling]})",
                f"weights for features with scaling {scaling!r} ({UNITS[scaling]})",
                f"Learn it again: fairexp learn --scaling {scaling}.",
            )

    def in_unit(self, unit: float) -> Prior:
        """The same belief about features that are divided by `unit`."""
        return Prior(
            self.weights * unit,
            strength=self.strength,
            spread=self.spread / unit**2,
            feature_names=self.feature_names,
            scaling=self.scaling,
        )

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
    """What `fairexp learn` wrote: a prior with names and scaling, and the exposure by position if there was one."""

    prior: Prior
    exposure: list[float] | None


def read_learned(path: Path) -> LearnedFile:
    """The contents of a file that `fairexp learn` wrote."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        prior = Prior(
            record["weights"],
            strength=record["strength"],
            spread=record["spread"],
            feature_names=[str(name) for name in record["features"]],
            scaling=check_choice("scaling", record["scaling"], tuple(UNITS)),
        )
        return LearnedFile(prior, record["exposure"])
    except (FileNotFoundError, IsADirectoryError):
        raise ArgumentError(
            "prior", f"{str(path)!r}, which does not exist", "a file that `fairexp learn` wrote"
        ) from None
    except KeyError as error:
        raise DataError(path, f"has no {error}; expected a file that `fairexp learn` wrote. Learn it again.") from error
    except (TypeError, ValueError) as error:
        raise DataError(path, f"expected a file that `fairexp learn` wrote ({error})") from error


def _as_numbers(name: str, given: ArrayLike) -> Floats:
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(name, repr(given), "finite numbers") from None
    if not (np.abs(numbers) <= MAX_FEATURE).all():
        raise ArgumentError(name, repr(given), "finite numbers")
    return numbers
