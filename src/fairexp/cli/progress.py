"""How far the runs are: a live bar in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from fairexp.measures import NDCG, ONLINE_NDCG, UF

if TYPE_CHECKING:
    from rich.console import Console

    from fairexp.lab.simulation import Result
    from fairexp.lab.simulation.settings import RunSettings


LINES = 10
"""Lines in all where there is no terminal."""


class Watcher(AbstractContextManager["Watcher"], Protocol):
    """Told of a run's latest row, by the run's number."""

    def __call__(self, number: int, row: dict[str, Any]) -> None: ...


def watcher(runs: Sequence[RunSettings], console: Console) -> Watcher:
    """A bar if `console` is a terminal, else lines."""
    return Bar(runs, console) if console.is_terminal else Lines(runs, console)


class RoundsDone:
    """Rounds done in all, each run's recent NDCG, and the time left, from rows that come now and then."""

    def __init__(self, runs: Sequence[RunSettings], *, clock: Callable[[], float] = time.monotonic) -> None:
        from fairexp.lab.simulation.pool.paces import Paces

        self.runs = runs
        self.total = sum(run.rounds for run in runs)
        self.done = 0
        self._last: list[tuple[int, float]] = [(0, 0.0)] * len(runs)
        self._clock, self._paces = clock, Paces()
        for run in runs:
            self._paces.expect(_kind(run), run.ranker, rounds=run.rounds)
        self._heard: dict[int, float] = {}
        self._began: float | None = None
        self._now = 0.0
        self._played = 0.0
        """Seconds that runs took, those of runs side by side added up."""

    def note(self, number: int, row: dict[str, Any]) -> str:
        """Take in a row; how its run has fared since the row before."""
        from fairexp.lab.metrics import total_discount

        before, sum_before = self._last[number]
        self._time(number, row["round"] - before)
        self.done += row["round"] - before
        self._last[number] = (row["round"], row[ONLINE_NDCG.name])
        weight = total_discount(row["round"], first=before)
        recent = (row[ONLINE_NDCG.name] - sum_before) / weight if weight > 0 else row[NDCG.name] or 0.0
        unfairness = f", {UF} {UF.text(row[UF.name])}" if UF.name in row else ""
        return f"{NDCG} {NDCG.text(recent)}{unfairness}"

    def left(self) -> str:
        """The time left, for people; nothing before rounds were timed.

        Rounds cost what those of the same ranker and user took, and as many runs go on side by side as did so far.
        """
        passed, left = self._now - (self._began or 0.0), self._paces.left()
        if not self._played or not passed or left is None:
            return ""
        return f"{duration(left * passed / self._played)} left"

    def _time(self, number: int, rounds: int) -> None:
        """Note what rounds took; not the first of a run, of which nobody told when they began."""
        self._now, run = self._clock(), self.runs[number]
        if number in self._heard:
            seconds = self._now - self._heard[number]
            self._paces.add(_kind(run), run.ranker, rounds=rounds, seconds=seconds)
            self._played += seconds
        else:
            self._paces.expect(_kind(run), run.ranker, rounds=-rounds)
            self._began = self._now if self._began is None else self._began
        self._heard[number] = self._now


def _kind(run: RunSettings) -> tuple[str, str, str]:
    return run.data.source, run.user, run.ranker


class Bar:
    """One bar over all rounds with the time left, and below it one for each run under way."""

    def __init__(self, runs: Sequence[RunSettings], console: Console) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        self._rounds = RoundsDone(runs)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.fields[now]}", style="dim"),
            console=console,
            transient=True,
        )
        self._whole = self._progress.add_task("all rounds", total=self._rounds.total, now="", left="")
        self._tasks: dict[int, Any] = {}

    def __call__(self, number: int, row: dict[str, Any]) -> None:
        run = self._rounds.runs[number]
        now = self._rounds.note(number, row)
        if number not in self._tasks:
            self._tasks[number] = self._progress.add_task(run.label, total=run.rounds, now=now, left="")
        self._progress.update(self._tasks[number], completed=row["round"], now=now)
        if row["round"] >= run.rounds:
            self._progress.update(self._tasks[number], visible=False)
        self._progress.update(self._whole, completed=self._rounds.done, left=self._rounds.left())

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()


class Lines:
    """About `LINES` lines over all rounds, for logs and pipes."""

    def __init__(self, runs: Sequence[RunSettings], console: Console) -> None:
        self._rounds = RoundsDone(runs)
        self._console = console
        self._told = 0

    def __call__(self, number: int, row: dict[str, Any]) -> None:
        now = self._rounds.note(number, row)
        done, total = self._rounds.done, self._rounds.total
        if done * LINES // total <= self._told:
            return
        self._told = done * LINES // total
        left = self._rounds.left()
        label = self._rounds.runs[number].label
        line = f"{done / total:4.0%}  {done:,} of {total:,} rounds{', ' if left else ''}{left}; {label}: {now}"
        self._console.print(line, markup=False, soft_wrap=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to close."""


def duration(seconds: float) -> str:
    """Seconds for people.

    >>> duration(42), duration(100), duration(600), duration(9000), duration(200000)
    ('42 s', '1.7 min', '10 min', '2.5 h', '2.3 days')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 10 * 60 - 3:
        return f"{seconds / 60:.1f} min"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"


def watch_runs(
    runs: Sequence[RunSettings], *, folder: Path | None, jobs: int | None, console: Console
) -> list[Result | None]:
    """The results of `runs`, None for those that an interrupt kept from starting; notes go to `console`."""
    from fairexp.lab.data import contents
    from fairexp.lab.simulation.pool.batch import run_many
    from fairexp.lab.simulation.settings import loaded_parts

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
    from fairexp.lab.simulation.forecast import by_user
    from fairexp.lab.simulation.run import PlannedRun, run

    kinds = {(settings.ranker, settings.user): settings for settings in reversed(runs)}
    notes = []
    for settings in reversed(kinds.values()):
        if run(replace(settings, rounds=1, n_points=1)).interrupted:
            raise KeyboardInterrupt
        notes.append((settings.user, PlannedRun(settings).notes))
    return by_user(notes)


def notes_beside(runs: Sequence[RunSettings], results: Sequence[Result | None]) -> list[str]:
    """What limits the meaning of these results."""
    from fairexp.lab.simulation.forecast import by_user

    return by_user((run.user, result.notes) for run, result in zip(runs, results, strict=True) if result is not None)


def print_notes(console: Console, notes: Sequence[str]) -> None:
    """Print each note on one line."""
    for note in notes:
        console.print(f"Note: {note}", style="yellow", markup=False, soft_wrap=True)
