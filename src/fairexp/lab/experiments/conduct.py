"""An experiment from beginning to end: prepare, try out, choose parameters, play what is missing, keep every record."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import fairexp
from fairexp.lab.experiments.paper.findings import rules
from fairexp.lab.experiments.plan.paths import located
from fairexp.lab.experiments.plan.prepared import prepare, sharing
from fairexp.lab.experiments.plan.run import Run, user_name
from fairexp.lab.experiments.plan.run_list import (
    FINAL,
    TUNING,
    Chosen,
    Folds,
    Place,
    choose,
    final_runs,
    places,
    tuning_runs,
)
from fairexp.lab.experiments.plan.sources import display_title
from fairexp.lab.experiments.plan.spec import Experiment
from fairexp.lab.experiments.run.executors import Executor
from fairexp.lab.experiments.run.probes import try_kinds
from fairexp.lab.experiments.run.records import Records, run_rows
from fairexp.lab.experiments.run.task import Outcome, Task
from fairexp.lab.experiments.run.time_left import TimeLeft
from fairexp.lab.experiments.store import Json
from fairexp.measures import HELDOUT_NDCG, VALIDATION_NDCG


@dataclass
class Progress:
    """How far a stage is: handed to the watcher after every run."""

    stage: str
    total: int
    done: int = 0
    failed: int = 0
    seconds_left: float | None = None
    best: str = ""
    last: str = ""


Watcher = Callable[[Progress], None]


def conduct(
    experiment: Experiment,
    records: Records,
    executor: Executor,
    *,
    folder: Path | None = None,
    paths: tuple[str, ...] = (),
    command: str = "",
    retry: bool = False,
    watch: Watcher = lambda progress: None,
    tell: Callable[[str], None] = lambda line: None,
    clock: Callable[[], float] = time.monotonic,
) -> Json:
    """Play every run that has no record yet, and return the overview that is kept beside the records.

    The experiment's paths are seen from `folder` (None: the working directory); workers find rankers in `paths`, too.
    Runs that failed before are not played again unless `retry`. Two stages: those that parameters are chosen by on the
    validation part, then all seeds of what was chosen, and the sweep.
    """
    written, experiment = experiment, located(experiment, folder)
    folds = prepare(experiment, records.store, tell=tell)
    tuning = tuning_runs(experiment, folds)
    # As it was written: where files lie on this machine is no part of the report.
    overview = make_overview(written, folds, command, records.overview())
    # Rankers without a choice have final runs only, whose parameters are known before any is chosen.
    if _missing([*tuning, *final_runs(experiment, folds, choose(experiment, [], {}))], records, retry):
        tell("trying out every kind of run for one round")
        overview["notes"] = try_kinds(experiment, folds, executor, paths=paths)
        for note in overview["notes"]:
            tell(f"note: {note}")
    overview["runs"] = run_rows(tuning, stage=TUNING)
    records.write_overview(overview)
    stage = Stage(records, executor, paths, watch, clock)
    # What is yet to be chosen does not matter for the time that it takes.
    first = choose(experiment, tuning, dict.fromkeys((run.key for run in tuning), 0.0))
    stage.play(TUNING, tuning, retry=retry, later=final_runs(experiment, folds, first))
    scores = {run.key: records.validation_ndcg(run.key) for run in tuning}
    chosen = choose(experiment, tuning, scores)
    final = final_runs(experiment, folds, chosen)
    overview["chosen"] = _chosen_rows(chosen)
    overview["without_choice"] = [_place_text(place) for place in places(experiment) if place not in chosen]
    overview["runs"] = [*run_rows(tuning, stage=TUNING), *run_rows(final, stage=FINAL)]
    records.write_overview(overview)
    stage.play(FINAL, final, retry=retry)
    return overview


@dataclass
class Stage:
    """Plays lists of runs, and reports."""

    records: Records
    executor: Executor
    paths: tuple[str, ...]
    watch: Watcher
    clock: Callable[[], float]
    time_left: TimeLeft = field(default_factory=TimeLeft)
    scores: dict[str, tuple[float, str]] = field(default_factory=dict)
    began: float | None = None

    def play(self, name: str, runs: Sequence[Run], *, retry: bool, later: Sequence[Run] = ()) -> None:
        """Play what is missing of `runs`; those of a `later` stage count for the time that is left."""
        missing = {run.key: run for run in self.time_left.ordered(_missing(runs, self.records, retry))}
        self.time_left.expect(missing.values(), later=_missing(later, self.records, retry))
        progress = Progress(name, total=len(runs), done=len(runs) - len(missing))
        self.watch(progress)
        if self.began is None and missing:
            self.began = self.clock()
        try:
            for outcome in self.executor.run([Task.of(run, self.paths) for run in missing.values()]):
                self.records.keep(outcome)
                self._note(progress, missing[outcome.key], outcome)
                passed = self.clock() - (self.began or 0.0)
                progress.seconds_left = self.time_left.seconds(passed=passed, jobs=self.executor.jobs)
                self.watch(progress)
        finally:
            self.records.settle()

    def _note(self, progress: Progress, run: Run, outcome: Outcome) -> None:
        progress.done += 1
        progress.last = run.id
        if outcome.record is None:
            progress.failed += 1
            self.time_left.fail(outcome.key)
            return
        timing = outcome.record["timing"]
        self.time_left.add(outcome.key, seconds=timing["seconds"], worked=timing["processor_seconds"])
        result = outcome.record["result"]
        found = [(measure, result[measure.name]) for measure in (VALIDATION_NDCG, HELDOUT_NDCG)]
        measure, score = next((one for one in found if one[1] is not None), found[-1])
        if score is not None:
            best = self.scores.get(run.setting)
            if best is None or score > best[0]:
                self.scores[run.setting] = (score, run.ranker)
            value, ranker = self.scores[run.setting]
            progress.best = f"{run.setting}: {ranker}, {measure} {measure.text(value)}"


def make_overview(experiment: Experiment, folds: Folds, command: str, before: Json | None = None) -> Json:
    """What the report must know besides the records; `before` is the overview of the same records so far.

    The rules that claims are decided by are written down with it, before the first run.
    """
    before = before or {}
    return {
        "experiment": experiment.model_dump(mode="json"),
        "titles": {label: display_title(label, spec) for label, spec in experiment.data.items()},
        "folds": [
            {
                "data": label,
                "fold": fold,
                "fingerprint": made.fingerprint,
                "synthetic": made.synthetic,
                "source": made.settings.source,
                "n_queries": made.n_queries,
                "n_documents": made.n_documents,
                "n_features": made.n_features,
                "groups": made.groups,
                "beta": made.beta,
                "exposure": {user_name(user): list(curve) for user, curve in made.exposure.items()},
            }
            for (label, fold), made in folds.items()
        ],
        "sharing": {label: asdict(sharing(folds, label)) for label in experiment.data},
        "command": command,
        "started": before.get("started", time.strftime("%Y-%m-%d %H:%M:%S %z")),
        "versions": versions(),
        "rules": before.get("rules", rules()),
        "notes": before.get("notes", []),
        "chosen": [],
        "runs": [],
    }


def versions() -> dict[str, str]:
    """What the results were made with."""
    import platform
    from importlib.metadata import version

    return {"fairexp": fairexp.__version__, "python": platform.python_version(), "numpy": version("numpy")}


def _missing(runs: Sequence[Run], records: Records, retry: bool) -> list[Run]:
    done = records.done() if retry else records.done() | records.failed()
    return [run for run in runs if run.key not in done]


def _place_text(place: Place) -> str:
    data, user, fold, ranker = place
    return f"{data}/{user_name(user)}/{fold}/{ranker}"


def _chosen_rows(chosen: Chosen) -> list[dict[str, Any]]:
    return [
        {"data": data, "user": user_name(user), "fold": fold, "ranker": ranker, "parameters": dict(parameters)}
        for (data, user, fold, ranker), parameters in chosen.items()
    ]
