"""Rankers by name, with any of their parameters set by name: simulation, experiments and service build from this."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import fairexp
from fairexp.errors import ArgumentError
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


def ranker_names() -> list[str]:
    """Every name that `construct` knows, hosts inside FairExp included.

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
        own = _around()
        return {**own, **{key: value for key, value in _signature(_host(name)).items() if key not in own}}
    return _signature(ranker_class(name))


def construct(name: str, parameters: Mapping[str, Any], *, known: Mapping[str, Any]) -> Ranker:
    """The ranker called `name`, e.g. "pairrank", "fairexp-pairrank" or "my.module:MyRanker".

    `parameters` are set by whoever asks, and must be ones that the ranker has. `known` is what its surroundings tell;
    a constructor takes from it what it asks for by name.

    >>> ranker = construct("fairexp-pairrank", {"alpha": 0.2}, known={"n_features": 3, "tolerance": 9.0, "beta": 1.0})
    >>> ranker.tolerance, ranker.host.alpha
    (9.0, 0.2)
    """
    accepted = parameters_of(name)
    for key in parameters:
        if key not in accepted:
            raise ArgumentError(f"parameter of {name}", repr(key), "one of " + ", ".join(sorted(accepted)))
    if not name.startswith(FAIR):
        cls = ranker_class(name)
        return cls(**_arguments(_signature(cls), parameters, known))
    own, host = _around(), _host(name)
    inner = {key: value for key, value in parameters.items() if key not in own}
    outer = {key: value for key, value in parameters.items() if key in own}
    explorer: Any = host(**_arguments(_signature(host), inner, known))
    return fairexp.FairExp(explorer, **_arguments(own, outer, known))


def _arguments(
    signature: dict[str, inspect.Parameter], given: Mapping[str, Any], known: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments for a constructor: what its surroundings know, then what was given."""
    arguments = {key: value for key, value in {**known, **given}.items() if key in signature}
    for key, parameter in signature.items():
        if parameter.default is inspect.Parameter.empty and key not in arguments:
            raise ArgumentError(key, "nothing", "a value, which this ranker needs", f"Set the parameter {key}.")
    return arguments


def _around() -> dict[str, inspect.Parameter]:
    """FairExp's own parameters."""
    own = _signature(fairexp.FairExp)
    own.pop("host")
    return own


def _host(name: str) -> type[Ranker]:
    host = ranker_class(name.removeprefix(FAIR))
    if not issubclass(host, Explorer):
        raise ArgumentError("ranker", repr(name), "a host with an explicit belief (an Explorer) inside FairExp")
    return host


def _signature(cls: type[Ranker]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(cls).parameters)


def _imported(path: str) -> type[Ranker]:
    module, _, attribute = path.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ArgumentError("ranker", repr(path), "an importable `package.module:Class`", str(error)) from error
    if not (isinstance(found, type) and issubclass(found, Ranker)):
        raise ArgumentError("ranker", repr(path), "a class that derives from fairexp.Ranker")
    return found
