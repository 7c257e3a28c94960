"""Rankers by name, with any of their parameters set by name: simulation, experiments and service build from this."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from fairexp.errors import ArgumentError, did_you_mean
from fairexp.ranker import Host, Ranker
from fairexp.rankers import RANKERS, WRAPPERS
from fairexp.validation import check_mapping, check_text

ENTRY_POINTS = "fairexp.rankers"
"""The group of entry points under which other packages offer rankers: `name = "package.module:Class"`."""


def ranker_names() -> list[str]:
    """Every name that `construct` accepts: ours, those of installed packages, and hosts inside wrappers.

    >>> ranker_names()[:4]
    ['batchrank', 'bubblerank', 'c-mgd', 'c3-ucb']
    """
    alone = {**installed_rankers(), **RANKERS}
    hosts = [name for name in alone if issubclass(ranker_class(name), Host)]
    return sorted([*alone, *(prefix + host for prefix in WRAPPERS for host in hosts)])


def installed_rankers() -> dict[str, str]:
    """The rankers that other installed packages offer, by name, each with its import path."""
    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}


def ranker_class(name: str) -> type[Ranker]:
    """The class that a name or an import path `package.module:Class` stands for, without a wrapper."""
    expected = "the name of a ranker, or an import path `package.module:Class`"
    check_text("ranker", name, expected)
    if ":" in name:
        return _imported(name)
    if name in RANKERS:
        return _imported(RANKERS[name])
    installed = installed_rankers()
    if name not in installed:
        hint = did_you_mean(name, [*RANKERS, *installed]) or "`fairexp rankers` lists them."
        raise ArgumentError("ranker", repr(name), expected, hint)
    return _imported(installed[name])


def classes_of(name: str) -> tuple[type[Ranker], ...]:
    """The classes behind a name, the outermost first: one such as FairExp and its host, or the ranker alone.

    >>> [cls.__name__ for cls in classes_of("fairexp-pairrank")]
    ['FairExp', 'PairRank']
    """
    prefix = _prefix(name)
    return (ranker_class(name),) if prefix is None else (_imported(WRAPPERS[prefix]), _host(name, prefix))


def is_the_same(one: str, other: str) -> bool:
    """Whether two names or import paths stand for the same ranker; not where one cannot be imported.

    >>> is_the_same("fairexp:PairRank", "pairrank"), is_the_same("fairexp-pairrank", "pairrank")
    (True, False)
    """
    try:
        return one == other or classes_of(one) == classes_of(other)
    except ArgumentError:
        return False


def keeps_account(name: str) -> bool:
    """Whether the ranker called `name` is fair, and so needs groups (`Ranker.keeps_account`)."""
    return classes_of(name)[0].keeps_account


def keeps_tolerance(name: str) -> bool:
    """Whether the ranker called `name` is held to a tolerance (`Ranker.keeps_tolerance`)."""
    return classes_of(name)[0].keeps_tolerance


def relative_cost(name: str) -> float:
    """What a round of the ranker called `name` costs (`Ranker.relative_cost`), with its host's if it has one."""
    return sum(cls.relative_cost for cls in classes_of(name))


def parameters_of(name: str) -> dict[str, inspect.Parameter]:
    """The parameters that can be set for a ranker; those of one around a host before its host's."""
    own, *hosts = (_signature(cls) for cls in classes_of(name))
    for host in hosts:
        own.pop("host")
        own = {**own, **{key: value for key, value in host.items() if key not in own}}
    return own


def paper_settings(name: str) -> dict[str, Any]:
    """The parameters of the FairExp paper for a ranker that says which they are (`paper_settings`), with its host's.

    >>> paper_settings("fairexp-pairrank")["search"]
    'fairswap'
    """
    told = [getattr(cls, "paper_settings", None) for cls in classes_of(name)]
    if None in told:
        raise ArgumentError(
            "parameters", f"'paper' for {name}", "parameters by name", "The paper's are known of others."
        )
    return {key: value for each in told if each is not None for key, value in each.items()}


def construct(name: str, parameters: Mapping[str, Any], *, known: Mapping[str, Any]) -> Ranker:
    """The ranker called `name`, e.g. "pairrank", "fairexp-pairrank" or "my.module:MyRanker".

    `parameters` are set by whoever asks, and must be ones that the ranker has. `known` is what its surroundings tell;
    a constructor takes from it what it asks for by name.

    >>> ranker = construct("fairexp-pairrank", {"alpha": 0.2}, known={"n_features": 3, "tolerance": 9.0, "beta": 1.0})
    >>> ranker.tolerance, ranker.host.alpha
    (9.0, 0.2)
    """
    accepted = parameters_of(name)
    for argument, given in (("parameters", parameters), ("known", known)):
        check_mapping(argument, given, "values by parameter, such as {'seed': 1}")
    for key in parameters:
        if key not in accepted:
            raise ArgumentError(f"parameter of {name}", repr(key), "one of " + ", ".join(sorted(accepted)))
    cls, *hosts = classes_of(name)
    own, surroundings = _signature(cls), dict(known)
    for host in hosts:
        inner = {key: value for key, value in parameters.items() if key not in own}
        surroundings["host"] = host(**_arguments(_signature(host), inner, known))
    return cls(**_arguments(own, {key: value for key, value in parameters.items() if key in own}, surroundings))


def _arguments(
    signature: dict[str, inspect.Parameter], given: Mapping[str, Any], known: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments for a constructor: what its surroundings know, then what was given."""
    arguments = {key: value for key, value in {**known, **given}.items() if key in signature}
    for key, parameter in signature.items():
        if parameter.default is inspect.Parameter.empty and key not in arguments:
            raise ArgumentError(key, "nothing", "a value, which this ranker needs", f"Set the parameter {key}.")
    return arguments


def _prefix(name: str) -> str | None:
    """How a name begins that means a ranker around a host; None for a ranker alone."""
    check_text("ranker", name, "the name of a ranker, or an import path `package.module:Class`")
    return next((prefix for prefix in WRAPPERS if name.startswith(prefix)), None)


def _host(name: str, prefix: str) -> type[Host]:
    host = ranker_class(name.removeprefix(prefix))
    if not issubclass(host, Host):
        raise ArgumentError("ranker", repr(name), f"a host with an explicit belief (a Host) after {prefix}")
    return host


def _signature(cls: type[Ranker]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(cls).parameters)


def _imported(path: str) -> type[Ranker]:
    module, _, attribute = path.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ArgumentError("ranker", repr(path), "an importable `package.module:Class`", str(error)) from error
    if not (isinstance(found, type) and issubclass(found, Ranker)):
        raise ArgumentError("ranker", repr(path), "a class that derives from fairexp.Ranker")
    return found
