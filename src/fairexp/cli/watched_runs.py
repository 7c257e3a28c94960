"""Runs under the eyes of a person: tried out first, watched, and ended by Ctrl-C without loss."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairexp.cli.printing.progress import watcher
from fairexp.errors import ToleranceWarning

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

    with _told_already():
        notes = try_runs(runs)
        for line in dict.fromkeys(contents(loaded_parts(run.data, run.validate)[0]) for run in runs):
            console.print(line, markup=False, soft_wrap=True)
        for note in notes:
            console.print(f"Note: {note}", style="yellow", markup=False, soft_wrap=True)
        with watcher(runs, console) as watch:
            return run_many(runs, folder=folder, jobs=jobs, progress=watch)


def try_runs(runs: Sequence[RunSettings]) -> list[str]:
    """Play one round of every kind of run, keeping nothing; the warnings that came up, and what can be foreseen.

    What cannot work is refused here, before any folder or process is made.
    """
    from fairexp.simulation.forecast import forecast
    from fairexp.simulation.run import run

    kinds = {(settings.ranker, settings.user): settings for settings in reversed(runs)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ToleranceWarning)
        for settings in reversed(kinds.values()):
            if run(replace(settings, rounds=1, n_points=1)).interrupted:
                raise KeyboardInterrupt
    foreseen = [note for settings in reversed(kinds.values()) for note in forecast(settings)]
    return list(dict.fromkeys([*(str(warning.message) for warning in caught), *foreseen]))


@contextmanager
def _told_already() -> Iterator[None]:
    """Keep the runs, and the processes that they start, from repeating what `try_runs` has told."""
    from fairexp.simulation.pool.processes import environment

    ignored = ",".join(filter(None, [os.environ.get("PYTHONWARNINGS"), "ignore:tolerance:UserWarning"]))
    with environment({"PYTHONWARNINGS": ignored}), warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceWarning)
        yield
