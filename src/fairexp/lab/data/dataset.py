"""A ranking data set: queries, their documents' features and grades, and, once chosen, provider groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from reprlib import repr as short_repr
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairexp.arrays import Floats, Ints
from fairexp.errors import ArgumentError, did_you_mean
from fairexp.lab.data.columns import listed
from fairexp.types import Query
from fairexp.validation import as_array, as_groups, check_choice, check_count, check_kind

if TYPE_CHECKING:
    from fairexp.lab.data.groups import GroupRule

Values = NDArray[np.float32]

UNSCALED, BY_QUERY = SCALINGS = ("none", "query")
"""How features are scaled: not at all, or each to [0, 1] within each query."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Queries with graded documents, one after the other in flat arrays.

    - `features` (N, d) float32, often memory-mapped: never written to, converted a query at a time.
    - `grades` (N,): relevance, 0 for none.
    - `offsets` (Q + 1,): query i has the rows offsets[i]:offsets[i + 1].
    - `groups` (N,): 0..G-1 for each document, or None; `group_names` says what they are.
    - `feature_names` (d,), all different: 1, 2, ... as in LETOR files unless given.
    - `scaling` of the features: one of `SCALINGS`.
    - `blanked`: features by number (from 1, as in LETOR files) that `query` and `chunks` show as 0.
    - `raw` (M, d): the values before scaling where `features` are scaled, else None; `raw_rows` (N,) are the rows of it
      that belong to this data set where those are not simply all.
    - `notes`: what is worth knowing of how it was read or grouped, in sentences.

    >>> data = Dataset(np.eye(3, dtype=np.float32), np.array([1, 0, 2]), np.array([0, 2, 3]), ("a", "b"))
    >>> data
    Dataset('data', 2 queries, 3 documents, 3 features, no groups)
    >>> data.with_groups([0, 1, 0]).query(0).groups.tolist()
    [0, 1]
    """

    features: Values
    grades: Ints
    offsets: Ints
    query_ids: tuple[str, ...]
    groups: Ints | None = None
    group_names: tuple[str, ...] | None = None
    blanked: tuple[int, ...] = ()
    name: str = "data"
    raw: Values | None = field(default=None)
    raw_rows: Ints | None = field(default=None)
    notes: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()
    scaling: str = UNSCALED

    def __post_init__(self) -> None:
        for name in ("features", "grades", "offsets"):
            check_kind(name, getattr(self, name), np.ndarray, "an array")
        n = len(self.features) if self.features.ndim else 0
        check_choice("scaling", self.scaling, SCALINGS)
        if self.features.ndim != 2 or self.features.dtype != np.float32:
            given = f"shape {self.features.shape} and dtype {self.features.dtype}"
            raise ArgumentError("features", given, "a float32 matrix with one row per document")
        if self.grades.shape != (n,):
            raise ArgumentError("grades", f"shape {self.grades.shape}", f"shape ({n},), one per document")
        if self.grades.dtype.kind not in "iu":
            raise ArgumentError("grades", f"dtype {self.grades.dtype}", "whole numbers from 0, one per document")
        if n and self.grades.min() < 0:
            raise ArgumentError("grades", int(self.grades.min()), "grades of at least 0")
        if self.offsets.ndim != 1 or self.offsets.dtype.kind not in "iu" or len(self.offsets) < 2:
            given = f"shape {self.offsets.shape} and dtype {self.offsets.dtype}"
            raise ArgumentError("offsets", given, "whole numbers, one more than queries")
        if self.offsets[0] != 0 or self.offsets[-1] != n or np.any(np.diff(self.offsets) < 1):
            raise ArgumentError("offsets", self.offsets, f"numbers that grow from 0 to {n}, with no empty query")
        if self.groups is not None:
            check_kind("groups", self.groups, np.ndarray, "an array")
            if self.groups.shape != (n,) or self.groups.dtype.kind not in "iu":
                given = f"shape {self.groups.shape} and dtype {self.groups.dtype}"
                raise ArgumentError("groups", given, f"whole numbers of shape ({n},), one per document")
        check_kind("query_ids", self.query_ids, tuple, "a tuple with the id of each query")
        if len(self.query_ids) != len(self.offsets) - 1:
            raise ArgumentError("query_ids", f"{len(self.query_ids)} ids", f"{len(self.offsets) - 1}, one per query")
        names = self.feature_names or numbered(self.n_features)
        if len(set(names)) < len(names) or len(names) != self.n_features:
            expected = f"{self.n_features} names that differ, one per feature"
            raise ArgumentError("feature_names", f"{len(names)} names, {len(set(names))} of them different", expected)
        object.__setattr__(self, "feature_names", names)

    def __repr__(self) -> str:
        groups = "no groups" if self.groups is None else f"{self.n_groups} groups"
        counts = f"{self.n_queries} queries, {self.n_documents} documents, {self.n_features} features"
        return f"Dataset({self.name!r}, {counts}, {groups})"

    @property
    def n_queries(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_documents(self) -> int:
        return int(self.features.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.features.shape[1])

    @property
    def n_groups(self) -> int:
        """How many groups there are, 0 before any were chosen."""
        if self.group_names is not None:
            return len(self.group_names)
        return 0 if self.groups is None else int(self.groups.max()) + 1

    @property
    def max_grade(self) -> int:
        return int(self.grades.max())

    def group_counts(self) -> Ints:
        """How many documents of each group every query has (Q, G); no columns before groups were chosen."""
        n_groups = self.n_groups
        cells = np.repeat(np.arange(self.n_queries), np.diff(self.offsets)) * n_groups
        if self.groups is None:
            return np.zeros((self.n_queries, 0), dtype=np.int64)
        return np.bincount(cells + self.groups, minlength=self.n_queries * n_groups).reshape(-1, n_groups)

    def rows(self, i: int) -> slice:
        """The rows of query `i`, from 0."""
        if isinstance(i, bool) or not isinstance(i, int | np.integer) or not 0 <= i < self.n_queries:
            raise ArgumentError("i", short_repr(i), f"the number of a query, from 0 to {self.n_queries - 1}")
        return slice(int(self.offsets[i]), int(self.offsets[i + 1]))

    def query(self, i: int) -> Query:
        """Query `i` as rankers see it: float64 features (n, d) with blanked columns 0, groups (n,), its id.

        Its documents are known by their number within the query.
        """
        rows = self.rows(i)
        groups = None if self.groups is None else self.groups[rows]
        numbers = np.arange(rows.stop - rows.start)
        return Query(features=self._shown(rows), groups=groups, query_id=self.query_ids[i], document_ids=numbers)

    def relevance(self, i: int) -> Ints:
        """The grades (n,) of query `i`: for simulated users and metrics, not for rankers."""
        return np.array(self.grades[self.rows(i)])

    def chunks(self, *, n_documents: int = 2048) -> Iterator[tuple[Floats, int, int]]:
        """(features, first, last) of runs of whole queries: float64 features (n, d) of queries first..last - 1.

        A run has at most `n_documents` documents, or is one query with more. By default they fit a
        processor's cache, which scores a whole set in a third of the time.
        """
        check_count("n_documents", n_documents)
        first = 0
        while first < self.n_queries:
            fits = int(np.searchsorted(self.offsets, self.offsets[first] + n_documents, side="right")) - 1
            last = max(first + 1, fits)
            yield self._shown(slice(int(self.offsets[first]), int(self.offsets[last]))), first, last
            first = last

    def column(self, feature: int, *, on: str = "scaled") -> Values:
        """The values (N,) of a feature by number (from 1): as held (`on="scaled"`) or as the file had it ("raw")."""
        check_choice("on", on, ("scaled", "raw"))
        check_count("feature", feature)
        if feature > self.n_features:
            raise ArgumentError("feature", feature, f"a number from 1 to {self.n_features}")
        if str(feature) in self.feature_names and self.feature_names[feature - 1] != str(feature):
            given = f"{feature}, which is the name of another feature than the {feature}th of the data"
            raise ArgumentError("feature", given, "names that are not numbers", "Rename the columns.")
        if on == "scaled" or self.raw is None:
            return np.array(self.features[:, feature - 1])
        rows = slice(None) if self.raw_rows is None else self.raw_rows
        return np.array(self.raw[rows, feature - 1])

    def with_groups(self, groups: ArrayLike, *, names: Sequence[str] | None = None) -> Dataset:
        """The same data with `groups` (N,), integers 0..G-1 of which none may be without a document."""
        checked = as_groups(groups, n=self.n_documents)
        if names is not None and not all(
            isinstance(each, str) for each in check_kind("names", names, Sequence, "names")
        ):
            raise ArgumentError("names", short_repr(names), "the name of each group, as text")
        n_groups = len(names) if names is not None else int(checked.max()) + 1
        sizes = np.bincount(checked, minlength=n_groups)
        if len(sizes) > n_groups:
            raise ArgumentError("groups", int(checked.max()), f"at most {n_groups - 1}, for {n_groups} names")
        if not sizes.all():
            empty = int(np.flatnonzero(sizes == 0)[0])
            called = f" ({names[empty]})" if names is not None else ""
            raise ArgumentError(
                "groups",
                f"no document in group {empty}{called}",
                "documents in every group",
                "Choose another threshold or quantile, or number the groups without gaps.",
            )
        labels = tuple(names) if names is not None else tuple(str(g) for g in range(n_groups))
        return replace(self, groups=checked, group_names=labels)

    def grouped(self, rule: GroupRule | str) -> Dataset:
        """The same data with groups by a `GroupRule` or its text, such as "130:0.12" or "pagerank"."""
        from fairexp.lab.data.groups import GroupRule

        return (rule if isinstance(rule, GroupRule) else GroupRule.parse(rule)).apply(self)

    def grouped_by_feature(
        self,
        feature: int,
        *,
        threshold: float | Sequence[float] | None = None,
        quantile: float | Sequence[float] | None = None,
        on: str = "scaled",
        blank: bool = True,
    ) -> Dataset:
        """The same data with groups by the value of `feature` (its id, from 1).

        Group 0 lies above the `threshold` (or above that `quantile` of all documents), group 1 at or below it. Several
        thresholds make several groups, highest first. `on="raw"` compares the values before scaling. `blank=True`
        hides the feature from rankers.

        >>> data = Dataset(np.eye(3, dtype=np.float32), np.array([1, 0, 2]), np.array([0, 2, 3]), ("a", "b"))
        >>> data.grouped_by_feature(1, threshold=0.5).groups.tolist()
        [0, 1, 1]
        """
        from fairexp.lab.data.groups import GroupRule

        return GroupRule(
            feature=feature, thresholds=_several(threshold), quantiles=_several(quantile), on=on, blank=blank
        ).apply(self)

    def with_features_of(self, training: Dataset) -> Dataset:
        """The same data with the features in the order in which `training` has them, matched by name.

        Raises:
            ArgumentError: a feature is missing or is one too many, or the features are not scaled alike.

        >>> data = Dataset(np.eye(2, dtype=np.float32), np.array([1, 0]), np.array([0, 2]), ("a",))
        >>> named = replace(data, feature_names=("price", "age"))
        >>> named.with_features_of(replace(data, feature_names=("age", "price"))).features.tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        if self.scaling != training.scaling:
            given = f"{self.name!r} with scaling {self.scaling!r}"
            raise ArgumentError("heldout", given, f"scaling {training.scaling!r}, as of {training.name!r}")
        if self.feature_names == training.feature_names:
            return self
        missing, extra = unmatched(training.feature_names, self.feature_names)
        if missing or extra:
            told = " and ".join(
                f"{words} {listed(names, most=5)}" for words, names in (("without", missing), ("with", extra)) if names
            )
            expected = f"the features of {training.name!r}, which are matched by name"
            raise ArgumentError("heldout", f"{self.name!r} {told}", expected, _remedy(missing, extra))
        places = {name: place for place, name in enumerate(self.feature_names)}
        order = [places[name] for name in training.feature_names]
        return replace(
            self,
            features=np.ascontiguousarray(self.features[:, order]),
            raw=None if self.raw is None else np.ascontiguousarray(self.raw[:, order]),
            blanked=tuple(sorted(order.index(feature - 1) + 1 for feature in self.blanked)),
            feature_names=training.feature_names,
        )

    def subset(self, queries: ArrayLike) -> Dataset:
        """The data of these `queries` (indices, in this order); neighbours share memory, others are copied."""
        chosen = as_array("queries", queries)
        if chosen.ndim != 1 or chosen.size == 0 or chosen.dtype.kind not in "iu":
            raise ArgumentError("queries", f"{queries!r}", "a non-empty list of query indices")
        if chosen.min() < 0 or chosen.max() >= self.n_queries:
            wrong = int(chosen.min() if chosen.min() < 0 else chosen.max())
            raise ArgumentError("queries", wrong, f"indices from 0 to {self.n_queries - 1}")
        if np.all(np.diff(chosen) == 1):
            rows: Ints | slice = slice(int(self.offsets[chosen[0]]), int(self.offsets[chosen[-1] + 1]))
        else:
            rows = np.concatenate([np.arange(self.offsets[i], self.offsets[i + 1]) for i in chosen])
        before = np.arange(self.n_documents) if self.raw_rows is None else self.raw_rows
        return replace(
            self,
            features=self.features[rows],
            grades=self.grades[rows],
            offsets=np.concatenate([[0], np.cumsum(np.diff(self.offsets)[chosen])]).astype(np.int64),
            query_ids=tuple(self.query_ids[i] for i in chosen),
            groups=None if self.groups is None else self.groups[rows],
            raw_rows=None if self.raw is None else before[rows],
        )

    def without_irrelevant(self) -> Dataset:
        """The data without queries that have no relevant document."""
        best = np.maximum.reduceat(self.grades, self.offsets[:-1])
        kept = np.flatnonzero(best > 0)
        if len(kept) == 0:
            raise ArgumentError("dataset", f"{self.name} with grades of 0 only", "a query with a relevant document")
        return self if len(kept) == self.n_queries else self.subset(kept)

    def _shown(self, rows: slice) -> Floats:
        shown = self.features[rows].astype(np.float64)
        for feature in self.blanked:
            shown[:, feature - 1] = 0.0
        return np.asarray(shown)


