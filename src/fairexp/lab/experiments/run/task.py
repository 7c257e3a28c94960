"""One run in a worker: played, summed up as it goes, and returned as plain data."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import fairexp
from fairexp.fairness.ledger import within
from fairexp.lab.experiments.plan.paths import GROUP_FILE
from fairexp.lab.experiments.plan.run import Run, user_digest, user_name
from fairexp.lab.simulation.environment import DEFAULTS
from fairexp.lab.simulation.meter import checkpoints
from fairexp.lab.simulation.run import run
from fairexp.lab.simulation.settings import Parts, RunSettings
from fairexp.measures import (
    ADDED_REGRET,
    HELDOUT_NDCG,
    MAX_UF,
    MEAN_ONLINE_NDCG,
    QUALIFIED,
    SPEED,
    TOTAL_ADDED_REGRET,
    UF,
)
from fairexp.registry import keeps_tolerance

FINE = 80
"""About how many points a run gives besides those at which held-out quality is measured."""
POINTS = (MEAN_ONLINE_NDCG, HELDOUT_NDCG, UF, MAX_UF, TOTAL_ADDED_REGRET)
"""What is kept of a run at some of its rounds."""


@dataclass(frozen=True)
class Task:
    """What a worker is sent: the run's key, its settings, and folders to import rankers from.

    On other machines, data and user must be those of `fingerprint` and `user_digest`.
    """

    key: str
    settings: RunSettings
    paths: tuple[str, ...]
    fingerprint: str
    user_digest: str

    @classmethod
    def of(cls, run: Run, paths: tuple[str, ...], **more: Any) -> Self:
        """The task of playing a run."""
        return cls(run.key, run.settings, paths, run.fingerprint, user_digest(run.settings.user), **more)


@dataclass(frozen=True)
class Outcome:
    """What comes back: a record, or the error that ended the run (`error` is its last line, `trace` all of it)."""

    key: str
    record: dict[str, Any] | None = None
    error: str | None = None
    trace: str | None = None


def perform(task: Task, *, data: Parts | None = None) -> Outcome:
    """Play the run, on `data` where it is at hand; an exception becomes part of the outcome."""
    for path in task.paths:
        if path not in sys.path:
            sys.path.insert(0, path)
    started, worked = time.perf_counter(), time.process_time()
    try:
        record = play_run(task.settings, data=data)
    except Exception as error:
        # Ours to tell, not to raise: one broken run must not end the others.
        return Outcome(task.key, error=f"{type(error).__name__}: {error}", trace=traceback.format_exc())
    record["key"] = task.key
    record["timing"]["seconds"] = time.perf_counter() - started
    record["timing"]["processor_seconds"] = time.process_time() - worked
    return Outcome(task.key, record=record)


def play_run(settings: RunSettings, *, data: Parts | None = None) -> dict[str, Any]:
    """The record of a run. `result` and `points` depend on the settings alone, `timing` on the machine too."""
    collector = Collector(settings)
    result = run(settings, data=data, progress=collector)
    if result.interrupted:
        raise KeyboardInterrupt
    summary = result.summary()
    rate = summary.pop(SPEED.name)
    return {
        "settings": _kept(settings),
        "result": {**summary, **collector.counts()},
        "points": collector.points,
        "timing": {SPEED.name: rate},
        "version": fairexp.__version__,
    }


def _kept(settings: RunSettings) -> dict[str, Any]:
    """The settings without where data and the files of users and groups lie, which is no part of the result."""
    kept = asdict(settings)
    del kept["data"]["folder"]
    kept["user"] = user_name(settings.user)
    group = settings.data.group or ""
    if group.startswith(GROUP_FILE):
        kept["data"]["group"] = GROUP_FILE + Path(group.removeprefix(GROUP_FILE)).name
    return kept


class Collector:
    """Takes in every round and keeps some points of the curves, and counts of rounds that the tolerance is judged by.

    Points are columns by name: the round, and `POINTS`; held-out NDCG is None between checkpoints, unfairness at its
    largest is that of all rounds so far.
    """

    def __init__(self, settings: RunSettings) -> None:
        step = max(settings.rounds // FINE, 1)
        marks = checkpoints(settings.rounds, settings.n_points) | {*range(step, settings.rounds + 1, step)}
        self._marks = marks | {settings.rounds}
        self._tolerance = _tolerance(settings)
        self.points: dict[str, list[Any]] = {name: [] for name in ("round", *(measure.name for measure in POINTS))}
        self._peak = 0.0
        self._added_regret = 0
        self._n = {"beyond_qualified": 0, "beyond_unqualified": 0, "within_unqualified": 0, "within_qualified": 0}

    def __call__(self, row: Mapping[str, Any]) -> None:
        gap = row.get(UF.name)
        self._added_regret += row[ADDED_REGRET.name]
        if gap is not None:
            self._peak = max(self._peak, gap)
            qualified = row[QUALIFIED.name]
            if qualified is not None and self._tolerance is not None:
                where = "within" if within(gap, self._tolerance) else "beyond"
                self._n[f"{where}_{'qualified' if qualified else 'unqualified'}"] += 1
        if row["round"] in self._marks:
            peak = None if gap is None else self._peak
            values = (row["round"], row[MEAN_ONLINE_NDCG.name], row[HELDOUT_NDCG.name], gap, peak)
            for name, value in zip(self.points, (*values, self._added_regret), strict=True):
                self.points[name].append(value)

    def counts(self) -> dict[str, Any]:
        """How many rounds were within or beyond the tolerance, by whether any ranking could have been within."""
        return {f"rounds_{name}": n for name, n in self._n.items()} if self._tolerance is not None else {}


def _tolerance(settings: RunSettings) -> float | None:
    value = settings.parameters.get("tolerance", DEFAULTS["tolerance"] if keeps_tolerance(settings.ranker) else None)
    return float(value) if isinstance(value, int | float) else None
