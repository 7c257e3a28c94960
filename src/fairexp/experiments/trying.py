"""One round of every kind of run before the real ones, and short probes that tell how long those will take."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairexp.arrays import Floats
from fairexp.errors import ArgumentError, ToleranceWarning
from fairexp.experiments.executors import Executor
from fairexp.experiments.performing import Outcome, Task
from fairexp.experiments.planning import Folds, make_run, places
from fairexp.experiments.runs import Run, parameters_text
from fairexp.experiments.spec import Experiment
from fairexp.simulation.settings import loaded_parts, run

PROBE_ROUNDS = 2000
_WARM = 3
"""The first rounds of a probe compile and fill caches; they do not count."""


@dataclass(frozen=True)
class Pace:
    """How much processor time rounds take, one measurement on held-out data, and everything else about a run.

    The first `n_early` rounds were probed. After them a round takes `round_seconds`, changing by `slope` for every
    factor of e in the number of rounds: rankers that know little have more to compute. The probe took `wall_seconds` by
    the clock for `cpu_seconds` of work: other programs want the processors too.
    """

    n_early: int
    early_seconds: float
    round_seconds: float
    slope: float
    check_seconds: float
    start_seconds: float
    wall_seconds: float
    cpu_seconds: float

    def run_seconds(self, rounds: int, n_checks: int) -> float:
        """The processor time of a run with so many rounds and measurements."""
        n_early = min(rounds, self.n_early)
        playing = n_early * self.early_seconds + (rounds - n_early) * self._later(rounds)
        return self.start_seconds + playing + n_checks * self.check_seconds

    def _later(self, rounds: int) -> float:
        """The mean time of a round after those probed; a trend counts by half, within bounds."""
        n = max(self.n_early, 1)
        if rounds <= n:
            return self.round_seconds
        mean_log = (rounds * math.log(rounds) - n * math.log(n)) / (rounds - n) - 1
        expected = self.round_seconds + 0.5 * self.slope * (mean_log - math.log(n))
        return min(max(expected, 0.5 * self.round_seconds), 1.25 * self.round_seconds)


@dataclass(frozen=True)
class Probe(Task):
    """A run to be timed for so many seconds."""

    seconds: float = 1.0


def kinds(experiment: Experiment, folds: Folds, *, ends_only: bool = False) -> list[Run]:
    """One run for every data set, user, ranker and choice of parameters (`ends_only`: the grid's two ends)."""
    seed = experiment.seed_list[0]
    found: list[Run] = []
    for place in places(experiment):
        data, _, fold, ranker = place
        if fold != experiment.data[data].fold_list[0]:
            continue
        choices = experiment.rankers[ranker].choices()
        tried = [choices[0], choices[-1]][: len(choices)] if ends_only else choices
        found += [make_run(experiment, folds, place, parameters, seed) for parameters in tried]
    return found


def try_out(experiment: Experiment, folds: Folds, executor: Executor, *, paths: tuple[str, ...] = ()) -> list[str]:
    """Play one round of every choice of every ranker on every data set; the notes that came up.

    What cannot work is refused here, named by ranker, parameters and data, before hours are spent.
    """
    first = experiment.users[0]
    tried = {run.key: run for run in kinds(experiment, folds) if run.settings.user == first}
    notes: dict[str, None] = {}
    for outcome in executor.run([Task(key, one.settings, paths) for key, one in tried.items()], work=try_one):
        one = tried[outcome.key]
        if outcome.error is not None:
            where = f"rankers.{one.ranker} ({parameters_text(one.parameters)}) on {one.data}"
            raise ArgumentError(where, outcome.error, "a ranker that plays one round", "Correct it; nothing was run.")
        assert outcome.record is not None
        notes.update(dict.fromkeys(f"{one.data}, {one.ranker}: {note}" for note in outcome.record["notes"]))
    return list(notes)


def try_one(task: Task) -> Outcome:
    """One round of a run, in a worker."""
    import traceback

    _import_from(task.paths)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ToleranceWarning)
            run(replace(task.settings, rounds=1, n_points=1))
    except Exception as error:
        return Outcome(task.key, error=f"{type(error).__name__}: {error}", trace=traceback.format_exc())
    notes = [str(warning.message) for warning in caught if issubclass(warning.category, ToleranceWarning)]
    return Outcome(task.key, record={"notes": notes})


def probe(probes: Sequence[Probe], executor: Executor) -> dict[str, Pace]:
    """The pace of each run, by key, measured while as many others are measured as there will be later."""
    return dict(executor.run(probes, work=probe_one))


def probe_one(asked: Probe) -> tuple[str, Pace]:
    """Play some seconds of a run, in a worker, and time its rounds."""
    _import_from(asked.paths)
    settings = asked.settings
    settings = replace(settings, rounds=min(settings.rounds, PROBE_ROUNDS), n_points=6)
    if settings.validate:
        loaded_parts(settings.data, True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceWarning)
        run(replace(settings, rounds=2, n_points=1))  # compiled kernels, warm caches
        watch = _StopWatch(asked.seconds)
        run(settings, progress=watch)
    return asked.key, watch.pace()


class _StopWatch:
    """Times rounds, and ends the run when the time is up."""

    def __init__(self, seconds: float) -> None:
        self._began = time.perf_counter()
        self._deadline = self._began + seconds
        self._times = [time.process_time()]
        self._checked: list[bool] = []

    def __call__(self, row: dict[str, Any]) -> None:
        self._times.append(time.process_time())
        self._checked.append(row["heldout_ndcg"] is not None)
        if time.perf_counter() > self._deadline and len(self._checked) > 4 * _WARM:
            raise KeyboardInterrupt

    def pace(self) -> Pace:
        wall, cpu = time.perf_counter() - self._began, time.process_time() - self._times[0]
        start = time.process_time() - self._times[-1]
        n_warm = min(_WARM, len(self._checked) - 1)
        spans = np.diff(np.array(self._times))[n_warm:]
        checked = np.array(self._checked)[n_warm:]
        plain = spans if checked.all() else spans[~checked]
        second, last = (float(part.mean()) for part in _quarters(plain))
        # From the middle of the second quarter to that of the last, the number of rounds grows 7/3 times.
        slope = (last - second) / math.log(7 / 3)
        per_check = max(float(spans[checked].mean()) - float(plain.mean()), 0.0) if checked.any() else 0.0
        return Pace(len(spans), float(plain.mean()), last, slope, per_check, start, wall, cpu)


def _quarters(times: Floats) -> tuple[Floats, Floats]:
    """The second and the last quarter; all where there are too few."""
    n = len(times) // 4
    return (times[n : 2 * n], times[-n:]) if n else (times, times)


def _import_from(paths: tuple[str, ...]) -> None:
    for path in paths:
        if path not in sys.path:
            sys.path.insert(0, path)
