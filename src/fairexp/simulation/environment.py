"""Rankers by name for a simulated world: `fairexp.registry`, with what such a world knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairexp.arrays import Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.prior import Prior, read_learned
from fairexp.randomness import Seed
from fairexp.rankers.base import Ranker
from fairexp.registry import FAIR, NAMES, construct, keeps_account, parameters_of, ranker_class, ranker_names

__all__ = [
    "DEFAULTS",
    "FAIR",
    "NAMES",
    "Environment",
    "parameters_of",
    "ranker_class",
    "ranker_for",
    "ranker_names",
]

NO_GROUPS = "Say how documents are grouped: --group RULE, or a column of groups in a table."
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
