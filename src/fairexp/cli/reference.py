"""docs/cli.md, made from the commands themselves: `python -m fairexp.cli.reference > docs/cli.md`.

It reads what the commands declare, not what a terminal shows, so it is the same for any width, colour and version.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer

from fairexp.cli.entry import COMMANDS, app, load_command

HEAD = """\
# The command line

Made by `python -m fairexp.cli.reference > docs/cli.md`; a test fails when it is out of date. Every command also
explains itself with `--help`. An error is printed on one line, with exit code 2; `FAIREXP_DEBUG=1` shows the traceback.
Ctrl-C keeps what was done and exits with code 130.
"""


def reference() -> str:
    """The page, in Markdown."""
    root = typer.main.get_command(app)
    parts = [HEAD, *_section("fairexp", root)]
    for name in COMMANDS:
        for title, command in _with_children(f"fairexp {name}", load_command(name)):
            parts += _section(title, command)
    return "\n".join(parts)


def _with_children(title: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield title, command
    for name, child in getattr(command, "commands", {}).items():
        yield from _with_children(f"{title} {name}", child)


def _section(title: str, command: Any) -> Iterator[str]:
    """A heading, the help, and tables of arguments and options."""
    yield f"\n## {title}\n"
    yield inspect.cleandoc(command.help or "").replace("\n", " ").replace("  ", "\n\n") + "\n"
    shown = [parameter for parameter in command.params if parameter.name != "help"]
    for kind, heading in (("argument", "argument"), ("option", "option")):
        rows = [_row(parameter) for parameter in shown if parameter.param_type_name == kind]
        if rows:
            yield "\n".join([f"| {heading} | default | |", "| --- | --- | --- |", *rows]) + "\n"


def _row(parameter: Any) -> str:
    is_option = parameter.param_type_name == "option"
    name = max(parameter.opts, key=len) if is_option else parameter.name.upper()
    if is_option and not parameter.is_flag:
        name = f"{name} {parameter.metavar or parameter.name.upper()}"
    plain = parameter.default is None or parameter.default is False or parameter.default in ((), [])
    default = "required" if parameter.required else "" if plain else f"`{parameter.default}`"
    cells = (f"`{name}`", default, parameter.help or "")
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    typer.echo(reference(), nl=False)
