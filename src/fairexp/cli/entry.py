"""`fairexp` itself: which commands there are, loaded when called for, and errors told in one line."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand

from fairexp import __version__
from fairexp.cli.plain_values import PlainCommand, PlainGroup
from fairexp.errors import FairexpError

if TYPE_CHECKING:
    from rich.console import Console


class Entry(NamedTuple):
    """Where a command lives: `module:attribute` is a function or a Typer app; `help` is its first line."""

    place: str
    help: str


COMMANDS = {
    "demo": Entry("demo:demo", "Watch five rankers learn, and see what fair exposure buys and what it costs."),
    "simulate": Entry("simulate:simulate", "Let rankers learn from simulated users, and compare them."),
    "rankers": Entry("rankers:rankers", "List the rankers, or describe one with all its parameters."),
    "data": Entry("data:app", "Look at ranking data: files, published collections, synthetic worlds."),
    "experiment": Entry("experiment:app", "Run, resume, watch and report experiments that are written in YAML."),
    "reproduce": Entry("reproduce:reproduce", "Repeat the paper's experiments, and judge each of its findings."),
    "frontier": Entry(
        "frontier:frontier",
        "Sweep fair rankers over their trade-offs: who has more NDCG at the same unfairness.",
    ),
    "serve": Entry("serve:serve", "Rank, learn and stay fair over HTTP."),
    "keys": Entry("keys:app", "Make, list and revoke the keys of a service, by role and by policy."),
    "policy": Entry("policy:app", "Look at the policies of a running service, change them, and bring versions back."),
    "audit": Entry("audit:audit", "Check that a store is what the service wrote."),
    "erase": Entry("erase:erase", "Erase what a running service keeps about a user."),
    "export": Entry("export:app", "Turn runs into files that other tools read: TREC runs, logs for off-policy work."),
    "evaluate": Entry(
        "evaluate:evaluate", "Estimate what a ranker would earn, from the clicks on what another has shown."
    ),
    "learn": Entry(
        "learn:learn",
        "Learn weights and exposure from past rankings and clicks, for a ranker or a policy to start from.",
    ),
    "exposure": Entry(
        "exposure:exposure",
        "Estimate the exposure curve: clicks at each position relative to position 1, on randomised rankings.",
    ),
}


class Commands(PlainGroup):
    """A group that imports a command only when it runs, so that `fairexp --help` stays quick."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Enough of the command to list it."""
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name].help) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)
        return name, load_command(name), rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what the library refuses becomes one line on stderr and exit code 2."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (FairexpError, OSError) as error:
            if os.environ.get("FAIREXP_DEBUG"):
                raise
            _say(f"Error: {_one_line(error)}", style="red")
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            _say("Interrupted.", style="yellow")
            raise typer.Exit(130) from None


def load_command(name: str | None) -> Any:
    """The command called `name`, imported and ready to run."""
    assert name is not None
    module, _, attribute = COMMANDS[name].place.partition(":")
    found = getattr(import_module(f"fairexp.cli.commands.{module}"), attribute)
    holder = typer.Typer(add_completion=False)
    if isinstance(found, typer.Typer):
        holder.add_typer(found, name=name)
        return typer.main.get_group(holder).commands[name]
    holder.command(name, cls=PlainCommand)(found)
    return typer.main.get_command(holder)


app = typer.Typer(cls=Commands, add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fairexp {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Rank, learn from clicks, and keep the exposure of provider groups fair at every round."""


def main() -> None:
    """The entry point of the `fairexp` command."""
    # The matrices are small: threads of BLAS only wait for each other. To be said before numpy is first imported.
    for library in ("OPENBLAS", "OMP", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    app(prog_name="fairexp")


def error_console() -> Console:
    """Where progress, notes and errors go: stderr, so that stdout holds results only."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def _say(message: str, *, style: str) -> None:
    error_console().print(message, style=style, markup=False, soft_wrap=True)


def _one_line(error: FairexpError | OSError) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())
