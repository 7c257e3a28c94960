"""`fairexp rankers`: what rankers there are, and what can be set about them."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairexp.cli.options import OPTIONS_OF_THEIR_OWN, settable

if TYPE_CHECKING:
    from fairexp.ranker import Ranker


def rankers(
    name: Annotated[str | None, typer.Argument(help="Describe this one; a name or `package.module:Class`.")] = None,
) -> None:
    """List the rankers, or describe one with all its parameters."""
    from fairexp.cli.printing import output_console

    output_console().print(_list() if name is None else _details(name))


def _list() -> Any:
    from rich.table import Table

    from fairexp.lab.simulation import ranker_names

    table = Table("ranker", "what it does, and what --set can change (with defaults)", box=None, padding=(0, 2, 1, 0))
    for name in ranker_names():
        parameters = ", ".join(f"{key}={_default(name, key)}" for key in settable(name))
        lines = [_summary(name), *_declared(name), parameters or "no parameters"]
        table.add_row(_bold(name), "\n".join(lines))
    return table


def _details(name: str) -> Any:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from fairexp.lab.simulation.environment import parameters_of

    table = Table("parameter", "default", "type", "set by", box=None, padding=(0, 2, 0, 0))
    for key, parameter in parameters_of(name).items():
        option = OPTIONS_OF_THEIR_OWN.get(key, f"--set {key}=...")
        table.add_row(key, _default(name, key), Text(str(parameter.annotation)), option)
    paragraphs = [Text(f"{cls.__name__}: {_prose(cls)}\n") for cls in _classes(name)]
    declared = [Text(line) for line in _declared(name)]
    return Group(_bold(name), "", *paragraphs, *declared, *([""] if declared else []), table)


def _classes(name: str) -> list[type[Ranker]]:
    """The classes behind a name: one such as FairExp and its host, or the ranker alone."""
    from fairexp.registry import classes_of

    return list(classes_of(name))


def _declared(name: str) -> list[str]:
    """What a fair ranker says of itself: to whom it is fair, what weighs that, and what it needs to know."""
    cls = _classes(name)[0]
    lines = [f"Fair to: {cls.fair_to}."] if cls.fair_to else []
    if cls.trade_off is not None:
        sweep = ", ".join(f"{value:g}" for value in cls.trade_off.sweep)
        lines.append(f"Trade-off: {cls.trade_off.parameter}, for example {sweep}.")
    return [*lines, f"Needs to know: {cls.needs}."] if cls.needs else lines


def _prose(cls: type) -> str:
    """The docstring without its example."""
    paragraphs = (inspect.getdoc(cls) or "no description").split("\n\n")
    prose = (re.sub(r"\n(?!- )\s*", " ", text) for text in paragraphs if not text.startswith(">>>"))
    return "\n\n".join(prose)


def _summary(name: str) -> str:
    """The first sentence about each class behind the name."""
    classes = _classes(name)
    lines = [_prose(cls).partition("\n")[0] for cls in classes]
    if len(classes) == 1:
        return lines[0]
    return f"{classes[0].__name__.removesuffix('HostWrapper')} around {classes[1].__name__}. {lines[0]}"


def _default(name: str, key: str) -> str:
    """A parameter's default, or who supplies it."""
    from fairexp.lab.simulation.environment import DEFAULTS, parameters_of

    default = parameters_of(name)[key].default
    if default is inspect.Parameter.empty or (default is None and key in DEFAULTS):
        default = DEFAULTS.get(key, "(from the data)" if key in ("n_features", "grades") else "(required)")
    if default is None:
        return "none" if key in ("prior", "constraints") else "(from the command)"
    return f"{default}"


def _bold(text: str) -> Any:
    from rich.text import Text

    return Text(text, style="bold")
