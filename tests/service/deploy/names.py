"""What files of deployment may name: the commands with their options, environment variables, routes and metrics."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from fairexp.cli.entry import COMMANDS, load_command
from fairexp.service.http.metrics import Metrics

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
HISTOGRAM = ("_bucket", "_count", "_sum")


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """The command that begins with these words after `fairexp`, and the words after its name."""
    assert words[0] in COMMANDS, f"no command is called {words[0]!r}"
    command, rest = load_command(words[0]), words[1:]
    while rest and rest[0] in getattr(command, "commands", {}):
        command, rest = command.commands[rest[0]], rest[1:]
    return command, rest


def check_command(line: str | list[str]) -> None:
    """Every option of `fairexp ...` is one that the command has, and takes a value where it must."""
    words = shlex.split(line, comments=True) if isinstance(line, str) else line
    command, rest = command_of([word for word in words[1:] if word != "$FAIREXP_OPTIONS"])
    options = {name: each for each in command.params for name in each.opts}
    place = 0
    while place < len(rest):
        word = rest[place]
        if word.startswith("--"):
            assert word in options, f"{command.name} has no option {word}: {line}"
            place += 0 if options[word].is_flag else 1
        place += 1
    assert place == len(rest), f"the last option lacks its value: {line}"


def environment() -> set[str]:
    """The variables that the commands read."""
    found: set[str] = set()
    for name in COMMANDS:
        command = load_command(name)
        for each in (command, *getattr(command, "commands", {}).values()):
            found.update(str(option.envvar) for option in each.params if option.envvar)
    return found


def metrics_of(metrics: Metrics) -> dict[str, set[str]]:
    """The series that a service exports, each with its labels."""
    found: dict[str, set[str]] = {}
    counted = (metrics.rank_seconds, metrics.feedback_events, metrics.requests, metrics.above_limit)
    own = {each._name: each for each in counted}
    for family in metrics.registry.collect():
        labels = set(getattr(family, "_labelnames", ()) or getattr(own.get(family.name), "_labelnames", ()))
        if family.type == "histogram":
            found.update({family.name + end: labels | ({"le"} if end == "_bucket" else set()) for end in HISTOGRAM})
        else:
            found[family.name + ("_total" if family.type == "counter" else "")] = labels
    return found
