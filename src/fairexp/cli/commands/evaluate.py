"""`fairexp evaluate`: what one ranker would earn, from the log of another."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairexp.cli import options
from fairexp.cli.entry import error_console
from fairexp.cli.options import route
from fairexp.errors import ArgumentError, ToleranceWarning

if TYPE_CHECKING:
    from rich.table import Table

    from fairexp.lab.offpolicy import BanditLog, Evaluation
    from fairexp.ranker import Ranker
    from fairexp.statistics import Effect


def evaluate(
    log: Annotated[
        Path,
        typer.Argument(
            help="A log of `fairexp export bandit`, or a table as for `fairexp learn` with a column propensity."
        ),
    ],
    ranker: Annotated[
        str | None, typer.Option(metavar="NAME", help="The ranker to evaluate, as it is before it learns.")
    ] = None,
    assignments: options.Assignments = None,
    run: Annotated[
        Path | None, typer.Option(help="Or the ranker as it was at the end of this run (of --record ranker).")
    ] = None,
    features: Annotated[str | None, typer.Option(help="Columns that are features, by commas; default: all.")] = None,
    draws: Annotated[int, typer.Option(min=1, help="Lists drawn for each context, where chance is not known.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Root of all randomness.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the estimates to this .json file.")] = None,
) -> None:
    """Estimate what a ranker would earn, from the clicks on what another has shown.

    Clicks for each list, by inverse propensities (IPS), self-normalised (SNIPS) and doubly robust (DR), with 95%
    intervals where enough rounds carry them. They hold for users whose click on a document depends on it and its
    position, not on the other documents. By whole lists, where their probabilities are known, holds for all users and
    is noisier.
    """
    from fairexp.cli.printing import output_console
    from fairexp.lab.data import feature_line
    from fairexp.lab.exports.runs import KeptRun
    from fairexp.lab.offpolicy import evaluate as evaluate_on
    from fairexp.lab.offpolicy.files import read_bandit_log

    if (ranker is None) == (run is None):
        raise ArgumentError("--ranker or --run", "neither" if run is None else "both", "one of the two")
    if out is not None and out.suffix != ".json":
        raise ArgumentError("--out", repr(str(out)), "a file name that ends in .json")
    record = read_bandit_log(log, features=tuple(features.split(",")) if features else ())
    if record.feature_names is not None:
        error_console().print(feature_line(record.feature_names), markup=False, soft_wrap=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceWarning)  # told when the run was played
        target = KeptRun(run).ranker() if run is not None else _built(str(ranker), assignments or [], record)
    name = str(run if run is not None else ranker)
    with _progress() as tell:
        found = evaluate_on(record, target, n_draws=draws, seed=seed, on_progress=tell)
    console = output_console()
    title = f"Clicks for each list of {name}, from {record.n_rounds:,} rounds"
    console.print(title, style="italic", markup=False, soft_wrap=True)
    console.print(_table(found))
    worth = f"Worth {found.effective_rounds:,.0f} rounds of its own; mean weight {found.mean_weight:.3f}"
    console.print(worth, style="italic", markup=False, soft_wrap=True)
    for warning in _warnings(found, target):
        error_console().print(f"Note: {warning}", style="yellow", markup=False, soft_wrap=True)
    if out is not None:
        out.write_text(json.dumps({"target": name, "rounds": record.n_rounds, **asdict(found)}, indent=2) + "\n")


def _built(name: str, assignments: list[str], log: BanditLog) -> Ranker:
    import numpy as np

    from fairexp.fairness.exposure import exposure_curve
    from fairexp.lab.simulation.environment import Environment, ranker_for

    n_groups = 0 if log.groups is None else int(log.groups.max()) + 1
    environment = Environment(
        n_features=log.features.shape[1],
        length=log.length,
        exposure=exposure_curve("reciprocal", log.length),
        shares=np.ones(n_groups) if n_groups > 1 else None,
        grades=dict,
        seed=0,
        feature_names=log.feature_names,
    )
    return ranker_for(name, environment, route(assignments, [name])[name])


@contextmanager
def _progress() -> Iterator[Callable[[int, int], object]]:
    from rich.progress import Progress

    with Progress(console=error_console(), transient=True) as progress:
        task = progress.add_task("What the ranker would show", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _table(found: Evaluation) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0), pad_edge=False)
    for heading in ("", "clicks", "95% interval"):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for label, value in (("IPS", found.ips), ("SNIPS", found.snips), ("DR", found.dr), ("as logged", found.logged)):
        table.add_row(label, f"{value.mean:.4f}", _interval(value))
    if found.lists is not None:
        table.add_row("IPS by whole lists", f"{found.lists.mean:.4f}", _interval(found.lists))
    return table


def _interval(value: Effect) -> str:
    return "-" if value.low is None else f"{value.low:.4f} to {value.high:.4f}"


def _warnings(found: Evaluation, target: Ranker) -> list[str]:
    from fairexp.lab.offpolicy.estimates import MIN_ROUNDS

    told = []
    needs = f"An interval takes {MIN_ROUNDS} effective rounds, of those with clicks too, and a mean weight of 1."
    if found.ips.low is None:
        told.append(
            f"no intervals: the log is worth {found.effective_rounds:,.0f} rounds of this ranker's own, with a mean "
            f"weight of {found.mean_weight:.3f}. {needs}"
        )
    if found.lists is None:
        told.append(
            "how probable whole lists are is not known here: these estimates hold for position-based users alone, not "
            "for users who leave after a good document."
        )
    elif found.lists.low is None:
        told.append(f"no interval by whole lists: by them the log is worth {found.list_rounds:,.0f} rounds. {needs}")
    if target.keeps_account:
        told.append("it keeps an account of exposure; this is the value of its next list, the account being as it is.")
    return told
