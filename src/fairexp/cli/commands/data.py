"""`fairexp data`: what data there is, and what it is like."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from fairexp.arrays import Floats
from fairexp.cli import data_tables, options
from fairexp.cli.options import numbers_or_name, parse_shares
from fairexp.cli.printing import output_console
from fairexp.errors import ArgumentError
from fairexp.lab.data import COLLECTIONS, WORLDS, Dataset, contents, open_data
from fairexp.lab.data.groups import FORMS

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(help="Look at ranking data: files, published collections, synthetic worlds.", no_args_is_help=True)


@app.command("list")
def list_data() -> None:
    """List the synthetic worlds and the published collections that fairexp knows."""
    console = output_console()
    worlds = Table("world", "features", "documents a query", "group attribute", title="Synthetic worlds (no download)")
    for name, world in WORLDS.items():
        worlds.add_row(name, str(world.n_features), f"about {world.n_documents:g}", world.attribute)
    console.print(worlds)
    known = Table("name", "collection", "features", "grades", "folds", "groups", title="Published collections")
    for name, entry in COLLECTIONS.items():
        counts = (str(entry.n_features), f"0-{entry.n_grades - 1}", str(entry.n_folds))
        known.add_row(name, entry.title, *counts, ", ".join(entry.groups) or "-")
    console.print(known)


@app.command("describe")
def describe_data(
    source: Annotated[str, typer.Argument(help="A file, a synthetic world, or a collection (with --folder).")],
    group: Annotated[str | None, typer.Option(help=f"How to group the documents: {FORMS}.")] = None,
    columns: options.Columns = None,
    ignore: options.Ignore = None,
    folder: Annotated[Path | None, typer.Option(help="Where a collection lies.")] = None,
    fold: Annotated[int, typer.Option(help="Which fold of a collection.")] = 1,
    part: Annotated[str, typer.Option(help="train, vali or test.")] = "train",
    n_queries: Annotated[int | None, typer.Option("--queries", help="Only so many queries.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of a synthetic world.")] = 0,
    tolerance: Annotated[float, typer.Option(min=0, help="Unfairness that a run shall allow.")] = 0.1,
    length: options.Length = 10,
    exposure: options.Exposure = "reciprocal",
    shares: options.Shares = None,
    beta: options.Beta = None,
) -> None:
    """Print sizes and grades, and with groups what they are owed, and how far exposure can be fair to them.

    The table of groups is the paper's: size, utility, and the beta that each gives. How often a tolerance can be kept
    is tried out on random lists, without learning.
    """
    data = open_data(
        source,
        folder=folder,
        fold=fold,
        part=part,
        group=group,
        n_queries=n_queries,
        seed=seed,
        columns=columns,
        ignore=ignore or (),
    )
    console = output_console()
    console.print(contents(data), markup=False, soft_wrap=True)
    console.print(data_tables.sizes(data))
    if data.groups is not None:
        console.print(data_tables.groups(data))
        console.print(data_tables.owed(data))
        told = numbers_or_name(exposure), parse_shares(shares, beta)
        _print_feasibility(console, data, *told, length=length, tolerance=tolerance)
        if data.blanked:
            hidden = ", ".join(data.feature_names[feature - 1] for feature in data.blanked)
            console.print(f"Hidden from rankers: feature {hidden}.", markup=False, soft_wrap=True)
    else:
        console.print("No groups so far: --group RULE chooses them, or a column of groups in a table.")
    for note in data.notes:
        console.print(f"Note: {note}", style="yellow", markup=False, soft_wrap=True)


def _print_feasibility(
    console: Console,
    data: Dataset,
    exposure: str | tuple[float, ...],
    shares: str | tuple[float, ...],
    *,
    length: int,
    tolerance: float,
) -> None:
    """How far exposure can be fair to the groups of `data`, and, where that is too rarely, what it would take."""
    from fairexp.fairness.exposure import exposure_curve
    from fairexp.fairness.feasibility import feasibility, remedies
    from fairexp.lab.simulation.settings import shares_of

    curve, owed, names = exposure_curve(exposure, length), shares_of(shares, data), data.group_names
    assert owed is not None and names is not None
    counts = data.group_counts()
    told = feasibility(counts, exposure=curve, shares=owed, tolerance=tolerance)
    asked = f"lists of {length}, {exposure if isinstance(exposure, str) else 'given'} exposure"
    for table in data_tables.possible(told, names, asked=asked):
        console.print(table)
    if told.is_enough:
        return
    for note in told.notes(names)[1:]:
        console.print(note, style="yellow", markup=False, soft_wrap=True)
    curves = [curve, *_other_lengths(exposure, length)]
    found = remedies(counts, curves=curves, shares=owed, names=names, told=told)
    console.print(data_tables.remedies(found))


def _other_lengths(exposure: str | tuple[float, ...], length: int) -> list[Floats]:
    """The curve for lists of half and twice the length, as far as it is known so far down."""
    from fairexp.fairness.exposure import exposure_curve

    found = []
    for other in (length // 2, 2 * length):
        with contextlib.suppress(ArgumentError):
            found.append(exposure_curve(exposure, other))
    return found
