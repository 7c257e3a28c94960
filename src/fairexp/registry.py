"""Rankers by name, with any of their parameters set by name: simulation, experiments and service build from this."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from fairexp.errors import ArgumentError
from fairexp.fairness.fairexp import FairExp
from fairexp.rankers.base import Explorer, Ranker

NAMES = {
    "batchrank": "fairexp.rankers.bandits.batchrank:BatchRank",
    "bubblerank": "fairexp.rankers.bandits.bubblerank:BubbleRank",
    "c-mgd": "fairexp.rankers.descent.cascade:CMGD",
    "c3-ucb": "fairexp.rankers.bandits.linear_cascade:C3UCB",
    "cascade-kl-ucb": "fairexp.rankers.bandits.cascade_ucb:CascadeKLUCB",
    "cascade-linucb": "fairexp.rankers.bandits.linear_cascade:CascadeLinUCB",
    "cascade-ucb1": "fairexp.rankers.bandits.cascade_ucb:CascadeUCB1",
    "cps": "fairexp.rankers.descent.cps:CPS",
    "dbgd": "fairexp.rankers.descent.dbgd:DBGD",
    "dcm-kl-ucb": "fairexp.rankers.bandits.cascade_ucb:DcmKLUCB",
    "dp-dbgd": "fairexp.rankers.descent.dual_point:DPDBGD",
    "dsp": "fairexp.rankers.descent.dsp:DSP",
    "fairco": "fairexp.fairness.fairco:FairCo",
    "fixed": "fairexp.rankers.controls:FixedScores",
    "mgd": "fairexp.rankers.descent.mgd:MGD",
    "mp-dgd": "fairexp.rankers.descent.multi_point:MPDGD",
    "nsgd": "fairexp.rankers.descent.nsgd:NSGD",
    "oracle": "fairexp.rankers.controls:Oracle",
    "p-mgd": "fairexp.rankers.descent.mgd:PMGD",
    "pairrank": "fairexp.rankers.pairrank:PairRank",
    "pdgd": "fairexp.rankers.pdgd:PDGD",
    "pdgd-neural": "fairexp.rankers.pdgd_neural:NeuralPDGD",
    "random": "fairexp.rankers.controls:RandomRanker",
    "rba": "fairexp.rankers.bandits.ranked_bandits:RankedBandits",
    "recurrank": "fairexp.rankers.bandits.recurrank:RecurRank",
    "sim-mgd": "fairexp.rankers.descent.similarity:SimMGD",
    "toprank": "fairexp.rankers.bandits.toprank:TopRank",
    "unirank": "fairexp.rankers.bandits.unirank:UniRank",
}
"""The table of rankers: adding one is its file and its line here."""

FAIR = "fairexp-"
"""How a name begins that means FairExp around the ranker that the rest of it names."""


def ranker_names() -> list[str]:
    """Every name that `construct` knows, hosts inside FairExp included.

    >>> ranker_names()[:4]
    ['batchrank', 'bubblerank', 'c-mgd', 'c3-ucb']
    """
    hosts = [FAIR + name for name in NAMES if issubclass(ranker_class(name), Explorer)]
    return sorted([*NAMES, *hosts])


def ranker_class(name: str) -> type[Ranker]:
    """The class that a name or an import path `package.module:Class` stands for (without FairExp around it)."""
    if name not in NAMES and ":" not in name:
        known = ", ".join([*sorted(NAMES), f"{FAIR}HOST"])
        raise ArgumentError("ranker", repr(name), f"one of {known}, or an import path `package.module:Class`")
    return _imported(NAMES.get(name, name))


def classes_of(name: str) -> tuple[type[Ranker], ...]:
    """The classes behind a name, the outermost first: FairExp and its host, or the ranker alone.

    >>> [cls.__name__ for cls in classes_of("fairexp-pairrank")]
    ['FairExp', 'PairRank']
    """
    return (FairExp, _host(name)) if name.startswith(FAIR) else (ranker_class(name),)


def keeps_account(name: str) -> bool:
    """Whether the ranker called `name` is fair, and so needs groups (`Ranker.keeps_account`)."""
    return _outermost(name).keeps_account


def keeps_tolerance(name: str) -> bool:
    """Whether the ranker called `name` is held to a tolerance (`Ranker.keeps_tolerance`)."""
    return _outermost(name).keeps_tolerance


def relative_cost(name: str) -> float:
    """What a round of the ranker called `name` costs (`Ranker.relative_cost`), FairExp and its host together."""
    return sum(cls.relative_cost for cls in classes_of(name))


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
    return FairExp(explorer, **_arguments(own, outer, known))


def _arguments(
    signature: dict[str, inspect.Parameter], given: Mapping[str, Any], known: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments for a constructor: what its surroundings know, then what was given."""
    arguments = {key: value for key, value in {**known, **given}.items() if key in signature}
    for key, parameter in signature.items():
        if parameter.default is inspect.Parameter.empty and key not in arguments:
            raise ArgumentError(key, "nothing", "a value, which this ranker needs", f"Set the parameter {key}.")
    return arguments


def _outermost(name: str) -> type[Ranker]:
    return FairExp if name.startswith(FAIR) else ranker_class(name)


def _around() -> dict[str, inspect.Parameter]:
    """FairExp's own parameters."""
    own = _signature(FairExp)
    own.pop("host")
    return own


def _host(name: str) -> type[Explorer]:
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
