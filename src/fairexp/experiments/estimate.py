"""How long an experiment will take, from short probes of each kind of run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fairexp.experiments.executors import Executor
from fairexp.experiments.planning import Folds, choose, final_runs, tuning_runs
from fairexp.experiments.records import Records
from fairexp.experiments.runs import Run
from fairexp.experiments.spec import Experiment
from fairexp.experiments.trying import Pace, Probe, kinds, probe
from fairexp.simulation.recording import checkpoints

FIRST_SECONDS = 2.0
MOST_SECONDS = 60.0
"""How long a kind of run is probed at first, and at most."""

Score = Callable[[str], float | None]
Kind = tuple[str, str, str]
"""Data, user and ranker: runs of one kind take about as long as each other."""


@dataclass(frozen=True)
class Line:
    """One line of the plan: how many runs of a kind are left to play, and how long they take one after the other.

    Seconds are by the clock, as busy as the machine was during the probes.
    """

    data: str
    user: str
    ranker: str
    n_runs: int
    rounds: int
    round_seconds: float
    seconds: float


@dataclass(frozen=True)
class Plan:
    """What is left to do: lines by kind, and the time that `jobs` processes need for them."""

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
    by_kind: dict[Kind, list[Run]] = {}
    for run in left:
        by_kind.setdefault(kind_of(run), []).append(run)
    probes = [run for run in kinds(experiment, folds, ends_only=True) if kind_of(run) in by_kind]
    brief = {run.key: FIRST_SECONDS for run in probes}
    paces = _probed(probes, brief, executor, paths)
    lines = _lines(by_kind, probes, paces)
    # What takes long is worth a longer look: early rounds are not like later ones.
    longer = {kind: min(MOST_SECONDS, lines[kind].seconds / 100) for kind in lines}
    again = [run for run in probes if longer[kind_of(run)] > 2 * FIRST_SECONDS]
    paces.update(_probed(again, {run.key: longer[kind_of(run)] for run in again}, executor, paths))
    lines = _lines(by_kind, probes, paces)
    return Plan(list(lines.values()), executor.jobs, len(runs) - len(left), _busy(paces))


def _probed(
    runs: Sequence[Run], seconds: Mapping[str, float], executor: Executor, paths: tuple[str, ...]
) -> dict[str, Pace]:
    asked = [Probe(run.key, run.settings, paths, seconds[run.key]) for run in runs]
    return probe(asked, executor)


def _lines(by_kind: Mapping[Kind, Sequence[Run]], probes: Sequence[Run], paces: Mapping[str, Pace]) -> dict[Kind, Line]:
    # One factor for all: a burst of other work during one probe must not count for all runs of its kind.
    busy = _busy(paces)
    return {
        kind: _line(kind, runs, [paces[run.key] for run in probes if kind_of(run) == kind], busy)
        for kind, runs in sorted(by_kind.items())
    }


def _busy(paces: Mapping[str, Pace]) -> float:
    worked = sum(pace.cpu_seconds for pace in paces.values())
    return max(sum(pace.wall_seconds for pace in paces.values()) / worked, 1.0) if worked else 1.0


def kind_of(run: Run) -> Kind:
    """What a run has in common with others that take as long."""
    return run.data, run.user, run.ranker


def _line(kind: Kind, runs: Sequence[Run], paces: Sequence[Pace], busy: float) -> Line:
    seconds = 0.0
    for run in runs:
        n_checks = len(checkpoints(run.settings.rounds, run.settings.n_points)) + run.settings.validate
        seconds += busy * sum(pace.run_seconds(run.settings.rounds, n_checks) for pace in paces) / len(paces)
    rounds = max(run.settings.rounds for run in runs)
    playing = sum(pace.run_seconds(rounds, 0) - pace.start_seconds for pace in paces) / len(paces) / rounds
    return Line(*kind, n_runs=len(runs), rounds=rounds, round_seconds=busy * playing, seconds=seconds)
