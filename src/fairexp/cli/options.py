"""The options of `fairexp simulate`, and those of them that other commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    str, typer.Option(metavar="NAME|FILE", help="A world, a collection (see `fairexp data list`) or a file.")
]
Folder = Annotated[Path | None, typer.Option(help="Where a collection lies.")]
Fold = Annotated[int, typer.Option(min=1, help="Which fold of a collection.")]
Heldout = Annotated[Path | None, typer.Option(help="File to evaluate on, beside a --data file.")]
Group = Annotated[
    str | None, typer.Option(metavar="RULE", help="How documents are grouped, e.g. pagerank or 130:0.12.")
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="KEY=NAME,...",
        help="What is where in a table: query=A,grade=B,group=C,features=D+E; guessed by their names unless told.",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A column of a table that is no feature and is not read; repeatable."),
]
Queries = Annotated[int | None, typer.Option(min=1, help="Serve only so many of the queries.")]
Rankers = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help="A ranker (see `fairexp rankers`); repeatable. Unless told: pairrank and fairexp-pairrank."
    ),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A parameter, for all chosen rankers that have it; RANKER.KEY=VALUE for one. Repeatable.",
    ),
]
Users = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME|FILE", help="perfect (unless told), navigational, informational, or a YAML file; repeatable."
    ),
]
StopAfter = Annotated[
    str | None, typer.Option(metavar="click|any", help="When users may leave: after a click, or after any document.")
]
Irrelevant = Annotated[
    str,
    typer.Option(
        metavar="zero|skip",
        help="What NDCG does with queries without a relevant document: count them as 0, or leave them out.",
    ),
]
Rounds = Annotated[int, typer.Option(min=1, help="Queries served in each run.")]
Seeds = Annotated[int | None, typer.Option(min=1, help="Repeat with so many seeds: 0, 1, ...")]
Seed = Annotated[int | None, typer.Option(min=0, help="One seed instead; 0 unless told.")]
Length = Annotated[int, typer.Option(min=1, help="Documents shown.")]
Exposure = Annotated[
    str, typer.Option(metavar="NAME|FILE|NUMBERS", help="By position: reciprocal, logarithmic, flat, ...")
]
Shares = Annotated[
    str | None,
    typer.Option(
        metavar="RULE|NUMBERS",
        help="What groups are owed: equal (unless told), size, average_utility, total_utility, or numbers like 1.22,1.",
    ),
]
Beta = Annotated[float | None, typer.Option(help="What group 0 is owed per unit of group 1, for two groups.")]
Out = Annotated[Path | None, typer.Option(help="Keep settings, trace and result of each run here.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Delete runs that --out holds already.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Processes at once; one per core unless told.")]
Record = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Keep more of each round in the trace: shown, clicked, examined, propensity, blocks; ranker keeps what "
        "was learned; all keeps everything. By commas, or repeated; needs --out.",
    ),
]
Draws = Annotated[
    int, typer.Option(min=1, help="How often lists are redrawn to estimate propensities that are not known exactly.")
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Measure fairness as the field does, too: EE-L, EE-D, EE-R, AWRF, NDKL, DTR, DIR, max-min share, Gini, "
        "item disparity; field for all. By commas, or repeated.",
    ),
]
Track = Annotated[
    str | None,
    typer.Option(metavar="mlflow", help="Hand settings, curves, results and files of each run on to MLflow."),
]
