"""Records read back and put in order: what every ranker came to, in every setting, by (seed, fold) pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from fairexp.errors import ArgumentError
from fairexp.experiments.claims.statistics import Pair
from fairexp.experiments.plan.run_list import FINAL
from fairexp.experiments.plan.spec import Experiment
from fairexp.experiments.run.records import Records
from fairexp.experiments.store import Json
from fairexp.registry import keeps_tolerance
from fairexp.simulation.environment import DEFAULTS

MEASURES = (
    "online_ndcg",
    "offline_ndcg",
    "mean_heldout_ndcg",
    "mean_unfairness",
    "final_unfairness",
    "max_unfairness",
    "qualified_share",
    "mean_added_regret",
    "mean_misordered_pairs",
    "milliseconds_per_round",
)


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

    def value(self, measure: str) -> float | None:
        """A measure of `MEASURES`; None where it does not apply to this ranker."""
        found = self.result.get(measure)
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
    def fair(self) -> str | None:
        """The label of the first ranker that is held to a tolerance."""
        return next((label for label, spec in self.experiment.rankers.items() if keeps_tolerance(spec.ranker)), None)

    @property
    def tolerance(self) -> float:
        """The tolerance that the fair ranker is held to."""
        spec = self.experiment.rankers.get(self.fair or "")
        given = None if spec is None else spec.parameters.get("tolerance")
        return float(DEFAULTS["tolerance"] if given is None else given)

    def title(self, setting: str) -> str:
        """The setting for people, saying when its data is synthetic."""
        data, _, user = setting.rpartition("/")
        return f"{self.overview['titles'][data]}, {user} users"

    def values(self, setting: str, ranker: str, measure: str) -> dict[Pair, float]:
        """A measure by (seed, fold); pairs in which it does not apply are left out."""
        return self._table.get((setting, ranker, measure), {})

    @cached_property
    def _table(self) -> dict[tuple[str, str, str], dict[Pair, float]]:
        table: dict[tuple[str, str, str], dict[Pair, float]] = {}
        for played in self.main:
            for measure in MEASURES:
                value = played.value(measure)
                if value is not None:
                    table.setdefault((played.setting, played.ranker, measure), {})[played.pair] = value
        return table

    def swept(self, setting: str, value: float, measure: str) -> dict[Pair, float]:
        """A measure of the sweep at one value, by (seed, fold)."""
        found = {}
        for at, played in self.sweep:
            got = played.value(measure)
            if at == value and played.setting == setting and got is not None:
                found[played.pair] = got
        return found

    @property
    def sweep_values(self) -> list[float]:
        return sorted({value for value, _ in self.sweep})


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
        if _is_swept(experiment, row):
            assert experiment.sweep is not None
            sweep.append((float(row["parameters"][experiment.sweep.parameter]), played))
    failures += [found for row in overview["runs"] if row["stage"] != FINAL and (found := records.failure(row["key"]))]
    if not main:
        raise ArgumentError("records", f"{records.store.place} without a finished run", "at least one", "Resume it.")
    return Results(experiment, overview, main, sweep, missing, failures, versions)


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["data"], row["user"], row["fold"], row["ranker"]


def _is_swept(experiment: Experiment, row: Mapping[str, Any]) -> bool:
    from fairexp.experiments.plan.run import user_name

    sweep = experiment.sweep
    if sweep is None or row["ranker"] != sweep.ranker or sweep.parameter not in row["parameters"]:
        return False
    users = {user_name(user) for user in sweep.users or experiment.users}
    return row["user"] in users and float(row["parameters"][sweep.parameter]) in sweep.values


def _played(row: Mapping[str, Any], record: Json) -> Played:
    result = dict(record["result"])
    result["milliseconds_per_round"] = 1000.0 / record["timing"]["rounds_per_second"]
    result["mean_heldout_ndcg"] = mean_over_rounds(record["points"]["round"], record["points"]["heldout"])
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
