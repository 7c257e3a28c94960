"""What rankers are told of where they serve, and what they are measured by there: their own targets unless given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.fairness.exposure import curve_name, exposure_curve
from fairexp.lab.data import Dataset
from fairexp.lab.simulation.settings import EQUAL, NO_GROUPS, shares_of
from fairexp.prior import Prior, read_learned
from fairexp.randomness import Seed
from fairexp.ranker import Ranker
from fairexp.rankers import FAIR, RANKERS
from fairexp.registry import construct, keeps_account, parameters_of, ranker_class, ranker_names

__all__ = [
    "DEFAULTS",
    "FAIR",
    "RANKERS",
    "Environment",
    "Targets",
    "parameters_of",
    "ranker_class",
    "ranker_for",
    "ranker_names",
    "targets_of",
]

RECIPROCAL = "reciprocal"
ONE_PLACE = "Leave it out, or build the ranker with the same: a tolerance holds only by the ranker's own targets."

DEFAULTS = {"tolerance": 0.1}
"""What a parameter without a default of its own gets."""


@dataclass(frozen=True, slots=True, eq=False)
class Environment:
    """What a ranker is told about where it serves; it takes from this what its constructor asks for by name.

    `shares` (G,) are what the groups are owed, or None without groups; `exposure` (length,) by position; `grades`
    returns the true grades by query id, for an oracle. A prior must be for features of these `feature_names` and this
    `scaling`, where they are known.
    """

    n_features: int
    length: int
    exposure: Floats
    shares: Floats | None
    grades: Callable[[], Mapping[str | int, Ints]]
    seed: Seed = None
    feature_names: tuple[str, ...] | None = None
    scaling: str | None = None

    def known(self) -> dict[str, Any]:
        """Constructor arguments by name."""
        known: dict[str, Any] = {
            **DEFAULTS,
            "n_features": self.n_features,
            "length": self.length,
            "exposure": self.exposure,
            "seed": self.seed,
        }
        if self.shares is not None:
            known.update(shares=self.shares, merit=self.shares, n_groups=len(self.shares))
        return known


def ranker_for(name: str, environment: Environment, parameters: Mapping[str, Any] | None = None) -> Ranker:
    """The ranker called `name`, e.g. "pairrank", "fairexp-pairrank" or "my.module:MyRanker"."""
    given, known = dict(parameters or {}), environment.known()
    accepted = parameters_of(name)
    if keeps_account(name) and environment.shares is None:
        raise ArgumentError("group", "none", f"groups, which {name} keeps fair", NO_GROUPS)
    prior = given.get("prior")
    if isinstance(prior, Prior | str | Path) and ":" not in name:
        whole = read_learned(Path(prior)).prior if not isinstance(prior, Prior) else prior
        names = environment.feature_names
        given["prior"] = whole if names is None else whole.for_features(names, scaling=environment.scaling)
    if "beta" in given or "shares" in given:
        known.pop("shares", None)
    if "grades" in accepted and "grades" not in given:
        known["grades"] = environment.grades()
    return construct(name, given, known=known)


class Targets(NamedTuple):
    """The `exposure` (k,) by position, and the `shares` (G,) of the groups; None where documents have no groups."""

    exposure: Floats
    shares: Floats | None


def targets_of(
    ranker: Ranker,
    train: Dataset,
    *,
    exposure: str | Path | ArrayLike | None = None,
    shares: str | ArrayLike | None = None,
) -> Targets:
    """What a run of `ranker` on `train` is measured by.

    Args:
        exposure: A curve as in `exposure_curve`. Default: the ranker's own; for one that has none, "reciprocal".
        shares: A rule of `SHARES`, or a number per group. Default: the ranker's own; for one that is not fair to
            groups, "equal".

    Raises:
        ArgumentError: What is given contradicts what the ranker was built with, or the ranker learns its shares and
            none are given.
    """
    return Targets(_exposure(ranker, exposure), _shares(ranker, train, shares))


def _exposure(ranker: Ranker, given: str | Path | ArrayLike | None) -> Floats:
    own = ranker.exposure
    if given is None:
        return exposure_curve(RECIPROCAL, ranker.length) if own is None else own
    curve = exposure_curve(given, ranker.length)
    if own is not None and not np.allclose(curve, own, rtol=1e-9, atol=0.0):
        expected = f"{_curve_text(own)}, which the ranker was built with"
        raise ArgumentError("exposure", _curve_text(curve), expected, ONE_PLACE)
    return curve


def _shares(ranker: Ranker, train: Dataset, given: str | ArrayLike | None) -> Floats | None:
    own = ranker.target_shares()
    if given is None:
        if own is not None and train.groups is not None:
            return shares_of(own, train)
        if ranker.keeps_account and train.groups is not None:
            told = f"what the groups are owed: this {type(ranker).__name__} learns it, and has no shares to measure by"
            raise ArgumentError("shares", "nothing", told, "Pass shares='equal', or a number per group.")
        return shares_of(EQUAL, train)
    shares = shares_of(given, train)
    if own is None or shares is None:
        return shares
    if own.shape != shares.shape or not np.allclose(shares / shares.sum(), own / own.sum(), rtol=1e-9, atol=0.0):
        expected = f"{_shares_text(own)}, which the ranker was built with"
        raise ArgumentError("shares", _shares_text(shares), expected, ONE_PLACE)
    return shares


def _curve_text(curve: Floats) -> str:
    """A curve's name, or its numbers.

    >>> _curve_text(np.array([1.0, 0.5])), _curve_text(np.array([1.0, 0.3]))
    ("'reciprocal'", '[1, 0.3]')
    """
    name = curve_name(curve)
    return repr(name) if isinstance(name, str) else f"[{', '.join(f'{number:.3g}' for number in curve)}]"


def _shares_text(shares: Floats) -> str:
    """Shares as parts of all exposure.

    >>> _shares_text(np.array([2.0, 1.0, 1.0]))
    '0.5 : 0.25 : 0.25'
    """
    return " : ".join(f"{part:.3g}" for part in shares / shares.sum())
