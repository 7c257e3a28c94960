"""Records read back and put in order: what every ranker came to, in every setting, by (seed, fold) pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from fairexp.charts.style import display_name
from fairexp.errors import ArgumentError
from fairexp.lab.experiments.plan.run_list import FINAL
from fairexp.lab.experiments.plan.spec import Experiment
from fairexp.lab.experiments.plan.sweeps import sweep_users, sweeps
from fairexp.lab.experiments.run.records import Records
from fairexp.lab.experiments.store import Json
from fairexp.lab.simulation.audit import field_measures
from fairexp.lab.simulation.environment import DEFAULTS
from fairexp.measures import (
    FINAL_UF,
    HELDOUT_NDCG,
    IMPACT_UF,
    ITEM_UF,
    LIST_UF,
    MAX_UF,
    MEAN_ADDED_REGRET,
    MEAN_HELDOUT_NDCG,
    MEAN_MISORDERED,
    MEAN_UF,
    ONLINE_NDCG,
    QUALIFIED_SHARE,
    ROUND_TIME,
    SPEED,
    Measure,
)
from fairexp.registry import is_the_same, keeps_tolerance
from fairexp.statistics import Effect, Pair, Shared, Sharing, effect_over, independent

MEASURES = (
    ONLINE_NDCG,
    HELDOUT_NDCG,
    MEAN_HELDOUT_NDCG,
    MEAN_UF,
    FINAL_UF,
    MAX_UF,
    LIST_UF,
    IMPACT_UF,
    ITEM_UF,
    QUALIFIED_SHARE,
    MEAN_ADDED_REGRET,
    MEAN_MISORDERED,
    ROUND_TIME,
)
"""What every run is judged by."""


@dataclass(frozen=True, eq=False)
class Played:
    """A run and its record."""

    data: str
    user: str
    fold: int
    seed: int
    ranker: str
    parameters: Mapping[str, Any]
    key: str
    result: Mapping[str, Any]
    points: Mapping[str, Sequence[Any]]

    @property
    def setting(self) -> str:
        return f"{self.data}/{self.user}"

    @property
    def pair(self) -> Pair:
        return self.seed, self.fold

    def value(self, measure: Measure) -> float | None:
        """A measure of `MEASURES`; None where it does not apply to this ranker."""
        found = self.result.get(measure.name)
        return None if found is None else float(found)


@dataclass(frozen=True)
class Results:
    """All that the report is made of. `main` has the chosen parameters, `sweep` the swept ones by value."""

    experiment: Experiment
    overview: Json
    main: list[Played]
    sweep: list[tuple[float, Played]]
    missing: list[str]
    failures: list[Json]
    versions: set[str] = field(default_factory=set)
    """The versions of fairexp that the records were made with."""

    @cached_property
    def settings(self) -> list[str]:
        """Every setting with a run, as "data/user", in the experiment's order."""
        return list(dict.fromkeys(played.setting for played in self.main))

    @property
    def rankers(self) -> list[str]:
        return list(self.experiment.rankers)

    @property
    def of_the_field(self) -> tuple[Measure, ...]:
        """The measures of the field that the experiment asks for."""
        return field_measures(self.experiment.measures)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """All that its runs are measured by."""
        return (*MEASURES, *self.of_the_field)

    @property
    def fair(self) -> str | None:
        """The label of the first ranker that is held to a tolerance."""
        return next((label for label, spec in self.experiment.rankers.items() if keeps_tolerance(spec.ranker)), None)

    @property
    def tolerance(self) -> float:
        """The tolerance that the fair ranker is held to."""
        return self.tolerance_of(self.fair)

    def tolerance_of(self, label: str | None) -> float:
        """The tolerance that a ranker is held to."""
        spec = self.experiment.rankers.get(label or "")
        given = None if spec is None else spec.parameters.get("tolerance")
        return float(DEFAULTS["tolerance"] if given is None else given)

    def label_of(self, ranker: str) -> str | None:
        """The experiment's label for a ranker of the registry, whatever it is; None where it is not part of it.

        Of several such, say with other parameters, it is the one that is labelled as in the registry, else the first.
        """
        labels = [label for label, spec in self.experiment.rankers.items() if is_the_same(spec.ranker, ranker)]
        return ranker if ranker in labels else next(iter(labels), None)

    def name(self, label: str) -> str:
        """A ranker for people: its published name where it is labelled as in the registry, else its label."""
        spec = self.experiment.rankers.get(label)
        return display_name(label) if spec is None or spec.ranker == label else label

    def shared(self, setting: str, measure: Measure) -> Shared:
        """What the folds of a setting's data have in common, where `measure` is taken."""
        given = self.overview.get("sharing", {}).get(setting.rpartition("/")[0])
        if given is None:
            return independent
        sharing = Sharing(tuple(given["folds"]), tuple(map(tuple, given["common"])))
        return lambda folds: sharing.correlation(folds, held_out=measure.held_out)

    def effect(self, setting: str, values: Mapping[Pair, float], measure: Measure) -> Effect | None:
        """The mean of values of a measure by (seed, fold) with its interval; None without any."""
        return effect_over(values, self.shared(setting, measure)) if values else None

    def title(self, setting: str) -> str:
        """The setting for people, saying when its data is synthetic."""
        data, _, user = setting.rpartition("/")
        return f"{self.overview['titles'][data]}, {user} users"

    def values(self, setting: str, ranker: str, measure: Measure) -> dict[Pair, float]:
        """A measure by (seed, fold); pairs in which it does not apply are left out."""
        return self._table.get((setting, ranker, measure), {})

    @cached_property
    def _table(self) -> dict[tuple[str, str, Measure], dict[Pair, float]]:
        table: dict[tuple[str, str, Measure], dict[Pair, float]] = {}
        for played in self.main:
            for measure in MEASURES:
                value = played.value(measure)
                if value is not None:
                    table.setdefault((played.setting, played.ranker, measure), {})[played.pair] = value
        return table

    def swept(self, setting: str, value: float, measure: Measure, *, ranker: str | None = None) -> dict[Pair, float]:
        """A measure of a ranker's sweep (None: the fair one's) at one value, by (seed, fold)."""
        found = {}
        for played in self._sweeps.get((setting, ranker or self.fair or "", value), []):
            got = played.value(measure)
            if got is not None:
                found[played.pair] = got
        return found

    @cached_property
    def _sweeps(self) -> dict[tuple[str, str, float], list[Played]]:
        found: dict[tuple[str, str, float], list[Played]] = {}
        for value, played in self.sweep:
            found.setdefault((played.setting, played.ranker, value), []).append(played)
        return found

    @property
    def sweep_values(self) -> list[float]:
        """The values of the fair ranker's sweep."""
        return self.values_swept(self.fair or "")

    def values_swept(self, ranker: str) -> list[float]:
        """The values that a ranker's own parameter took, in order."""
        return sorted({value for value, played in self.sweep if played.ranker == ranker})


