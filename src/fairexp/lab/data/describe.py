"""What a data set is like: its size, its grades, and the paper's table of groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairexp.errors import ArgumentError
from fairexp.lab.data.dataset import Dataset, check_dataset, numbered
from fairexp.validation import check_choice

SHARE_RULES = ("size", "average_utility", "total_utility")


@dataclass(frozen=True)
class GroupSummary:
    """One row of the group table: documents, their share, and their grades on average and in total."""

    name: str
    size: int
    share: float
    average_utility: float
    total_utility: int


def contents(dataset: Dataset) -> str:
    """What the features and groups are called, on one line.

    >>> contents(Dataset(np.eye(9, dtype=np.float32), np.arange(9), np.array([0, 9]), ("a",), name="tiny"))
    'tiny: 9 features: 1, 2, 3, ... 9'
    """
    features = feature_line(dataset.feature_names)
    if dataset.group_names is None:
        return f"{dataset.name}: {features}"
    return f"{dataset.name}: {features}; {dataset.n_groups} groups: {_shortened(dataset.group_names, first=8)}"


def feature_line(names: Sequence[str]) -> str:
    """How many features there are, and what they are called; the first and the last of many."""
    first = 3 if tuple(names) == numbered(len(names)) else 15
    return f"{len(names)} features: {_shortened(names, first=first)}"


def _shortened(names: Sequence[str], *, first: int) -> str:
    some = [*names[:first], f"... {names[-1]}"] if len(names) > first + 1 else names
    return ", ".join(repr(name) if not name.strip() or "," in name else name for name in some)


def describe(dataset: Dataset) -> list[tuple[str, str]]:
    """Rows (label, value) that sum up the data, ready for a table.

    >>> data = Dataset(np.eye(3, dtype=np.float32), np.array([1, 0, 2]), np.array([0, 2, 3]), ("a", "b"))
    >>> describe(data)[:2]
    [('queries', '2'), ('documents', '3')]
    """
    check_dataset("dataset", dataset)
    sizes = np.diff(dataset.offsets)
    counts = np.bincount(dataset.grades)
    best = np.maximum.reduceat(dataset.grades, dataset.offsets[:-1])
    rows = [
        ("queries", f"{dataset.n_queries:,}"),
        ("documents", f"{dataset.n_documents:,}"),
        ("documents per query", f"mean {sizes.mean():.1f}, median {np.median(sizes):g}, largest {sizes.max():,}"),
        ("features", f"{dataset.n_features:,}"),
        ("queries without a relevant document", f"{int((best == 0).sum()):,}"),
    ]
    rows += [(f"grade {grade}", f"{count:,} ({count / dataset.n_documents:.1%})") for grade, count in enumerate(counts)]
    if dataset.groups is not None:
        lacking = (dataset.group_counts() == 0).any(axis=1)
        rows.append(("queries that lack a group", f"{int(lacking.sum()):,}"))
    return rows


def group_table(dataset: Dataset) -> list[GroupSummary]:
    """The paper's Table 1 for this data: a row per group."""
    check_dataset("dataset", dataset)
    if dataset.groups is None or dataset.group_names is None:
        raise ArgumentError("dataset", f"{dataset.name} without groups", "one with groups", "Call grouped() first.")
    sizes = np.bincount(dataset.groups, minlength=dataset.n_groups)
    totals = np.bincount(dataset.groups, weights=dataset.grades, minlength=dataset.n_groups)
    return [
        GroupSummary(name, int(size), size / dataset.n_documents, total / size if size else 0.0, int(total))
        for name, size, total in zip(dataset.group_names, sizes.tolist(), totals.tolist(), strict=True)
    ]


def group_shares(dataset: Dataset, by: str = "size") -> tuple[float, ...]:
    """Each group's share of the exposure, adding up to 1: by its size, or by its average or total utility (grades).

    For two groups the paper's beta is shares[0] / shares[1]. The paper takes the ratio of average utilities. Exposure
    is summed over a group's documents, so that equals exposure per merit only for groups of one size; total utility
    does so in general.

    >>> data = Dataset(np.eye(3, dtype=np.float32), np.array([1, 0, 2]), np.array([0, 2, 3]), ("a", "b"))
    >>> group_shares(data.with_groups([0, 0, 1]), by="average_utility")
    (0.2, 0.8)
    """
    check_choice("by", by, SHARE_RULES)
    table = group_table(dataset)
    weights = np.array([getattr(row, by) for row in table], dtype=np.float64)
    if not (weights > 0).all():
        empty = table[int(np.flatnonzero(weights <= 0)[0])].name
        raise ArgumentError("by", repr(by), f"a rule that gives every group a share; {empty!r} would get 0")
    return tuple((weights / weights.sum()).tolist())
