"""`fairexp learn`: from past rankings and clicks to what a ranker or a policy can start from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairexp.cli import options
from fairexp.cli.entry import error_console
from fairexp.cli.options import numbers_or_name
from fairexp.errors import ArgumentError

if TYPE_CHECKING:
    from rich.table import Table

    from fairexp.fairness.exposure import ExposureEstimate
    from fairexp.lab.logs.learned import Learned
    from fairexp.lab.logs.record import Log

HARVEST = "harvest"
MOST_ROWS = 20


class Scaling(StrEnum):
    """In which units weights are wanted."""

    none = "none"
    query = "query"


def learn(
    log: Annotated[
        Path,
        typer.Argument(
            help="Past rankings: .csv, .jsonl or .parquet with a row for each document shown (ranking, click or grade, "
            "position, query, document, features); UBI events; or a LETOR file with grades."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Write what was learned to this .json file.")],
    exposure: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE|NUMBERS|harvest",
            help="How exposed positions were: reciprocal, logarithmic, flat, a file of `fairexp exposure`, numbers; or "
            "harvest, from documents that the log shows at several positions for one query.",
        ),
    ] = "reciprocal",
    features: Annotated[
        str | None,
        typer.Option(help="Columns to learn from, by commas; default: all numbers that are features by name."),
    ] = None,
    ignore: options.Ignore = None,
    scaling: Annotated[
        Scaling, typer.Option(help="Weights by the features' own units, or by their range in each query.")
    ] = Scaling.none,
    strength: Annotated[
        float | None, typer.Option(min=0, help="Observations that this is worth; default: as many as were seen.")
    ] = None,
    queries: Annotated[Path | None, typer.Option(help="The queries of UBI events.")] = None,
    items: Annotated[Path | None, typer.Option(help="What is known of each document of UBI events.")] = None,
    action: Annotated[str, typer.Option(help="Which UBI events are clicks.")] = "click",
) -> None:
    """Learn weights and exposure from past rankings and clicks, for a ranker or a policy to start from."""
    from fairexp.cli.printing import output_console
    from fairexp.lab.data import feature_line
    from fairexp.lab.logs.files import read_log, scaled_by_query
    from fairexp.lab.logs.learned import learn as learn_from

    if out.suffix != ".json":
        raise ArgumentError("--out", repr(str(out)), "a file name that ends in .json")
    with _told() as tell:
        tell(f"Reading {log}")
        chosen = tuple(features.split(",")) if features else ()
        record = read_log(log, queries=queries, items=items, action=action, features=chosen, ignore=ignore or ())
        record = scaled_by_query(record) if scaling is Scaling.query else record
        for line in (feature_line(record.names), *(f"Note: {note}" for note in record.notes)):
            error_console().print(line, markup=False, soft_wrap=True)
        size = f"{record.n_rankings:,} rankings, {len(record.names)} features"
        tell(f"{size}: how exposed positions were")
        curve = None if record.grades is not None else _curve(exposure, record)
        learned = learn_from(record, curve, strength=strength, on_progress=lambda step: tell(f"{size}: step {step}"))
    learned.save(out)
    console = output_console()
    if curve is not None and exposure == HARVEST:
        console.print(_curve_table(curve))
    console.print(_weights_table(learned))
    console.print(_in_words(learned), soft_wrap=True)
    advice = f"Start from it: {_ways(scaling, out)}."
    error_console().print(advice, markup=False, soft_wrap=True)


def _ways(scaling: Scaling, out: Path) -> str:
    """What takes weights in these units."""
    policy = f"`prior: {{file: {out}}}` in a policy"
    if scaling is Scaling.query:
        return f"{policy} with `scaling: query`, or `fairexp simulate --set prior={out}`"
    return f"{policy}; for `fairexp simulate`, which scales by query, learn with --scaling query"


@contextmanager
def _told() -> Iterator[Callable[[str], None]]:
    """A line on stderr that says what is being done, and since when."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=error_console(), transient=True) as progress:
        task = progress.add_task("")
        yield lambda words: progress.update(task, description=words)


def _curve(spec: str, log: Log) -> ExposureEstimate:
    import numpy as np

    from fairexp.fairness.exposure import ExposureEstimate, exposure_curve
    from fairexp.lab.logs.exposure import harvested_exposure

    length = int(log.positions.max())
    if spec == HARVEST:
        return harvested_exposure(log, length=length)
    return ExposureEstimate(exposure_curve(numbers_or_name(spec), length), np.zeros(length), log.n_rankings)


def _curve_table(curve: ExposureEstimate) -> Table:
    from rich.table import Table

    table = Table(
        "position", "exposure", "±", box=None, padding=(0, 2, 0, 0), title="Exposure by position", title_justify="left"
    )
    for position, (value, error) in enumerate(zip(curve.curve, curve.standard_error, strict=True), start=1):
        table.add_row(str(position), f"{value:.4f}", f"{error:.4f}")
    return table


def _weights_table(learned: Learned) -> Table:
    """The weights, first those that over their feature's range change the log-odds of a preference most."""
    import numpy as np
    from rich.table import Table

    headings = ("feature", "weight", "±", "over its range", "±")
    table = Table(*headings, box=None, padding=(0, 2, 0, 0), title="Weights", title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    effects = learned.prior.weights * learned.range
    for number in np.argsort(-np.abs(effects), kind="stable")[:MOST_ROWS]:
        weight, deviation, reach = learned.prior.weights[number], learned.standard_error[number], learned.range[number]
        effect = f"{effects[number]:+.3f}", f"{deviation * reach:.3f}"
        table.add_row(learned.names[number], f"{weight:+.4g}", f"{deviation:.2g}", *effect)
    if len(effects) > MOST_ROWS:
        table.add_row(f"and {len(effects) - MOST_ROWS} more")
    return table


def _in_words(learned: Learned) -> str:
    """How much was seen, what it is worth, and how well it carries over."""
    seen = f"{learned.n_rankings:,} rankings, {learned.n_preferences:,} preferences; ± one standard error."
    worth = f"Worth {learned.prior.strength:,.0f} observed pairs."
    share, error = learned.ordered
    if not share >= 0.0:
        return f"{seen} {worth}"
    return (
        f"{seen} {worth}\nWeights from nine tenths of the queries order {share:.1%} ± {error:.1%} of the rest rightly."
    )
