"""How long an experiment will take, from short probes of each kind of run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fairexp.lab.experiments.plan.run import Run
from fairexp.lab.experiments.plan.run_list import Folds, choose, final_runs, tuning_runs
from fairexp.lab.experiments.plan.spec import Experiment
from fairexp.lab.experiments.run.executors import Executor
from fairexp.lab.experiments.run.probes import Pace, Probe, probe, to_probe
from fairexp.lab.experiments.run.records import Records
from fairexp.lab.simulation.meter import checkpoints
from fairexp.lab.simulation.pool.paces import Kind

PROBING_SECONDS = 60.0
"""How long probing takes by the clock, about: a third for a glance at everything, the rest for what takes long."""
GLANCE = (0.3, 2.0)
"""At least and at most so many seconds for a first probe."""
WORTH = 0.04
"""Probing more closely than this part of the work is not worth it."""
UNSURE = 0.1
"""Even what was measured well may turn out by so much otherwise."""

Score = Callable[[str], float | None]
Where = tuple[str, str]
"""Data and ranker: a line of the plan."""


@dataclass(frozen=True)
class Line:
    """One line of the plan: how many runs of a kind are left to play, and how long they take one after the other.

    Seconds are by the clock, as busy as the machine was during the probes.
    """

    data: str
    ranker: str
    n_runs: int
    rounds: int
    round_seconds: float
    seconds: float
    doubt: float = 0.0
    """By how much the seconds may well be wrong."""


@dataclass(frozen=True)
class Plan:
    """What is left to do: a line for each data set and ranker, and the time that `jobs` processes need for them."""

    lines: list[Line]
    jobs: int
    n_done: int
    busy: float = 1.0
    """Seconds by the clock for a second of work, while it was measured: 1 where nothing else runs."""

    @property
    def n_runs(self) -> int:
        return sum(line.n_runs for line in self.lines)

    @property
    def seconds(self) -> float:
        """All the work, shared out; the longest run may keep one process busy while the others are done."""
        longest = max((line.seconds / line.n_runs for line in self.lines), default=0.0)
        total = sum(line.seconds for line in self.lines)
        return total / self.jobs + (longest / 2 if total / self.jobs > longest else longest) * (1 - 1 / self.jobs)

    @property
    def range(self) -> tuple[float, float]:
        """Seconds between which the truth should lie, if the machine stays as busy as it is."""
        total = sum(line.seconds for line in self.lines)
        off = UNSURE + (sum(line.doubt for line in self.lines) / total if total else 0.0)
        return self.seconds * max(1 - off, 0.0), self.seconds * (1 + off)


def plan_runs(experiment: Experiment, folds: Folds, score: Score = lambda key: None) -> list[Run]:
    """Every run that the experiment will come to; what is yet to be chosen does not matter for the time."""
    tuning = tuning_runs(experiment, folds)
    first = choose(experiment, tuning, {run.key: score(run.key) or 0.0 for run in tuning})
    return list({run.key: run for run in [*tuning, *final_runs(experiment, folds, first)]}.values())


def make_plan(
    experiment: Experiment, folds: Folds, executor: Executor, *, records: Records, paths: tuple[str, ...] = ()
) -> Plan:
    """Probe every kind of run that has runs without a record, and add up."""
    done = records.done()
    runs = plan_runs(experiment, folds, lambda key: records.validation_ndcg(key) if key in done else None)
    left = [run for run in runs if run.key not in done]
    by_line: dict[Where, list[Run]] = {}
    for run in left:
        by_line.setdefault(_where(run), []).append(run)
    probes = [run for run in to_probe(experiment, folds) if _where(run) in by_line]
    budget = PROBING_SECONDS * executor.jobs
    glance = min(max(budget / 3 / max(len(probes), 1), GLANCE[0]), GLANCE[1])
    paces = _probed(probes, dict.fromkeys((run.key for run in probes), glance), executor, paths)
    # What takes long is worth a longer look: early rounds are not like later ones.
    longer = _longer(_lines(by_line, probes, paces), probes, budget * 2 / 3)
    again = [run for run in probes if longer[run.key] > 2 * glance]
    paces.update(_probed(again, longer, executor, paths))
    return Plan(_lines(by_line, probes, paces), executor.jobs, len(runs) - len(left), _busy(paces))


def _longer(lines: Sequence[Line], probes: Sequence[Run], budget: float) -> dict[str, float]:
    """The seconds that each run should be probed for, in proportion to the work of its line."""
    total = sum(line.seconds for line in lines)
    share = {(line.data, line.ranker): line.seconds / total for line in lines}
    spent = min(budget, WORTH * total)
    counts = Counter(_where(run) for run in probes)
    return {run.key: spent * share[_where(run)] / counts[_where(run)] for run in probes}


def _probed(
    runs: Sequence[Run], seconds: Mapping[str, float], executor: Executor, paths: tuple[str, ...]
) -> dict[str, Pace]:
    asked = [Probe.of(run, paths, seconds=seconds[run.key]) for run in runs]
    return probe(asked, executor)


def _lines(by_line: Mapping[Where, Sequence[Run]], probes: Sequence[Run], paces: Mapping[str, Pace]) -> list[Line]:
    # One factor for all: a burst of other work during one probe must not count for all runs of its line.
    busy = _busy(paces)
    return [
        _line(where, runs, [paces[run.key] for run in probes if _where(run) == where], busy)
        for where, runs in sorted(by_line.items())
    ]


def _busy(paces: Mapping[str, Pace]) -> float:
    worked = sum(pace.cpu_seconds for pace in paces.values())
    return max(sum(pace.wall_seconds for pace in paces.values()) / worked, 1.0) if worked else 1.0


def kind_of(run: Run) -> Kind:
    """What a run has in common with others that take as long."""
    return run.data, run.user, run.ranker


def _where(run: Run) -> Where:
    return run.data, run.ranker


def _line(where: Where, runs: Sequence[Run], paces: Sequence[Pace], busy: float) -> Line:
    seconds = doubt = 0.0
    for run in runs:
        n_checks = len(checkpoints(run.settings.rounds, run.settings.n_points)) + run.settings.validate
        seconds += busy * sum(pace.run_seconds(run.settings.rounds, n_checks) for pace in paces) / len(paces)
        doubt += busy * sum(pace.doubt(run.settings.rounds) for pace in paces) / len(paces)
    rounds = max(run.settings.rounds for run in runs)
    playing = sum(pace.run_seconds(rounds, 0) - pace.start_seconds for pace in paces) / len(paces) / rounds
    return Line(*where, len(runs), rounds, busy * playing, seconds, doubt)
