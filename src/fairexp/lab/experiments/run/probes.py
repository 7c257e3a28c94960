"""One round of every kind of run before the real ones, and short probes that tell how long those will take."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairexp.arrays import Floats
from fairexp.errors import ArgumentError
from fairexp.lab.experiments.plan.run import Run, parameters_text
from fairexp.lab.experiments.plan.run_list import Folds, Place, make_run, places, swept
from fairexp.lab.experiments.plan.spec import RANDOMISED, Experiment
from fairexp.lab.experiments.run.executors import Executor
from fairexp.lab.experiments.run.task import Outcome, Task
from fairexp.lab.simulation.forecast import by_user
from fairexp.lab.simulation.run import PlannedRun, run
from fairexp.lab.simulation.settings import Parts
from fairexp.measures import HELDOUT_NDCG

PROBE_ROUNDS = 2000
_WARM = 3
"""The first rounds of a probe fill caches; they do not count."""


@dataclass(frozen=True)
class Pace:
    """How much processor time rounds take, one measurement on held-out data, and everything else about a run.

    The first `n_early` rounds were probed. After them a round takes `round_seconds` (give or take `noise`), changing by
    `slope` for every factor of e in the number of rounds: rankers that know little have more to compute. The probe took
    `wall_seconds` by the clock for `cpu_seconds` of work: other programs want the processors too.
    """

    n_early: int
    early_seconds: float
    round_seconds: float
    slope: float
    check_seconds: float
    start_seconds: float
    wall_seconds: float
    cpu_seconds: float
    noise: float = 0.0

    def run_seconds(self, rounds: int, n_checks: int) -> float:
        """The processor time of a run with so many rounds and measurements."""
        n_early = min(rounds, self.n_early)
        later = min(max(self.round_seconds + self._trend(rounds), 0.5 * self.round_seconds), 1.25 * self.round_seconds)
        playing = n_early * self.early_seconds + (rounds - n_early) * later
        return self.start_seconds + playing + n_checks * self.check_seconds

    def doubt(self, rounds: int) -> float:
        """By how much `run_seconds` may well be wrong: the trend may end at once, or go on as it was."""
        unseen = max(rounds - self.n_early, 0)
        return unseen * min(abs(self._trend(rounds)) + 2 * self.noise, 0.5 * self.round_seconds)

    def _trend(self, rounds: int) -> float:
        """How much longer a round after those probed takes in the mean; a trend counts by half."""
        n = max(self.n_early, 1)
        if rounds <= n:
            return 0.0
        mean_log = (rounds * math.log(rounds) - n * math.log(n)) / (rounds - n) - 1
        return 0.5 * self.slope * (mean_log - math.log(n))


@dataclass(frozen=True)
class Probe(Task):
    """A run to be timed for so many seconds."""

    seconds: float = 1.0


def kinds(experiment: Experiment, folds: Folds) -> list[Run]:
    """One run for every data set, ranker and choice of parameters or value of the sweep, and for every user."""
    seed, first = experiment.seed_list[0], experiment.users[0]
    found: dict[str, Run] = {}
    for place in first_places(experiment):
        choices = experiment.rankers[place[3]].choices()
        # Rankers know nothing of users: one choice shows that these can be read.
        tried = choices if place[1] == first else choices[:1]
        tried = [*tried, *swept(experiment, place, choices[0])]
        runs = (make_run(experiment, folds, place, parameters, seed) for parameters in tried)
        found.update({run.key: run for run in runs})
    return list(found.values())


def to_probe(experiment: Experiment, folds: Folds) -> list[Run]:
    """For every data set and ranker a run with each user, spread over the grid from its first choice to its last."""
    seed = experiment.seed_list[0]
    groups: dict[tuple[str, str], list[Place]] = {}
    for place in first_places(experiment):
        groups.setdefault((place[0], place[3]), []).append(place)
    found: dict[str, Run] = {}
    for (_, ranker), users in groups.items():
        choices = experiment.rankers[ranker].choices()
        n = max(len(users), min(len(choices), 2))
        for i in range(n):
            parameters = choices[round(i * (len(choices) - 1) / max(n - 1, 1))]
            run = make_run(experiment, folds, users[i % len(users)], parameters, seed)
            found[run.key] = run
    return list(found.values())


def first_places(experiment: Experiment) -> list[Place]:
    """Every data set, user and ranker, with the first fold."""
    return [place for place in places(experiment) if place[2] == experiment.data[place[0]].fold_list[0]]


def try_kinds(experiment: Experiment, folds: Folds, executor: Executor, *, paths: tuple[str, ...] = ()) -> list[str]:
    """Play one round of every kind of run; the notes that came up.

    What cannot work is refused here, named by ranker, parameters and data, before hours are spent.
    """
    tried = {run.key: run for run in kinds(experiment, folds)}
    notes: dict[str, list[str]] = {}
    for outcome in executor.run([Task.of(one, paths) for one in tried.values()], work=try_one):
        one = tried[outcome.key]
        if outcome.error is not None:
            where = f"rankers.{one.ranker} ({parameters_text(one.parameters)}) on {one.data} with {one.user} users"
            raise ArgumentError(where, outcome.error, "a ranker that plays one round", "Correct it; nothing was run.")
        assert outcome.record is not None
        notes[outcome.key] = [f"{one.data}, {note}" for note in outcome.record["notes"]]
    # An exposure curve that is not estimated is the same for all users, and so is what can be known before.
    differ = experiment.exposure == RANDOMISED
    return by_user((one.user if differ else "", notes[key]) for key, one in tried.items())


def try_one(task: Task, *, data: Parts | None = None) -> Outcome:
    """One round of a run, in a worker."""
    import traceback

    _import_from(task.paths)
    try:
        run(replace(task.settings, rounds=1, n_points=1), data=data)
        notes = PlannedRun(task.settings, data=data).notes
    except Exception as error:
        return Outcome(task.key, error=f"{type(error).__name__}: {error}", trace=traceback.format_exc())
    return Outcome(task.key, record={"notes": notes})


def probe(probes: Sequence[Probe], executor: Executor) -> dict[str, Pace]:
    """The pace of each run, by key, measured while as many others are measured as there will be later."""
    found = {}
    for outcome in executor.run(probes, work=probe_one):
        if isinstance(outcome, Outcome):  # its process died
            raise ArgumentError("--plan", f"{outcome.key}: {outcome.error}", "runs that can be probed")
        found[outcome[0]] = outcome[1]
    return found


def probe_one(asked: Probe, *, data: Parts | None = None) -> tuple[str, Pace]:
    """Play some seconds of a run, in a worker, and time its rounds."""
    _import_from(asked.paths)
    settings = asked.settings
    settings = replace(settings, rounds=min(settings.rounds, PROBE_ROUNDS), n_points=6)
    run(replace(settings, rounds=2, n_points=1), data=data)  # data loaded, caches warm
    watch = _StopWatch(asked.seconds)
    run(settings, data=data, progress=watch)
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
        self._checked.append(row[HELDOUT_NDCG.name] is not None)
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
        noise = math.sqrt(sum(float(part.var()) / len(part) for part in _quarters(plain)))
        # A slope that may be chance is not carried on for thousands of rounds.
        slope *= slope**2 / (slope**2 + (noise / math.log(7 / 3)) ** 2) if slope else 0.0
        per_check = max(float(spans[checked].mean()) - float(plain.mean()), 0.0) if checked.any() else 0.0
        return Pace(len(spans), float(plain.mean()), last, slope, per_check, start, wall, cpu, noise)


def _quarters(times: Floats) -> tuple[Floats, Floats]:
    """The second and the last quarter; all where there are too few."""
    n = len(times) // 4
    return (times[n : 2 * n], times[-n:]) if n else (times, times)


def _import_from(paths: tuple[str, ...]) -> None:
    for path in paths:
        if path not in sys.path:
            sys.path.insert(0, path)
