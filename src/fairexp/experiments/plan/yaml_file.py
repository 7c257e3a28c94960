"""Experiments from YAML: inheritance, and mistakes told with the file, the line and the nearest right word."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from fairexp.errors import ArgumentError
from fairexp.experiments.plan.paths import moved, with_paths
from fairexp.experiments.plan.spec import DataSpec, Experiment, RankerSpec, Sweep, Tuning

EXTENDS = "extends"
BUILT_IN = ("paper", "quick")
Path_ = tuple[str, ...]


@dataclass(frozen=True)
class Document:
    """Merged settings, for every key the file and line that set it, and the folders of the files that were read.

    Paths are seen from the first folder, also those that another file named.
    """

    values: dict[str, Any]
    places: dict[Path_, str]
    folders: tuple[Path, ...]


def read_experiment(source: str | Path) -> tuple[Experiment, tuple[Path, ...]]:
    """The experiment in a YAML file (or a built-in one, by name), and the folders of the file and those it extends.

    The experiment's paths are seen from the first folder (see `paths`); rankers may lie in all.

    >>> experiment, _ = read_experiment("quick")
    >>> len(experiment.data) * len(experiment.users)
    12
    """
    document = read_document(source)
    return validated(document.values, document.places), document.folders


def read_document(source: str | Path, seen: tuple[str, ...] = ()) -> Document:
    """The settings of a file over those of the one that it extends, and of that one's, and so on."""
    text, name, folders = _text(source)
    if name in seen:
        raise ArgumentError(EXTENDS, " -> ".join([*seen, name]), "files that do not extend each other in a circle")
    values, places = _parse(text, name)
    parent = values.pop(EXTENDS, None)
    if parent is None:
        return Document(values, places, folders)
    if not isinstance(parent, str):
        raise ArgumentError(f"{EXTENDS} ({places[EXTENDS,]})", repr(parent), "the name of a file or a built-in")
    base = read_document(parent if parent in BUILT_IN or not folders else folders[0] / parent, (*seen, name))
    inherited = base.values
    if folders and base.folders:
        old, new = base.folders[0], folders[0]
        inherited = with_paths(inherited, lambda key, path: moved(path, old=old, new=new))
    both = tuple(dict.fromkeys([*folders, *base.folders]))
    return Document(merged(inherited, values), {**base.places, **places}, both)


def merged(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """`own` over `base`: mappings are merged key by key, null takes a key away, everything else replaces.

    >>> merged({"a": {"x": 1, "y": 2}, "b": [1, 2]}, {"a": {"y": 3}, "b": [4]})
    {'a': {'x': 1, 'y': 3}, 'b': [4]}
    """
    result = dict(base)
    for key, value in own.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict) and not _is_grid(key):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result


def validated(values: dict[str, Any], places: dict[Path_, str] | None = None) -> Experiment:
    """The experiment that `values` define, or an `ArgumentError` that says which key is wrong, and where it stands."""
    try:
        return Experiment.model_validate(values)
    except ValidationError as error:
        raise _explained(error, places or {}) from None


def _is_grid(key: str) -> bool:
    """A grid is replaced whole: merged grids would be products that nobody wrote down."""
    return key == "grid"


def _text(source: str | Path) -> tuple[str, str, tuple[Path, ...]]:
    if str(source) in BUILT_IN:
        place = files("fairexp.experiments").joinpath(f"{source}.yaml")
        return place.read_text(encoding="utf-8"), f"{source} (built in)", ()
    path = Path(source)
    if not path.is_file():
        expected = f"a YAML file that exists, or one of {', '.join(BUILT_IN)}"
        raise ArgumentError("experiment", repr(str(source)), expected)
    return path.read_text(encoding="utf-8"), str(path), (path.resolve().parent,)


def _parse(text: str, name: str) -> tuple[dict[str, Any], dict[Path_, str]]:
    import yaml

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise ArgumentError("experiment", f"{name}, which does not parse ({problem})", "a YAML file") from None
    if not isinstance(values, dict):
        raise ArgumentError("experiment", f"{name}, which holds no keys", "a YAML file with keys such as 'rounds: 100'")
    return {str(key): value for key, value in values.items()}, dict(_places(node, name, ()))


def _places(node: Any, name: str, path: Path_) -> Iterator[tuple[Path_, str]]:
    import yaml

    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*path, str(key.value))
            yield inner, f"{name}, line {key.start_mark.line + 1}"
            yield from _places(value, name, inner)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            inner = (*path, str(number))
            yield inner, f"{name}, line {value.start_mark.line + 1}"
            yield from _places(value, name, inner)


def _explained(error: ValidationError, places: dict[Path_, str]) -> ArgumentError:
    """The first mistake, typing mistakes in keys before what follows from them."""
    found = sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    first = found[0]
    path = tuple(str(part) for part in first["loc"])
    known = path
    while known and known not in places:
        known = known[:-1]
    where = f" ({places[known]})" if known in places else ""
    key = ".".join(path[: len(known)] or path) or "experiment"
    if first["type"] == "extra_forbidden":
        choices = sorted(_model_at(path[:-1]).model_fields) + ([EXTENDS] if len(path) == 1 else [])
        near = difflib.get_close_matches(path[-1], choices, n=1)
        remedy = f"Did you mean {near[0]!r}?" if near else "Remove it."
        return ArgumentError(f"{key}{where}", "a key that is not known here", f"one of {', '.join(choices)}", remedy)
    if first["type"] == "missing":
        return ArgumentError(".".join(path) + where, "nothing", "a value, which is required")
    if first["type"] == "value_error":
        return ArgumentError(f"{key}{where}", repr(first["input"])[:80], str(first["ctx"]["error"]))
    return ArgumentError(f"{key}{where}", repr(first["input"])[:80], first["msg"].removeprefix("Input should be "))


def _model_at(path: Path_) -> type[BaseModel]:
    inner: dict[str, type[BaseModel]] = {"data": DataSpec, "rankers": RankerSpec, "sweep": Sweep, "tuning": Tuning}
    return inner.get(path[0], Experiment) if path else Experiment
