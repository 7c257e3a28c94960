"""Options that several commands share, and parameters set by name."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from fairexp.errors import ArgumentError
from fairexp.yaml_reader import parse_yaml

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
        help="What is where in a table: query=A,grade=B,group=C,features=D+E; default: recognised by their names.",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A column of a table that is no feature and is not read; repeatable."),
]
Queries = Annotated[int | None, typer.Option(min=1, help="Number of queries to serve; default: all.")]
Rankers = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help="A ranker (see `fairexp rankers`); repeatable. Default: pairrank and fairexp-pairrank."
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
        metavar="NAME|FILE", help="perfect (default), navigational, informational, or a YAML file; repeatable."
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
Seeds = Annotated[int | None, typer.Option(min=1, help="Number of seeds (0, 1, ...).")]
Seed = Annotated[int | None, typer.Option(min=0, help="A single seed instead; default: 0.")]
Length = Annotated[int, typer.Option(min=1, help="Documents shown.")]
Exposure = Annotated[
    str, typer.Option(metavar="NAME|FILE|NUMBERS", help="By position: reciprocal, logarithmic, flat, ...")
]
Shares = Annotated[
    str | None,
    typer.Option(
        metavar="RULE|NUMBERS",
        help="What groups are owed: equal (default), size, average_utility, total_utility, or numbers like 1.22,1.",
    ),
]
Beta = Annotated[float | None, typer.Option(help="What group 0 is owed per unit of group 1, for two groups.")]
Out = Annotated[Path | None, typer.Option(help="Keep settings, trace and result of each run here.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Delete runs that --out holds already.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Parallel processes; default: one per core.")]
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


OPTIONS_OF_THEIR_OWN = {"length": "--length", "seed": "--seed or --seeds", "n_features": "--data", "grades": "--data"}


def parse_value(text: str) -> Any:
    """A YAML value; numbers as Python writes them, such as 1e-3 and inf, are numbers too.

    >>> [parse_value(text) for text in ("0.1", "1e-3", "theory", "true", "[1, 2]")]
    [0.1, 0.001, 'theory', True, [1, 2]]
    """
    value = parse_yaml(text, "--set", name=repr(text), expected="a YAML value")
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value


def route(assignments: Sequence[str], rankers: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The parameters of each ranker: `key=value` goes to all that have the key, `ranker.key=value` to one.

    >>> route(["alpha=0.2", "pdgd.decay=0.9"], ["pairrank", "pdgd"])
    {'pairrank': {'alpha': 0.2}, 'pdgd': {'decay': 0.9}}
    """
    accepted = {name: settable(name) for name in rankers}
    routed: dict[str, dict[str, Any]] = {name: {} for name in rankers}
    for assignment in assignments:
        key, separator, text = assignment.partition("=")
        if not separator or not key:
            raise ArgumentError("--set", repr(assignment), "key=value or ranker.key=value")
        ranker, _, parameter = key.rpartition(".")
        if ranker and ranker not in routed:
            raise ArgumentError("--set", repr(assignment), f"one of the chosen rankers ({', '.join(rankers)}) before .")
        if parameter in OPTIONS_OF_THEIR_OWN:
            option = OPTIONS_OF_THEIR_OWN[parameter]
            raise ArgumentError("--set", repr(assignment), "a parameter of the ranker alone", f"Use {option}.")
        takers = [name for name in ([ranker] if ranker else rankers) if parameter in accepted[name]]
        if not takers:
            choices = "; ".join(f"{name}: {', '.join(accepted[name])}" for name in ([ranker] if ranker else rankers))
            raise ArgumentError("--set", repr(assignment), f"a parameter that a chosen ranker has ({choices})")
        for name in takers:
            routed[name][parameter] = parse_value(text)
    return routed


def settable(ranker: str) -> list[str]:
    """The names of the parameters that `--set` may give to `ranker`, sorted."""
    from fairexp.lab.simulation.environment import parameters_of

    return sorted(parameters_of(ranker).keys() - OPTIONS_OF_THEIR_OWN.keys())


def parse_shares(shares: str | None, beta: float | None) -> str | tuple[float, ...]:
    """`--shares` or `--beta` as the settings want them; equal shares where neither is given.

    >>> parse_shares(None, 1.22), parse_shares("2,1,1", None), parse_shares("size", None)
    ((1.22, 1.0), (2.0, 1.0, 1.0), 'size')
    """
    if shares is not None and beta is not None:
        raise ArgumentError("--beta", f"{beta:g} besides --shares {shares}", "one of the two")
    if beta is not None:
        return (beta, 1.0)
    return "equal" if shares is None else numbers_or_name(shares)


def numbers_or_name(text: str) -> str | tuple[float, ...]:
    """Numbers separated by commas, or else the text itself: a name or a file."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        return text


DEFAULT_STORE = "fairexp.db"
DEMO_STORE = "fairexp-demo.db"


class LogLevel(StrEnum):
    """From which level on the log is written."""

    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


class Winner(StrEnum):
    """What counts where file and store differ."""

    file = "file"
    store = "store"


StoreAddress = Annotated[
    str,
    typer.Option(envvar="FAIREXP_STORE", help="Where everything is kept: an SQLite file, or a postgresql:// URL."),
]
Policies = Annotated[Path | None, typer.Option(help="YAML file with the policies to declare.")]
Prefer = Annotated[
    Winner | None,
    typer.Option(help="Which one wins where the file differs from what was changed over the API: file or store."),
]
Discard = Annotated[
    bool, typer.Option("--discard", help="Go ahead even if a policy of the file loses something; see --dry-run.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what the file's policies would change and lose, and leave.")
]
Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")]
FirstKeyFile = Annotated[
    Path | None,
    typer.Option(
        envvar="FAIREXP_KEY_FILE",
        help="Where the first start puts the admin key that it makes; by default beside an SQLite file "
        "(fairexp.db.admin-key), or fairexp-admin.key here.",
    ),
]
Open = Annotated[
    bool,
    typer.Option("--open", help="For trying it out: everybody on this machine may do everything without a key."),
]
Level = Annotated[
    LogLevel,
    typer.Option(
        envvar="FAIREXP_LOG_LEVEL", help="From which level on the log is written: debug, info, warning, error."
    ),
]
NoRequestLog = Annotated[
    bool, typer.Option("--no-request-log", help="No line in the log for each request, unless it is refused.")
]
Changes = Annotated[list[str] | None, typer.Option("--set", help="A setting, as name=value; `--settings` lists them.")]
ListSettings = Annotated[bool, typer.Option("--settings", help="List the settings with their defaults, and leave.")]
Demo = Annotated[bool, typer.Option("--demo", help="Serve an embedded world with simulated users that click; open.")]
