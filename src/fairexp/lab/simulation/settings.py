"""Everything that defines one run, as plain data, and the data that it names."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats
from fairexp.errors import ArgumentError
from fairexp.lab.data import COLLECTIONS, WORLDS, Dataset, group_shares, open_data
from fairexp.lab.data.dataset import check_dataset
from fairexp.lab.data.letor_folders import read_parts
from fairexp.lab.simulation.recorder import NOTHING_MORE, Recording
from fairexp.lab.users import preset_grades
from fairexp.measures import ZERO, check_irrelevant
from fairexp.randomness import check_seed
from fairexp.validation import (
    as_array,
    as_path,
    as_shares,
    check_choice,
    check_count,
    check_kind,
    check_mapping,
    check_text,
)

WORLD_TEST = 300
"""Queries of a world's test and validation parts."""

EQUAL = "equal"
SHARES = (EQUAL, "size", "average_utility", "total_utility")
NO_GROUPS = "Say how documents are grouped: --group RULE, or a column of groups in a table."

Parts = tuple[Dataset, Dataset | None, Dataset | None]
"""The data to serve from, to evaluate on, and to choose parameters on."""


@dataclass(frozen=True)
class DataSettings:
    """Which data: `source` is a synthetic world, a collection (in `folder`, `fold`), or a file with `heldout` beside.

    Any other name with a `folder` is a LETOR set that lies there in parts (see `fairexp.lab.data.letor_folders`).
    `group` says how documents are grouped (see `fairexp.lab.data.GroupRule`); a world has groups of its own.
    `columns` says which columns of a table hold what (see `fairexp.lab.data.Columns`), and `ignore` which are not read.
    """

    source: str = "mslr-pagerank"
    folder: str | None = None
    fold: int = 1
    heldout: str | None = None
    group: str | None = None
    n_queries: int | None = None
    seed: int = 0
    columns: str | None = None
    ignore: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_text("source", self.source, "the name of data, or a file")
        for name in ("folder", "heldout"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, str(as_path(name, given, "a path, as text")))
        for name in ("group", "columns"):
            given = getattr(self, name)
            if given is not None:
                check_text(name, given)
        check_count("fold", self.fold)
        if self.n_queries is not None:
            check_count("n_queries", self.n_queries)
        check_seed(self.seed)

    def load(self) -> tuple[Dataset, Dataset | None]:
        """The data to serve from, and that to evaluate on, or None."""
        if self.is_unknown_set:
            return self.load_parts(validation=False)[:2]
        has_parts = self.source in WORLDS or self.source in COLLECTIONS
        other = self.heldout if self.heldout is not None or not has_parts else self.source
        if other is None:
            return self._open(self.source, "train"), None
        with ThreadPoolExecutor(1) as other_core:  # drawing numbers and reading files need no interpreter
            unmatched = other_core.submit(self._open, other, "test", is_grouped=False)
            train = self._open(self.source, "train")
            heldout = unmatched.result().with_features_of(train)  # before a rule groups it by the number of a feature
        return train, heldout if self.group is None else heldout.grouped(self.group)

    def load_parts(self, *, validation: bool = True) -> tuple[Dataset, Dataset, Dataset | None]:
        """The data to serve from, to evaluate on, and to choose parameters on (None without `validation`).

        A world's last two are the halves of its test queries.
        """
        if self.source in WORLDS:
            both = open_data(self.source, part="test", group=self.group, n_queries=2 * WORLD_TEST, seed=self.seed)
            halves = (both.subset(range(WORLD_TEST)), both.subset(range(WORLD_TEST, 2 * WORLD_TEST)))
            parts = [self._open(self.source, "train"), *halves]
        elif self.source in COLLECTIONS:
            if validation and "vali" not in COLLECTIONS[self.source].files:
                raise ArgumentError("data", self.source, "data with a validation part", "Give parameters, not grids.")
            names = ("train", "test", "vali") if validation else ("train", "test")
            parts = [self._open(self.source, name) for name in names]
        elif self.is_unknown_set:
            names = ("train", "test", "vali") if validation else ("train", "test")
            read = read_parts(str(self.folder), fold=self.fold, parts=names)
            parts = [data if self.group is None else data.grouped(self.group) for data in read]
            if self.n_queries is not None:
                parts[0] = parts[0].subset(range(min(self.n_queries, parts[0].n_queries)))
        else:
            raise ArgumentError("data", repr(self.source), "a world, or data in a folder with train, vali and test")
        return parts[0], parts[1], parts[2] if validation else None

    @property
    def is_unknown_set(self) -> bool:
        """Whether this is a LETOR set that the catalogue does not know, in a folder."""
        return self.folder is not None and self.source not in WORLDS and self.source not in COLLECTIONS

    def n_grades(self, train: Dataset) -> int:
        """How many grades a preset user must know: the collection's, or as many as the data shows."""
        if self.source in COLLECTIONS:
            return COLLECTIONS[self.source].n_grades
        return 5 if self.source in WORLDS else preset_grades(train.max_grade)

    def _open(self, source: str, part: str, *, is_grouped: bool = True) -> Dataset:
        limit = self.n_queries if part == "train" else None
        return open_data(
            source,
            folder=self.folder,
            fold=self.fold,
            part=part,
            group=self.group if is_grouped else None,
            n_queries=limit,
            seed=self.seed,
            columns=self.columns,
            ignore=self.ignore,
        )


