"""Experiments from YAML: inheritance, and mistakes told with the file, the line and the nearest right word."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fairexp.errors import ArgumentError
from fairexp.lab.experiments.plan.paths import moved, with_paths
from fairexp.lab.experiments.plan.spec import Experiment
from fairexp.validation_messages import found_by_pydantic
from fairexp.yaml_reader import Keys, parse_mapping

EXTENDS = "extends"
BUILT_IN = ("paper", "quick")


@dataclass(frozen=True)
class Document:
    """Merged settings, for every key the file and line that set it, and the folders of the files that were read.

    Paths are seen from the first folder, also those that another file named.
    """

    values: dict[str, Any]
    places: dict[Keys, str]
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
    read = parse_mapping(text, "experiment", name=name, example="rounds: 100")
    values, places = read.values, read.places
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


def validated(values: dict[str, Any], places: dict[Keys, str] | None = None) -> Experiment:
    """The experiment that `values` define, or an `ArgumentError` that says which key is wrong, and where it stands."""
    try:
        return Experiment.model_validate(values)
    except ValidationError as error:
        mistake = found_by_pydantic(error.errors(), Experiment, also=[EXTENDS])
        raise mistake.at(places or {}) from None


def _is_grid(key: str) -> bool:
    """A grid is replaced whole: merged grids would be products that nobody wrote down."""
    return key == "grid"


def _text(source: str | Path) -> tuple[str, str, tuple[Path, ...]]:
    if str(source) in BUILT_IN:
        place = files("fairexp.lab.experiments").joinpath(f"{source}.yaml")
        return place.read_text(encoding="utf-8"), f"{source} (built in)", ()
    path = Path(source)
    if not path.is_file():
        expected = f"a YAML file that exists, or one of {', '.join(BUILT_IN)}"
        raise ArgumentError("experiment", repr(str(source)), expected)
    return path.read_text(encoding="utf-8"), str(path), (path.resolve().parent,)
