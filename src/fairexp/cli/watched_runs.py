"""Runs under the eyes of a person: tried out first, watched, and ended by Ctrl-C without loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairexp.cli.printing.progress import watcher

if TYPE_CHECKING:
    from rich.console import Console

    from fairexp.simulation import Result
    from fairexp.simulation.settings import RunSettings


def watch_runs(
    runs: Sequence[RunSettings], *, folder: Path | None, jobs: int | None, console: Console
) -> list[Result | None]:
    """The results of `runs`, None for those that an interrupt kept from starting; notes go to `console`."""
    from fairexp.data import contents
    from fairexp.simulation.pool.batch import run_many
    from fairexp.simulation.settings import loaded_parts

    notes = try_runs(runs)
    for line in dict.fromkeys(contents(loaded_parts(run.data, run.validate)[0]) for run in runs):
        console.print(line, markup=False, soft_wrap=True)
    print_notes(console, notes)
    with watcher(runs, console) as watch:
        return run_many(runs, folder=folder, jobs=jobs, progress=watch)


def try_runs(runs: Sequence[RunSettings]) -> list[str]:
    """Play one round of every kind of run, keeping nothing; what can be known of the whole runs.

    What cannot work is refused here, before any folder or process is made.
    """
    from fairexp.simulation.forecast import by_user
    from fairexp.simulation.run import PlannedRun, run

    kinds = {(settings.ranker, settings.user): settings for settings in reversed(runs)}
    notes = []
    for settings in reversed(kinds.values()):
        if run(replace(settings, rounds=1, n_points=1)).interrupted:
            raise KeyboardInterrupt
        notes.append((settings.user, PlannedRun(settings).notes))
    return by_user(notes)


def notes_beside(runs: Sequence[RunSettings], results: Sequence[Result | None]) -> list[str]:
    """What limits the meaning of these results."""
    from fairexp.simulation.forecast import by_user

    return by_user((run.user, result.notes) for run, result in zip(runs, results, strict=True) if result is not None)


def print_notes(console: Console, notes: Sequence[str]) -> None:
    """Print each note on one line."""
    for note in notes:
        console.print(f"Note: {note}", style="yellow", markup=False, soft_wrap=True)