@dataclass(frozen=True)
class RunSettings:
    """One run. `shares` is what the groups are owed: "equal", by "size", "average_utility" or "total_utility" of the
    data, or numbers; `exposure` a curve's name, file or numbers. Unfairness is measured by these two for every
    ranker, and fair rankers aim at them: `parameters` that say otherwise are an error."""

    ranker: str = "fairexp-pairrank"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    data: DataSettings = field(default_factory=DataSettings)
    user: str = "perfect"
    stop_after: str | None = None
    rounds: int = 1000
    seed: int = 0
    length: int = 10
    exposure: str | tuple[float, ...] = "reciprocal"
    shares: str | tuple[float, ...] = EQUAL
    n_points: int = 40
    recording: Recording = NOTHING_MORE
    """What to keep and measure besides the usual; no part of what happens."""
    validate: bool = False
    """Whether the validation part is held back, and what was learned measured on it at the end."""
    irrelevant: str = ZERO
    """What NDCG does with queries without a relevant document (see `fairexp.measures.IRRELEVANT`)."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        check_text("ranker", self.ranker, "the name of a ranker")
        check_mapping("parameters", self.parameters, "values by parameter, such as {'tolerance': 0.1}")
        put(self, "user", str(as_path("user", self.user, "the name of a user, or a file")))
        check_kind("data", self.data, DataSettings, "DataSettings, such as DataSettings('mslr-pagerank')")
        for name in ("exposure", "shares"):
            given = getattr(self, name)
            if not isinstance(given, str):
                put(self, name, tuple(as_array(name, given).ravel().tolist()))
        for name in ("rounds", "length", "n_points"):
            check_count(name, getattr(self, name))
        check_seed(self.seed)
        check_kind("validate", self.validate, bool, "True or False")
        check_kind("recording", self.recording, Recording, "a Recording")
        check_irrelevant(self.irrelevant)

    @property
    def label(self) -> str:
        """A readable id, also the path of the run below an experiment's folder."""
        user = Path(self.user).stem
        return f"{self.ranker.replace(':', '.')}/{user}/seed-{self.seed}"

    def with_seed(self, seed: int) -> RunSettings:
        return replace(self, seed=seed)


def shares_of(spec: str | ArrayLike, dataset: Dataset) -> Floats | None:
    """The shares (G,) that `spec` gives the groups of `dataset`; None where it has no groups.

    Where all documents are in one group there are two shares, because nothing can be fair to one alone.
    """
    check_dataset("dataset", dataset)
    if isinstance(spec, str):
        check_choice("shares", spec, SHARES)
    if dataset.groups is None:
        if isinstance(spec, str) and spec == EQUAL:
            return None
        raise ArgumentError("shares", short_repr(spec), "none, since the documents have no groups", NO_GROUPS)
    n_groups = max(dataset.n_groups, 2)
    if not isinstance(spec, str):
        shares = as_shares(spec)
        if len(shares) != n_groups:
            raise ArgumentError("shares", f"{len(shares)} numbers", f"{n_groups}, one per group")
        return shares
    if spec == EQUAL:
        return np.ones(n_groups)
    if dataset.n_groups < 2:
        raise ArgumentError("shares", repr(spec), "'equal' or two numbers, since all documents are in one group")
    return as_shares(group_shares(dataset, by=spec))


@lru_cache(maxsize=4)
def loaded_parts(data: DataSettings, validation: bool) -> Parts:
    """The parts that a run needs, the last few kept: with `validation`, queries to choose parameters on held back."""
    return data.load_parts() if validation else (*data.load(), None)
