"""What `fairexp experiment` and `fairexp reproduce` share: carrying out under a person's eyes, plans, and status."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairexp.cli.entry import error_console
from fairexp.cli.printing import output_console
from fairexp.cli.progress import duration
from fairexp.errors import ArgumentError

if TYPE_CHECKING:
    from rich.console import Console

    from fairexp.lab.experiments.conduct import Progress
    from fairexp.lab.experiments.plan.spec import Experiment
    from fairexp.lab.experiments.run.plan import Plan
    from fairexp.lab.experiments.run.records import Records

LINES = 25
"""Lines of progress in all where there is no terminal."""


def open_records(experiment: Experiment, out: str | None, *, folders: Sequence[Path] = ()) -> Records:
    """The records at `out`, or where the experiment says, or in results/NAME."""
    from fairexp.lab.experiments.plan.paths import records_place
    from fairexp.lab.experiments.run.records import Records
    from fairexp.lab.experiments.store import open_records_store

    return Records(open_records_store(out or records_place(experiment, home(folders))))


def home(folders: Sequence[Path]) -> Path | None:
    """The folder that the experiment's paths are seen from."""
    return next(iter(folders), None)


def report_folder(records: Records) -> Path:
    """`report` beside local records; in this folder where the records are elsewhere."""
    place = records.store.place
    return Path("report") if "://" in place else Path(place) / "report"


def check_report(folder: Path | None) -> None:
    """Refuse what would keep the report from being written, before hours are spent on its runs."""
    from fairexp.charts.extra import altair, vl_convert

    altair(), vl_convert()
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        expected = "a folder, or a place where one can be made"
        raise ArgumentError("--report", f"{str(folder)!r} ({error})", expected) from error


def conduct_watched(
    experiment: Experiment, records: Records, *, folders: Sequence[Path], on: str, jobs: int | None, retry: bool
) -> None:
    """Play what is missing, with progress on stderr."""
    from fairexp.lab.experiments.conduct import conduct
    from fairexp.lab.experiments.run.executors import open_executor

    console = error_console()
    watcher = Watching(console)

    def tell(line: str) -> None:
        console.print(line, style="dim", markup=False, soft_wrap=True)

    executor = open_executor(on, jobs=jobs, tell=tell)
    try:
        conduct(
            experiment,
            records,
            executor,
            folder=home(folders),
            paths=search_paths(folders),
            command=typed_command(),
            retry=retry,
            watch=watcher,
            tell=tell,
        )
    except KeyboardInterrupt:
        watcher.close()
        tell(f"{len(records.done()):,} records are kept in {records.store.place}; the same command goes on from there.")
        raise
    watcher.close()


@contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """Something to tell what is being done: a line that is rewritten in a terminal, lines elsewhere."""
    console = error_console()
    if not console.is_terminal:
        yield lambda line: console.print(line, style="dim", markup=False, soft_wrap=True)
        return
    with console.status("") as status:
        yield lambda line: status.update(line)


def search_paths(folders: Sequence[Path]) -> tuple[str, ...]:
    """Where rankers by import path are looked for: beside the experiment's files, and here."""
    found = tuple(str(path) for path in dict.fromkeys([*folders, Path.cwd()]))
    sys.path[:0] = [path for path in found if path not in sys.path]
    return found


def typed_command() -> str:
    """The command line as it was typed."""
    return shlex.join(["fairexp", *sys.argv[1:]])