def numbered(n_features: int) -> tuple[str, ...]:
    """The names of features that have none: their numbers, from 1 as in LETOR files."""
    return tuple(map(str, range(1, n_features + 1)))


def unmatched(expected: Sequence[str], names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The names that are missing of those `expected`, and those that are there besides.

    >>> unmatched(("a", "b"), ("b", "c"))
    (['a'], ['c'])
    """
    there, wanted = set(names), set(expected)
    return [name for name in expected if name not in there], [name for name in names if name not in wanted]


def _remedy(missing: Sequence[str], extra: Sequence[str]) -> str:
    """What to do about features that do not match."""
    near = [f"{name!r}: {told}" for name in missing if (told := did_you_mean(name, extra))]
    if near:
        return near[0]
    if not extra and missing[-1].isdigit():
        return f"Where LETOR text leaves out values of 0, write the last feature once, as {missing[-1]}:0."
    return "Rename the columns, or name the features of both with --columns features=A+B."


def _several(values: float | Sequence[float] | None) -> tuple[float, ...]:
    if values is None:
        return ()
    if isinstance(values, str):
        raise ArgumentError("group", repr(values), "a number, or several")
    return tuple(values) if isinstance(values, Sequence | np.ndarray) else (values,)


def check_dataset(name: str, value: object) -> Dataset:
    """`value` if it is a `Dataset`, or an `ArgumentError`."""
    data: Dataset = check_kind(name, value, Dataset, "a fairexp.lab.data.Dataset, as read_letor() or world() returns")
    return data
