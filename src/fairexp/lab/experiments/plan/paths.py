"""Paths in an experiment: each is seen from the folder of the file that names it, wherever the command is run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairexp.errors import ArgumentError
from fairexp.lab.experiments.plan.spec import Experiment
from fairexp.lab.users.dependent import PRESET_NAMES

GROUP_FILE = "file:"
CURVE_FILES = (".json", ".csv")
Change = Callable[[str, str], str]
"""From a key, such as "data.mine.folder", and the path that stands there, to the path that shall."""


def with_paths(values: Mapping[str, Any], change: Change) -> dict[str, Any]:
    """The values of an experiment with every path changed; what has no right shape is left for `validated` to refuse.

    >>> with_paths({"users": ["perfect", "mine.yaml"], "rounds": 5}, lambda key, path: f"/home/{path}")
    {'users': ['perfect', '/home/mine.yaml'], 'rounds': 5}
    """
    made = dict(values)
    for key, value in values.items():
        if key == "data" and isinstance(value, Mapping):
            made[key] = {label: _data_paths(f"data.{label}", spec, change) for label, spec in value.items()}
        elif key == "users":
            made[key] = _user_paths(key, value, change)
        elif key == "sweep" and isinstance(value, Mapping) and "users" in value:
            made[key] = {**value, "users": _user_paths("sweep.users", value["users"], change)}
        elif isinstance(value, str) and (
            (key == "exposure" and value.endswith(CURVE_FILES)) or (key == "records" and "://" not in value)
        ):
            made[key] = change(key, value)
    return made


def seen_from(folder: Path, path: str) -> str:
    """The path from the root that a path, seen from `folder`, stands for.

    >>> seen_from(Path("/home/examples"), "../data/mine"), seen_from(Path("/home"), "/data")
    ('/home/data/mine', '/data')
    """
    return os.path.normpath(folder / path)


def moved(path: str, *, old: Path, new: Path) -> str:
    """What a path that was seen from the folder `old` must be to mean the same place seen from `new`.

    >>> moved("data/mine", old=Path("/home"), new=Path("/home/examples"))
    '../data/mine'
    """
    return path if old == new or Path(path).is_absolute() else os.path.relpath(old / path, new)


def located(experiment: Experiment, folder: Path | None) -> Experiment:
    """The experiment with paths from the root instead of from `folder`; None leaves them to the working directory.

    A path at which there is nothing is refused with the place that was looked at.
    """
    if folder is None:
        return experiment

    def found(key: str, path: str) -> str:
        place = seen_from(folder, path)
        if key != "records" and not Path(place).exists():
            raise _nothing_there(key, path, place, folder)
        return place

    return Experiment.model_validate(with_paths(experiment.model_dump(), found))


def records_place(experiment: Experiment, folder: Path | None) -> str:
    """Where the experiment says that its records are kept; results/NAME in the working directory where it does not."""
    place = experiment.records
    if place is None:
        return f"results/{experiment.name}"
    return place if folder is None or "://" in place else seen_from(folder, place)


def _nothing_there(key: str, path: str, place: str, folder: Path) -> ArgumentError:
    expected = f"a path that exists, seen from {folder}"
    if key.startswith(("users", "sweep.users")):
        expected = f"one of {', '.join(PRESET_NAMES)}, or {expected}"
    remedy = ""
    if Path(path).exists():
        own = moved(path, old=Path.cwd(), new=folder)
        remedy = f"Paths are seen from the file that names them, not from where the command is run: write {own!r}."
    return ArgumentError(key, f"{path!r}, but there is no {place}", expected, remedy)


def _data_paths(key: str, spec: Any, change: Change) -> Any:
    if not isinstance(spec, Mapping):
        return spec
    made = dict(spec)
    folder, group = made.get("folder"), made.get("group")
    if isinstance(folder, str):
        made["folder"] = change(f"{key}.folder", folder)
    if isinstance(group, str) and group.startswith(GROUP_FILE):
        made["group"] = GROUP_FILE + change(f"{key}.group", group.removeprefix(GROUP_FILE))
    return made


def _user_paths(key: str, users: Any, change: Change) -> Any:
    if not isinstance(users, Sequence) or isinstance(users, str):
        return users
    return [
        change(f"{key}[{number}]", user) if isinstance(user, str) and user not in PRESET_NAMES else user
        for number, user in enumerate(users)
    ]
