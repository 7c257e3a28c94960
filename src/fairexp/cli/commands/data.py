"""`fairexp data`: what data there is, and what it is like."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from fairexp.data import COLLECTIONS, WORLDS, Dataset, describe, group_shares, group_table, open_data
from fairexp.data.describe import SHARE_RULES
from fairexp.data.groups import FORMS
from fairexp.errors import ArgumentError

app = typer.Typer(help="Look at ranking data: files, published collections, synthetic worlds.", no_args_is_help=True)


@app.command("list")
def list_data() -> None:
    """List the synthetic worlds and the published collections that fairexp knows."""
    console = Console()
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
    source: Annotated[str, typer.Argument(help="A LETOR file, a synthetic world, or a collection (with --folder).")],
    group: Annotated[str | None, typer.Option(help=f"How to group the documents: {FORMS}.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Where a collection lies.")] = None,
    fold: Annotated[int, typer.Option(help="Which fold of a collection.")] = 1,
    part: Annotated[str, typer.Option(help="train, vali or test.")] = "train",
    n_queries: Annotated[int | None, typer.Option("--queries", help="Only so many queries.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of a synthetic world.")] = 0,
) -> None:
    """Print sizes and grades, and with groups the paper's table: size, utility, and the beta that each gives."""
    data = open_data(source, folder=folder, fold=fold, part=part, group=group, n_queries=n_queries, seed=seed)
    console = Console()
    table = Table("", "", title=data.name, show_header=False)
    for row in describe(data):
        table.add_row(*row)
    console.print(table)
    if data.groups is not None:
        console.print(_groups(data))
        console.print(_betas(data))
        if data.blanked:
            console.print(f"Hidden from rankers: feature {', '.join(map(str, data.blanked))}.")


def _groups(data: Dataset) -> Table:
    table = Table("group", "", "size", "share", "average utility", "total utility", title="Groups")
    for number, row in enumerate(group_table(data)):
        cells = (f"{row.size:,}", f"{row.share:.2%}", f"{row.average_utility:.4f}", f"{row.total_utility:,}")
        table.add_row(str(number), row.name, *cells)
    return table


def _betas(data: Dataset) -> Table:
    """The shares by each rule and, for two groups, the beta that they make."""
    title = "Exposure that each rule asks for"
    table = Table("by", "shares", *(["beta"] if data.n_groups == 2 else []), title=title)
    for rule in SHARE_RULES:
        try:
            shares = group_shares(data, by=rule)
        except ArgumentError:  # a group without a single relevant document
            table.add_row(rule.replace("_", " "), "undefined: a group would get nothing")
            continue
        beta = [f"{shares[0] / shares[1]:.3f}"] if len(shares) == 2 else []
        table.add_row(rule.replace("_", " "), " : ".join(f"{share:.3f}" for share in shares), *beta)
    return table