def read_results(records: Records) -> Results:
    """Read every record of the final runs; what is missing or failed is listed."""
    overview = records.overview()
    if overview is None:
        raise ArgumentError("records", repr(records.store.place), "the records of an experiment", "Run it first.")
    experiment = Experiment.model_validate(overview["experiment"])
    chosen = {_place(row): row["parameters"] for row in overview["chosen"]}
    main, sweep, missing, failures = [], [], [], []
    versions = set()
    for row in overview["runs"]:
        if row["stage"] != FINAL:
            continue
        record = records.read(row["key"])
        if record is None:
            failure = records.failure(row["key"])
            missing.append(row["key"]) if failure is None else failures.append(failure)
            continue
        played = _played(row, record)
        versions.add(record["version"])
        if row["parameters"] == chosen.get(_place(row)):
            main.append(played)
        value = _swept_value(experiment, row)
        if value is not None:
            sweep.append((value, played))
    failures += [found for row in overview["runs"] if row["stage"] != FINAL and (found := records.failure(row["key"]))]
    if not main:
        raise ArgumentError("records", f"{records.store.place} without a finished run", "at least one", "Resume it.")
    return Results(experiment, overview, main, sweep, missing, failures, versions)


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["data"], row["user"], row["fold"], row["ranker"]


def _swept_value(experiment: Experiment, row: Mapping[str, Any]) -> float | None:
    """The value of the ranker's swept parameter, where the run is one of a sweep."""
    sweep = sweeps(experiment).get(row["ranker"])
    given = None if sweep is None else row["parameters"].get(sweep.parameter)
    if sweep is None or given is None or row["user"] not in sweep_users(experiment):
        return None
    return float(given) if float(given) in sweep.values else None


def _played(row: Mapping[str, Any], record: Json) -> Played:
    result = dict(record["result"])
    result[ROUND_TIME.name] = 1000.0 / record["timing"][SPEED.name]
    result[MEAN_HELDOUT_NDCG.name] = mean_over_rounds(record["points"]["round"], record["points"][HELDOUT_NDCG.name])
    names = ("data", "user", "fold", "seed", "ranker", "parameters", "key")
    return Played(**{name: row[name] for name in names}, result=result, points=record["points"])


def mean_over_rounds(rounds: Sequence[int], values: Sequence[float | None]) -> float | None:
    """The mean of a curve over the rounds, by trapezoids between the points that have a value.

    >>> mean_over_rounds([1, 2, 3], [0.0, None, 1.0])
    0.5
    """
    known = [(at, value) for at, value in zip(rounds, values, strict=True) if value is not None]
    if len(known) < 2:
        return known[0][1] if known else None
    area = sum((b - a) * (x + y) / 2 for (a, x), (b, y) in pairwise(known))
    return area / (known[-1][0] - known[0][0])
