"""The runs of an experiment: each with a readable id, and a digest of everything that its result depends on."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from fairexp.lab.simulation.environment import parameters_of
from fairexp.lab.simulation.settings import RunSettings
from fairexp.lab.users.dependent import PRESET_NAMES

DEFAULTS = "defaults"
TUNING_STREAM = 7_002
"""Sets runs that parameters are chosen by apart from those that count."""


@dataclass(frozen=True, eq=False)
class Run:
    """One run: where it stands in the experiment, what it plays, and the name of its record.

    `key` is the id with a digest of the settings, the data's contents and the ranker's defaults: the same key means the
    same result, and a run whose settings changed is another run.
    """

    data: str
    user: str
    fold: int
    ranker: str
    parameters: Mapping[str, Any]
    seed: int
    settings: RunSettings
    fingerprint: str
    tuning: bool = False

    @property
    def setting(self) -> str:
        """The data and the user, e.g. "mslr-pagerank/perfect"."""
        return f"{self.data}/{self.user}"

    @property
    def id(self) -> str:
        """A readable path, e.g. "mslr-pagerank/perfect/fold-1/pdgd/learning_rate=0.1/seed-0"."""
        tuning = "/tuning" if self.tuning else ""
        parameters = parameters_text(self.parameters)
        return f"{self.setting}/fold-{self.fold}/{self.ranker}/{parameters}{tuning}/seed-{self.seed}"

    @cached_property
    def key(self) -> str:
        return f"{self.id}@{self.digest}"

    @property
    def digest(self) -> str:
        settings = self.settings
        content = {
            "data": self.fingerprint,
            "ranker": settings.ranker,
            "parameters": {**_defaults(settings.ranker), **settings.parameters},
            "user": user_content(settings.user),
            **{
                name: getattr(settings, name)
                for name in ("stop_after", "rounds", "seed", "length", "exposure", "shares", "n_points")
            },
            **{name: getattr(settings, name) for name in ("validate", "irrelevant")},
            # Named only where there are some: records from before one could ask for them keep their names.
            **({"measures": settings.recording.measures} if settings.recording.measures else {}),
        }
        text = json.dumps(content, sort_keys=True, default=repr)
        return hashlib.sha256(text.encode()).hexdigest()[:10]


def parameters_text(parameters: Mapping[str, Any]) -> str:
    """Parameters as part of an id: sorted, and safe in a path.

    >>> parameters_text({"regularization": 0.1, "alpha": 1e-3}), parameters_text({})
    ('alpha=0.001,regularization=0.1', 'defaults')
    """
    parts = [f"{key}={quote(_value_text(value), safe='.+-')}" for key, value in sorted(parameters.items())]
    return ",".join(parts) or DEFAULTS


def user_name(user: str) -> str:
    """A user's name in ids: a preset's own, or a file's without its folder and ending."""
    return user if user in PRESET_NAMES else Path(user).stem


def _value_text(value: Any) -> str:
    """2 and 2.0 are the same value, and must be the same run."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def paired_seed(seed: int, fold: int, *, tuning: bool = False) -> int:
    """The root seed of every ranker's run with this seed and fold: all meet the same queries and users' coins.

    Folds get streams of their own, so that (seed, fold) pairs are not tied to each other by chance numbers, and so
    do runs that parameters are chosen by.
    """
    entropy = [seed, fold, TUNING_STREAM] if tuning else [seed, fold]
    return int(np.random.SeedSequence(entropy).generate_state(1)[0])


def _defaults(ranker: str) -> dict[str, Any]:
    """The ranker's defaults: a later version with others must not take old records for its own."""
    kept = {}
    for name, parameter in parameters_of(ranker).items():
        if parameter.default is not inspect.Parameter.empty:
            kept[name] = parameter.default
    return kept


def user_content(user: str) -> str:
    """All that a user is: a preset's name, or what a file holds, wherever it lies."""
    return user if user in PRESET_NAMES else Path(user).read_text(encoding="utf-8")


def user_digest(user: str) -> str:
    """By which the same user is known elsewhere."""
    return hashlib.blake2b(user_content(user).encode(), digest_size=8).hexdigest()