def show_plan(experiment: Experiment, records: Records, *, folders: Sequence[Path], on: str, jobs: int | None) -> Plan:
    """Measure and print how long the runs that are missing will take."""
    from fairexp.lab.experiments.plan.paths import located
    from fairexp.lab.experiments.plan.prepared import prepare
    from fairexp.lab.experiments.run.executors import open_executor
    from fairexp.lab.experiments.run.plan import make_plan
    from fairexp.lab.experiments.run.probes import try_kinds

    console = error_console()

    def tell(line: str) -> None:
        console.print(line, style="dim", markup=False, soft_wrap=True)

    executor = open_executor(on, jobs=jobs, tell=tell)
    paths = search_paths(folders)
    experiment = located(experiment, home(folders))
    folds = prepare(experiment, tell=tell)
    for note in try_kinds(experiment, folds, executor, paths=paths):
        console.print(f"note: {note}", style="yellow", markup=False, soft_wrap=True)
    console.print("measuring how long each kind of run takes", style="dim")
    plan = make_plan(experiment, folds, executor, records=records, paths=paths)
    output_console().print(plan_table(plan))
    done = f" ({plan.n_done:,} are done already)" if plan.n_done else ""
    low, high = (duration(seconds) for seconds in plan.range)
    about = f"about {duration(plan.seconds)} (between {low} and {high})" if plan.n_runs else "no time"
    line = f"{plan.n_runs:,} runs{done}: {about} with {plan.jobs} at once, and the report."
    output_console().print(line, markup=False)
    if plan.busy > 1.2:
        share = f"each process got {1 / plan.busy:.0%} of a core while this was measured; alone, all takes "
        line = f"Other programs are at work: {share}about {duration(plan.seconds / plan.busy)}."
        output_console().print(line, markup=False, soft_wrap=True)
    return plan


def plan_table(plan: Plan) -> Any:
    """The plan by data and ranker."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("data", "ranker", "runs", "rounds", "ms a round", "work"):
        table.add_column(heading, justify="left" if heading in ("data", "ranker") else "right")
    for line in plan.lines:
        counts = (f"{line.n_runs:,}", f"{line.rounds:,}", f"{1000 * line.round_seconds:.2f}")
        table.add_row(line.data, line.ranker, *counts, duration(line.seconds))
    return table


def show_status(records: Records) -> None:
    """Print how many runs of each stage are done, failed and missing, and the errors."""
    from rich import box
    from rich.table import Table

    overview = records.overview()
    if overview is None:
        raise ArgumentError("records", repr(records.store.place), "the records of an experiment", "Run it first.")
    done, failed = records.done(), records.failed()
    table = Table(title=f"{overview['experiment']['name']} in {records.store.place}", box=box.SIMPLE_HEAD)
    for heading in ("stage", "done", "failed", "missing", "of"):
        table.add_column(heading, justify="left" if heading == "stage" else "right")
    for stage in dict.fromkeys(row["stage"] for row in overview["runs"]):
        keys = {row["key"] for row in overview["runs"] if row["stage"] == stage}
        counts = (len(keys & done), len((keys & failed) - done), len(keys - done - failed), len(keys))
        table.add_row(stage, *(f"{count:,}" for count in counts))
    console = output_console()
    console.print(table)
    for key in sorted(failed - done)[:20]:
        failure = records.failure(key) or {}
        console.print(f"failed: {key}: {failure.get('error')}", markup=False, soft_wrap=True)


class Watching:
    """A line that is rewritten in a terminal, a line now and then elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._told: dict[str, int] = {}
        self._status: Any = None
        self._started = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        left = (
            "" if progress.seconds_left is None else f", about {duration(progress.seconds_left)} left before the report"
        )
        failed = f", {progress.failed} failed" if progress.failed else ""
        best = f"; best so far on {progress.best}" if progress.best else ""
        line = f"{progress.stage}: {progress.done:,} of {progress.total:,} runs{failed}{left}{best}"
        if self._console.is_terminal:
            self._rewrite(line)
            return
        step = progress.done * LINES // max(progress.total, 1)
        if progress.total and step > self._told.get(progress.stage, -1):
            self._told[progress.stage] = step
            passed = time.monotonic() - self._started
            self._console.print(f"[{duration(passed)}] {line}", markup=False, soft_wrap=True)

    def _rewrite(self, line: str) -> None:
        if self._status is None:
            self._status = self._console.status("")
            self._status.start()
        from rich.text import Text

        self._status.update(Text(line))

    def close(self) -> None:
        """Take the line away."""
        if self._status is not None:
            self._status.stop()
