"""`fairexp exposure`: estimate how much attention each position gets, from simulated or from logged clicks."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from fairexp.cli import options
from fairexp.cli.entry import error_console
from fairexp.errors import ArgumentError, DataError
from fairexp.fairness.exposure import ExposureEstimate, estimate_exposure, exposure_curve
from fairexp.lab.data import Dataset, contents, open_data
from fairexp.lab.users import User, load_user, preset_grades
from fairexp.lab.users.interventions import randomised_clicks, swapped_clicks


class Method(StrEnum):
    """How the rankings were randomised."""

    randomise = "randomise"
    swap = "swap"


def exposure(
    data: Annotated[
        str | None, typer.Option(help="A synthetic world's name, or a file of LETOR text or a table.")
    ] = None,
    columns: options.Columns = None,
    ignore: options.Ignore = None,
    clicks: Annotated[
        Path | None,
        typer.Option(
            help="Logged clicks instead of simulated ones: .npy, .csv or .parquet, one session per row, one column per "
            "position; with --method swap a last column names the position (from 2) paired with position 1."
        ),
    ] = None,
    user: Annotated[str, typer.Option(help="perfect, navigational, informational, or a YAML file.")] = "navigational",
    stop_after: Annotated[str | None, typer.Option(help="When users may leave: click, or any document read.")] = None,
    grades: Annotated[int | None, typer.Option(help="Grades of the data; by default the fewest that cover it.")] = None,
    method: Annotated[Method, typer.Option(help="Shuffle whole lists, or exchange two positions.")] = Method.randomise,
    sessions: Annotated[int, typer.Option(min=1, help="Sessions to simulate.")] = 100_000,
    length: Annotated[int, typer.Option(min=1, help="Positions shown.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Root of all randomness.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Save the curve to a .json or .csv file.")] = None,
) -> None:
    """Estimate the exposure curve: clicks at each position relative to position 1, on randomised rankings."""
    if (data is None) == (clicks is None):
        given = "neither" if data is None else "both"
        raise ArgumentError("--data or --clicks", given, "one of the two")
    if out is not None and out.suffix not in (".json", ".csv"):
        raise ArgumentError("--out", repr(str(out)), "a file name that ends in .json or .csv")
    if clicks is not None:
        estimate = _from_log(clicks, method)
        source = str(clicks)
    else:
        dataset = open_data(str(data), columns=columns, ignore=ignore or ())
        for line in (contents(dataset), *(f"Note: {note}" for note in dataset.notes)):
            error_console().print(line, markup=False, soft_wrap=True)
        reader_seed, list_seed = np.random.SeedSequence(seed).spawn(2)
        reader = _reader(user, dataset, grades, stop_after, reader_seed)
        estimate = _simulate(dataset, reader, method, length, sessions, list_seed)
        source = f"{user} users on {data}"
    _show(estimate, f"Exposure by position: {source}")
    if out is not None:
        estimate.save(out)


def _reader(
    name: str, dataset: Dataset, grades: int | None, stop_after: str | None, seed: np.random.SeedSequence
) -> User:
    is_file = Path(name).is_file()
    n_grades = grades if grades is not None or is_file else preset_grades(dataset.max_grade)
    return load_user(name, n_grades=n_grades, stop_after=stop_after, seed=seed)


def _simulate(
    dataset: Dataset, reader: User, method: Method, length: int, n_sessions: int, seed: np.random.SeedSequence
) -> ExposureEstimate:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("Simulating sessions", total=n_sessions)

        def advance(done: int) -> None:
            progress.update(task, completed=done)

        if method is Method.swap:
            swapped, partner = swapped_clicks(
                dataset, reader, length=length, n_sessions=n_sessions, seed=seed, on_progress=advance
            )
            return estimate_exposure(swapped, partner=partner)
        shuffled = randomised_clicks(
            dataset, reader, length=length, n_sessions=n_sessions, seed=seed, on_progress=advance
        )
        return estimate_exposure(shuffled)


def _from_log(path: Path, method: Method) -> ExposureEstimate:
    table = _read_table(path)
    if method is Method.randomise:
        return estimate_exposure(table)
    partner = table[:, -1]
    if table.dtype.kind != "b" and np.array_equal(partner, partner.astype(np.int64)):
        return estimate_exposure(table[:, :-1], partner=partner.astype(np.int64))
    raise DataError(path, "the last column must name the position (from 2) that was paired with position 1")


def _read_table(path: Path) -> NDArray[Any]:
    """The numbers in a file of sessions, (S, columns)."""
    if not path.is_file():
        raise ArgumentError("--clicks", f"{str(path)!r}, which does not exist", "a .npy, .csv or .parquet file")
    if path.suffix not in (".npy", ".csv", ".parquet"):
        raise ArgumentError("--clicks", repr(str(path)), "a .npy, .csv or .parquet file")
    import pyarrow as pa

    try:
        table = _load(path)
    except (ValueError, OSError, EOFError, pa.ArrowException) as error:
        raise DataError(path, f"cannot be read as {path.suffix} ({error})") from error
    if table.ndim != 2 or table.shape[1] < 2 or table.dtype.kind not in "biuf":
        raise DataError(path, f"holds {table.dtype} of shape {table.shape}; expected one row of 0s and 1s per session")
    return table


def _load(path: Path) -> NDArray[Any]:
    if path.suffix == ".npy":
        return np.asarray(np.load(path, allow_pickle=False))
    if path.suffix == ".parquet":
        from pyarrow import parquet

        columns = parquet.read_table(path).columns
    else:
        from pyarrow import csv

        with path.open(encoding="utf-8") as file:
            first = file.readline().strip().lower().split(",")
        has_names = not all(cell.strip() in ("true", "false") or cell.strip().isdigit() for cell in first)
        columns = csv.read_csv(path, read_options=csv.ReadOptions(autogenerate_column_names=not has_names)).columns
    return np.column_stack([np.asarray(column.to_numpy()) for column in columns])


def _show(estimate: ExposureEstimate, title: str) -> None:
    from rich.console import Console
    from rich.table import Table

    reciprocal = exposure_curve("reciprocal", len(estimate.curve))
    table = Table(title=title, caption=f"{estimate.n_sessions:,} sessions; ± one standard error")
    for heading in ("position", "exposure", "±", "1/p", "difference"):
        table.add_column(heading, justify="right")
    for position, (value, error, other) in enumerate(
        zip(estimate.curve, estimate.standard_error, reciprocal, strict=True), start=1
    ):
        table.add_row(str(position), f"{value:.4f}", f"{error:.4f}", f"{other:.4f}", f"{value - other:+.4f}")
    Console().print(table)
