"""`fairexp simulate`: rankers, users and seeds in all combinations, one table per user."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from fairexp.cli import options
from fairexp.cli.entry import error_console
from fairexp.cli.folders import SUMMARY, make_room
from fairexp.cli.options import numbers_or_name, parse_shares, route
from fairexp.cli.printing import output_console, print_tables, summarise, write_summary
from fairexp.cli.progress import notes_beside, print_notes, watch_runs
from fairexp.errors import ArgumentError
from fairexp.measures import ZERO, check_irrelevant

if TYPE_CHECKING:
    from fairexp.lab.exports.tracking import Tracker
    from fairexp.lab.simulation import Result
    from fairexp.lab.simulation.recorder import Recording
    from fairexp.lab.simulation.settings import RunSettings


def simulate(
    data: options.Data = "mslr-pagerank",
    folder: options.Folder = None,
    fold: options.Fold = 1,
    heldout: options.Heldout = None,
    group: options.Group = None,
    columns: options.Columns = None,
    ignore: options.Ignore = None,
    queries: options.Queries = None,
    ranker: options.Rankers = None,
    assignments: options.Assignments = None,
    user: options.Users = None,
    stop_after: options.StopAfter = None,
    irrelevant: options.Irrelevant = ZERO,
    rounds: options.Rounds = 1000,
    seeds: options.Seeds = None,
    seed: options.Seed = None,
    length: options.Length = 10,
    exposure: options.Exposure = "reciprocal",
    shares: options.Shares = None,
    beta: options.Beta = None,
    out: options.Out = None,
    overwrite: options.Overwrite = False,
    jobs: options.Jobs = None,
    record: options.Record = None,
    draws: options.Draws = 64,
    measure: options.Measures = None,
    track: options.Track = None,
) -> None:
    """Let rankers learn from simulated users, and compare them.

    Every ranker meets every user with every seed. Ctrl-C ends early and keeps what was done.
    """
    from fairexp.lab.simulation.settings import DataSettings, RunSettings

    rankers = list(dict.fromkeys(ranker or ["pairrank", "fairexp-pairrank"]))
    source = DataSettings(
        data, _text(folder), fold, _text(heldout), group, queries, columns=columns, ignore=tuple(ignore or ())
    )
    given = route(assignments or [], rankers)
    common: dict[str, Any] = {
        "data": source,
        "stop_after": stop_after,
        "irrelevant": check_irrelevant(irrelevant),
        "rounds": rounds,
        "length": length,
        "exposure": numbers_or_name(exposure),
        "shares": parse_shares(shares, beta),
        "recording": _recording(record, draws, measure, out),
    }
    runs = [
        RunSettings(ranker=name, parameters=given[name], user=who, seed=number, **common)
        for who in dict.fromkeys(user or ["perfect"])
        for name in rankers
        for number in _seeds(seed, seeds)
    ]
    _check_labels(runs)
    tracker = _tracker(track)
    if out is not None:
        make_room(out, overwrite=overwrite)
    results = watch_runs(runs, folder=out, jobs=jobs, console=error_console())
    if tracker is not None:
        place = tracker.log_runs(runs, results, folder=out)
        error_console().print(f"Tracked in {place}", markup=False, soft_wrap=True)
    report(runs, results, out)


def report(runs: Sequence[RunSettings], results: Sequence[Result | None], out: Path | None) -> None:
    """Print the tables, write the summary of several seeds, and tell of an interrupt with exit code 130."""
    summaries = summarise(runs, results)
    console = output_console()
    print_tables(console, summaries)
    print_notes(console, notes_beside(runs, results))
    if out is not None and summaries and any(line.n_seeds > 1 for line in summaries):
        write_summary(out / SUMMARY, summaries)
    if out is not None and summaries:
        console.print(f"Kept in {out}", markup=False, soft_wrap=True)
    finished = sum(result is not None and not result.interrupted for result in results)
    if finished < len(runs):
        cut = sum(result is not None and result.interrupted and result.rounds > 0 for result in results)
        kept = "kept" if out is not None else "shown (there was no --out to keep them in)"
        line = f"Interrupted: {finished} of {len(runs)} runs finished, {cut} cut short; their rounds are {kept}."
        error_console().print(line, style="yellow", markup=False, soft_wrap=True)
        raise typer.Exit(130)


def _recording(record: list[str] | None, draws: int, measure: list[str] | None, out: Path | None) -> Recording:
    from fairexp.lab.simulation.recorder import Recording

    recording = Recording(",".join(record or []) or (), ",".join(measure or []) or (), draws)
    if recording.columns and out is None:
        raise ArgumentError("--record", ", ".join(recording.columns), "--out as well, a folder to keep it in")
    return recording


def _tracker(name: str | None) -> Tracker | None:
    if name is None:
        return None
    from fairexp.lab.exports.tracking import find_tracker

    return find_tracker(name)


def _seeds(seed: int | None, seeds: int | None) -> Sequence[int]:
    if seed is not None and seeds is not None:
        raise ArgumentError("--seed", f"{seed} besides --seeds {seeds}", "one of the two")
    return range(seeds) if seeds is not None else [seed or 0]


def _check_labels(runs: Sequence[RunSettings]) -> None:
    """Two user files of one name would share a folder."""
    users = {run.label: run.user for run in runs}
    for run in runs:
        if users[run.label] != run.user:
            raise ArgumentError("--user", f"{run.user} and {users[run.label]}", "files of different names")


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
