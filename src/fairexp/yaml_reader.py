"""YAML as people write it: its values, and the line of every key, so that a mistake can be told with its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairexp.errors import ArgumentError

Keys = tuple[str, ...]
"""The keys that lead to a value, from the outermost; places in lists are numbers from 0."""


@dataclass(frozen=True)
class YamlMapping:
    """The `values` of a YAML file by key, and the `places` of keys and entries of lists: `own.yaml, line 3`."""

    values: dict[str, Any]
    places: dict[Keys, str]


def read_mapping(source: Path, argument: str, *, example: str) -> YamlMapping:
    """The mapping in a file, or an `ArgumentError` about `argument`; `example` is a line that such a file may have."""
    try:
        text = source.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _unreadable(argument, str(source), str(error), "a YAML file") from None
    return parse_mapping(text, argument, name=str(source), example=example)


def parse_mapping(text: str, argument: str, *, name: str, example: str) -> YamlMapping:
    """The mapping in the text of the file called `name`; a key that stands there twice is refused.

    >>> parse_mapping("rounds: 5\\nusers: [perfect]", "experiment", name="own.yaml", example="rounds: 9").places
    {('rounds',): 'own.yaml, line 1', ('users',): 'own.yaml, line 2', ('users', '0'): 'own.yaml, line 2'}
    """
    import yaml

    values = parse_yaml(text, argument, name=name, expected="a YAML file")
    if not isinstance(values, dict):
        raise ArgumentError(argument, f"{name}, which holds no keys", f"a YAML file with lines such as {example!r}")
    places: dict[Keys, str] = {}
    for keys, line in _lines(yaml.compose(text, Loader=yaml.SafeLoader), ()):
        if keys in places:
            raise ArgumentError(f"{'.'.join(keys)} ({places[keys]})", f"it again on line {line}", "each key once")
        places[keys] = f"{name}, line {line}"
    return YamlMapping({str(key): value for key, value in values.items()}, places)


def parse_yaml(text: str, argument: str, *, name: str, expected: str) -> Any:
    """The value that the text stands for, or an `ArgumentError` about `argument`, which was given as `name`."""
    import yaml

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise _unreadable(argument, name, str(error), expected) from None


def _unreadable(argument: str, name: str, problem: str, expected: str) -> ArgumentError:
    return ArgumentError(argument, f"{name}, which does not parse ({' '.join(problem.split())})", expected)


def _lines(node: Any, outer: Keys, inside: tuple[int, ...] = ()) -> Iterator[tuple[Keys, int]]:
    """The keys of a node with their lines; `inside` are the nodes around it, which an alias can lead back to."""
    import yaml

    if id(node) in inside or not isinstance(node, yaml.CollectionNode):
        return
    named = isinstance(node, yaml.MappingNode)
    pairs = node.value if named else [(value, value) for value in node.value]
    for number, (key, value) in enumerate(pairs):
        keys = (*outer, str(key.value) if named else str(number))
        yield keys, key.start_mark.line + 1
        yield from _lines(value, keys, (*inside, id(node)))
