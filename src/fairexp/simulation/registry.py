"""Rankers by name, with any of their parameters set by name: what the command line and experiments build from."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import fairexp
from fairexp.arrays import Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.randomness import Seed
from fairexp.rankers.base import Explorer, Ranker

NAMES = {
    "dbgd": "DBGD",
    "fairco": "FairCo",
    "fixed": "FixedScores",
    "oracle": "Oracle",
    "pairrank": "PairRank",
    "pdgd": "PDGD",
    "random": "RandomRanker",
}
FAIR = "fairexp-"
DEFAULTS = {"tolerance": 0.1}
"""What a parameter without a default of its own gets."""


@dataclass(frozen=True, slots=True, eq=False)
class Environment:
    """What a ranker is told about where it serves; it takes from this what its constructor asks for by name.

    `shares` (G,) are what the groups are owed, or None without groups; `exposure` (length,) by position; `grades`
    returns the true grades by query id, for an oracle.
    """

    n_features: int
    length: int
    exposure: Floats
    shares: Floats | None
    grades: Callable[[], Mapping[str | int, Ints]]
    seed: Seed = None

    def known(self) -> dict[str, Any]:
        """Constructor arguments by name."""
        known: dict[str, Any] = {"n_features": self.n_features, "length": self.length, "exposure": self.exposure}
        if self.shares is not None:
            known.update(shares=self.shares, merit=self.shares, n_groups=len(self.shares))
        return known


def ranker_names() -> list[str]:
    """Every name that `build_ranker` knows, hosts inside FairExp included.

    >>> ranker_names()[:4]
    ['dbgd', 'fairco', 'fairexp-fixed', 'fairexp-oracle']
    """
    hosts = [FAIR + name for name in NAMES if issubclass(ranker_class(name), Explorer)]
    return sorted([*NAMES, *hosts])


def ranker_class(name: str) -> type[Ranker]:
    """The class that a name or an import path `package.module:Class` stands for (without FairExp around it)."""
    if ":" in name:
        return _imported(name)
    if name not in NAMES:
        known = ", ".join([*sorted(NAMES), f"{FAIR}HOST"])
        raise ArgumentError("ranker", repr(name), f"one of {known}, or an import path `package.module:Class`")
    found: type[Ranker] = getattr(fairexp, NAMES[name])
    return found


def parameters_of(name: str) -> dict[str, inspect.Parameter]:
    """The parameters that can be set for a ranker, FairExp's own before its host's."""
    if name.startswith(FAIR):
        own = _signature(fairexp.FairExp)
        own.pop("host")
        return {**own, **{key: value for key, value in _signature(_host(name)).items() if key not in own}}
    return _signature(ranker_class(name))


def build_ranker(name: str, environment: Environment, parameters: Mapping[str, Any] | None = None) -> Ranker:
    """The ranker called `name`, e.g. "pairrank", "fairexp-pairrank" or "my.module:MyRanker"."""
    given = dict(parameters or {})
    accepted = parameters_of(name)
    for key in given:
        if key not in accepted:
            raise ArgumentError(f"parameter of {name}", repr(key), "one of " + ", ".join(sorted(accepted)))
    if not name.startswith(FAIR):
        return _construct(ranker_class(name), environment, given)
    own = _signature(fairexp.FairExp)
    own.pop("host")
    host = _construct(_host(name), environment, {key: value for key, value in given.items() if key not in own})
    arguments = _arguments(own, environment, {key: value for key, value in given.items() if key in own})
    if environment.shares is None:
        raise ArgumentError("group", "none", f"groups, which {name} keeps fair", "Say how documents are grouped.")
    return fairexp.FairExp(host, **arguments)  # type: ignore[arg-type]


def _host(name: str) -> type[Ranker]:
    host = ranker_class(name.removeprefix(FAIR))
    if not issubclass(host, Explorer):
        raise ArgumentError("ranker", repr(name), "a host with an explicit belief (an Explorer) inside FairExp")
    return host


def _construct(cls: type[Ranker], environment: Environment, given: dict[str, Any]) -> Ranker:
    signature = _signature(cls)
    if "grades" in signature and "grades" not in given:
        given = {**given, "grades": environment.grades()}
    return cls(**_arguments(signature, environment, given))


def _arguments(
    signature: dict[str, inspect.Parameter], environment: Environment, given: dict[str, Any]
) -> dict[str, Any]:
    """Arguments for a constructor: defaults of ours, then what the environment knows, then what was given."""
    known = {**DEFAULTS, **environment.known(), "seed": environment.seed}
    if "beta" in given or "shares" in given:
        known.pop("shares", None)
    arguments = {key: value for key, value in {**known, **given}.items() if key in signature}
    for key, parameter in signature.items():
        if parameter.default is inspect.Parameter.empty and key not in arguments:
            raise ArgumentError(key, "nothing", f"a value, which this ranker needs (--set {key}=...)")
    return arguments


def _signature(cls: type[Ranker]) -> dict[str, inspect.Parameter]:
    return {key: value for key, value in inspect.signature(cls).parameters.items() if key != "self"}


def _imported(path: str) -> type[Ranker]:
    module, _, attribute = path.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ArgumentError("ranker", repr(path), "an importable `package.module:Class`", str(error)) from error
    if not (isinstance(found, type) and issubclass(found, Ranker)):
        raise ArgumentError("ranker", repr(path), "a class that derives from fairexp.Ranker")
    return found
