"""Text from the command line into values: `--set` by ranker, `--shares`, `--beta`, `--exposure`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairexp.errors import ArgumentError
from fairexp.yaml_reader import parse_yaml

OPTIONS_OF_THEIR_OWN = {"length": "--length", "seed": "--seed or --seeds", "n_features": "--data", "grades": "--data"}


def parse_value(text: str) -> Any:
    """A YAML value; numbers as Python writes them, such as 1e-3 and inf, are numbers too.

    >>> [parse_value(text) for text in ("0.1", "1e-3", "theory", "true", "[1, 2]")]
    [0.1, 0.001, 'theory', True, [1, 2]]
    """
    value = parse_yaml(text, "--set", name=repr(text), expected="a YAML value")
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value


def route(assignments: Sequence[str], rankers: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The parameters of each ranker: `key=value` goes to all that have the key, `ranker.key=value` to one.

    >>> route(["alpha=0.2", "pdgd.decay=0.9"], ["pairrank", "pdgd"])
    {'pairrank': {'alpha': 0.2}, 'pdgd': {'decay': 0.9}}
    """
    accepted = {name: settable(name) for name in rankers}
    routed: dict[str, dict[str, Any]] = {name: {} for name in rankers}
    for assignment in assignments:
        key, separator, text = assignment.partition("=")
        if not separator or not key:
            raise ArgumentError("--set", repr(assignment), "key=value or ranker.key=value")
        ranker, _, parameter = key.rpartition(".")
        if ranker and ranker not in routed:
            raise ArgumentError("--set", repr(assignment), f"one of the chosen rankers ({', '.join(rankers)}) before .")
        if parameter in OPTIONS_OF_THEIR_OWN:
            option = OPTIONS_OF_THEIR_OWN[parameter]
            raise ArgumentError("--set", repr(assignment), "a parameter of the ranker alone", f"Use {option}.")
        takers = [name for name in ([ranker] if ranker else rankers) if parameter in accepted[name]]
        if not takers:
            choices = "; ".join(f"{name}: {', '.join(accepted[name])}" for name in ([ranker] if ranker else rankers))
            raise ArgumentError("--set", repr(assignment), f"a parameter that a chosen ranker has ({choices})")
        for name in takers:
            routed[name][parameter] = parse_value(text)
    return routed


def settable(ranker: str) -> list[str]:
    """The names of the parameters that `--set` may give to `ranker`, sorted."""
    from fairexp.simulation.environment import parameters_of

    return sorted(parameters_of(ranker).keys() - OPTIONS_OF_THEIR_OWN.keys())


def parse_shares(shares: str | None, beta: float | None) -> str | tuple[float, ...]:
    """`--shares` or `--beta` as the settings want them; equal shares where neither is given.

    >>> parse_shares(None, 1.22), parse_shares("2,1,1", None), parse_shares("size", None)
    ((1.22, 1.0), (2.0, 1.0, 1.0), 'size')
    """
    if shares is not None and beta is not None:
        raise ArgumentError("--beta", f"{beta:g} besides --shares {shares}", "one of the two")
    if beta is not None:
        return (beta, 1.0)
    return "equal" if shares is None else numbers_or_name(shares)


def numbers_or_name(text: str) -> str | tuple[float, ...]:
    """Numbers separated by commas, or else the text itself: a name or a file."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        return text
