"""Everything that defines one run, as plain data, and the run that it defines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from fairexp.arrays import Floats
from fairexp.data import COLLECTIONS, WORLDS, Dataset, group_shares, open_data
from fairexp.errors import ArgumentError
from fairexp.fairness.exposure import exposure_curve
from fairexp.simulation.registry import Environment, build_ranker
from fairexp.simulation.run import Result, simulate
from fairexp.users import load_user, preset_grades
from fairexp.users.dependent import PRESET_NAMES
from fairexp.validation import as_shares, check_count

SHARES = ("equal", "size", "average_utility", "total_utility")


@dataclass(frozen=True)
class DataSettings:
    """Which data: `source` is a synthetic world, a collection (in `folder`, `fold`), or a file with `heldout` beside.

    `group` says how documents are grouped (see `fairexp.data.GroupRule`); a world has groups of its own.
    """

    source: str = "mslr-pagerank"
    folder: str | None = None
    fold: int = 1
    heldout: str | None = None
    group: str | None = None
    n_queries: int | None = None
    seed: int = 0

    def load(self) -> tuple[Dataset, Dataset | None]:
        """The data to serve from, and that to evaluate on (queries with a relevant document only), or None."""
        train = self._open(self.source, "train")
        if self.heldout is not None:
            heldout = self._open(self.heldout, "test")
        elif self.source in WORLDS or self.source in COLLECTIONS:
            heldout = self._open(self.source, "test")
        else:
            return train, None
        return train, heldout.without_irrelevant()

    def n_grades(self, train: Dataset) -> int:
        """How many grades a preset user must know: the collection's, or as many as the data shows."""
        if self.source in COLLECTIONS:
            return COLLECTIONS[self.source].n_grades
        return 5 if self.source in WORLDS else preset_grades(train.max_grade)

    def _open(self, source: str, part: str) -> Dataset:
        limit = self.n_queries if part == "train" else None
        return open_data(
            source, folder=self.folder, fold=self.fold, part=part, group=self.group, n_queries=limit, seed=self.seed
        )


@dataclass(frozen=True)
class Settings:
    """One run. `shares` is what the groups are owed: "equal", by "size", "average_utility" or "total_utility" of the
    data, or numbers; `exposure` a curve's name, file or numbers. Unfairness is measured by these two for every
    ranker, and fair rankers aim at them."""

    ranker: str = "fairexp-pairrank"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    data: DataSettings = field(default_factory=DataSettings)
    user: str = "perfect"
    stop_after: str | None = None
    rounds: int = 1000
    seed: int = 0
    length: int = 10
    exposure: str | tuple[float, ...] = "reciprocal"
    shares: str | tuple[float, ...] = "equal"
    n_points: int = 40

    @property
    def label(self) -> str:
        """A readable id, also the path of the run below an experiment's folder."""
        user = Path(self.user).stem
        return f"{self.ranker.replace(':', '.')}/{user}/seed-{self.seed}"

    def with_seed(self, seed: int) -> Settings:
        return replace(self, seed=seed)


def run(
    settings: Settings, *, folder: Path | None = None, progress: Callable[[dict[str, Any]], None] | None = None
) -> Result:
    """Build what `settings` name and simulate it. One root seed gives the streams of queries, ranker and user."""
    check_count("rounds", settings.rounds)
    train, heldout = _loaded(settings.data)
    queries, ranker_seed, user_seed = np.random.SeedSequence(settings.seed).spawn(3)
    shares = shares_of(settings.shares, train)
    exposure = exposure_curve(settings.exposure, settings.length)
    environment = Environment(
        n_features=train.n_features,
        length=settings.length,
        exposure=exposure,
        shares=shares,
        grades=lambda: {train.query_ids[i]: train.relevance(i) for i in range(train.n_queries)},
        seed=ranker_seed,
    )
    ranker = build_ranker(settings.ranker, environment, settings.parameters)
    n_grades = settings.data.n_grades(train) if settings.user in PRESET_NAMES else None
    user = load_user(settings.user, n_grades=n_grades, stop_after=settings.stop_after, seed=user_seed)
    return simulate(
        ranker,
        train,
        user,
        rounds=settings.rounds,
        exposure=exposure,
        shares=shares,
        heldout=heldout,
        seed=queries,
        n_points=settings.n_points,
        folder=folder,
        settings=asdict(settings),
        progress=progress,
    )


def shares_of(spec: str | tuple[float, ...], dataset: Dataset) -> Floats | None:
    """The shares (G,) that `spec` gives the groups of `dataset`; None where it has no groups."""
    if dataset.groups is None:
        return None
    if not isinstance(spec, str):
        shares = as_shares(spec)
        if len(shares) != dataset.n_groups:
            raise ArgumentError("shares", f"{len(shares)} numbers", f"{dataset.n_groups}, one per group")
        return shares
    if spec == "equal":
        return np.ones(dataset.n_groups)
    if spec not in SHARES:
        raise ArgumentError("shares", repr(spec), f"one of {', '.join(map(repr, SHARES))}, or a number per group")
    return as_shares(group_shares(dataset, by=spec))


@lru_cache(maxsize=4)
def _loaded(data: DataSettings) -> tuple[Dataset, Dataset | None]:
    return data.load()
