"""Users by name, or from a small YAML file of one's own.

A file names a model and its probabilities, one per grade from 0 up (`examination`: one per position from the top):

    model: dependent          # or: position, cascade
    click: [0.05, 0.5, 0.95]
    stop: [0.2, 0.5, 0.9]
    stop_after: click         # or: any

A position-based user has `examination` and `attraction`, a cascade user has `attraction`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fairexp.errors import ArgumentError
from fairexp.lab.users.base import User
from fairexp.lab.users.cascade import Cascade
from fairexp.lab.users.dependent import PRESET_NAMES, DependentClickModel, dependent_clicks
from fairexp.lab.users.position import PositionBased
from fairexp.randomness import Seed
from fairexp.validation import as_path
from fairexp.yaml_reader import read_mapping

_MODELS: Mapping[str, tuple[Callable[..., User], tuple[str, ...], tuple[str, ...]]] = {
    "dependent": (DependentClickModel, ("click", "stop"), ("stop_after",)),
    "position": (PositionBased, ("examination", "attraction"), ()),
    "cascade": (Cascade, ("attraction",), ()),
}
"""Class, required keys and optional keys of each model."""

EXPECTED = f"one of {', '.join(map(repr, PRESET_NAMES))}, or a YAML file that exists"


def load_user(
    path_or_name: str | os.PathLike[str],
    *,
    n_grades: int | None = None,
    stop_after: str | None = None,
    seed: Seed = None,
) -> User:
    """A user by preset name ("perfect", "navigational", "informational") or from a YAML file.

    `n_grades` is the number of grades of the data (a preset without it: 5); a file whose tables have another length
    is refused. `stop_after` ("click" or "any") overrides what a file says.

    >>> load_user("informational", n_grades=2).n_grades
    2
    """
    path = as_path("user", path_or_name, EXPECTED)
    if str(path_or_name) in PRESET_NAMES:
        n_preset = 5 if n_grades is None else n_grades
        leaves = "click" if stop_after is None else stop_after
        return dependent_clicks(str(path_or_name), n_grades=n_preset, stop_after=leaves, seed=seed)
    settings = _read_settings(path)
    if stop_after is not None:
        settings["stop_after"] = stop_after
    user = _build(settings, path, seed)
    if n_grades is not None and user.n_grades != n_grades:
        key = "click" if "click" in settings else "attraction"
        raise _in_file(path, ArgumentError(key, f"{user.n_grades} values", f"{n_grades} values, one per grade"))
    return user


def _read_settings(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ArgumentError("user", repr(str(path)), EXPECTED)
    return read_mapping(path, "user", example="model: cascade").values


def _build(settings: dict[str, Any], path: Path, seed: Seed) -> User:
    model = settings.get("model")
    if not isinstance(model, str) or model not in _MODELS:
        given = "nothing" if model is None else repr(model)
        raise _in_file(path, ArgumentError("model", given, "one of " + ", ".join(map(repr, _MODELS))))
    build, required, optional = _MODELS[model]
    arguments = {key: value for key, value in settings.items() if key != "model"}
    known = (*required, *optional)
    for key in arguments:
        if key not in known:
            expected = f"only {', '.join(known)} for model {model!r}"
            raise _in_file(path, ArgumentError(key, "a key that this model does not have", expected))
    for key in required:
        if key not in arguments:
            raise _in_file(path, ArgumentError(key, "nothing", f"a list of probabilities, which {model!r} needs"))
    try:
        return build(**arguments, seed=seed)
    except ArgumentError as error:
        raise _in_file(path, error) from None


def _in_file(path: Path, error: ArgumentError) -> ArgumentError:
    return ArgumentError(f"{error.argument} (in {path})", error.given, error.expected, error.remedy)
