"""Provider groups: by a feature's threshold or quantile, from a file, or by a name that the paper gives them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Ints
from fairexp.errors import ArgumentError
from fairexp.validation import check_choice, check_count, check_kind, check_number, check_text

if TYPE_CHECKING:
    from fairexp.lab.data.dataset import Dataset

TIES = 0.02
"""By how much the size of a group may differ from its quantiles before it is said."""

FORMS = "'pagerank', '130:0.12', '130:q0.5', '130:raw:3.5' or 'file:groups.txt'"


@dataclass(frozen=True)
class GroupRule:
    """How documents fall into groups; prints and parses as text, so that commands and records can name it.

    - by a feature: `feature` with `thresholds`, or with `quantiles` of all documents. Group 0 lies above the highest,
      the last group at or below the lowest; `on` says whether scaled or raw values count, `blank` hides the feature.
    - by a file: `path`, with lines `query_id document group` (see `fairexp.lab.data.group_files`).
    - by a name: `attribute`, looked up by the number of features (see `NAMED_RULES`).

    >>> GroupRule.parse("130:0.12")
    GroupRule('130:0.12')
    >>> str(GroupRule(feature=3, quantiles=(0.25, 0.75), on="raw", blank=False))
    '3:raw:q0.25,0.75:keep'
    """

    feature: int | None = None
    thresholds: tuple[float, ...] = ()
    quantiles: tuple[float, ...] = ()
    on: str = "scaled"
    blank: bool = True
    path: str | None = None
    attribute: str | None = None
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if sum(x is not None for x in (self.feature, self.path, self.attribute)) != 1:
            raise ArgumentError("group", "no or several ways to group", "a feature, a path or an attribute")
        if self.feature is None:
            return
        check_count("feature", self.feature)
        check_choice("on", self.on, ("scaled", "raw"))
        check_kind("blank", self.blank, bool, "True or False")
        check_kind("thresholds", self.thresholds, tuple, "a tuple of numbers")
        check_kind("quantiles", self.quantiles, tuple, "a tuple of numbers between 0 and 1")
        if bool(self.thresholds) == bool(self.quantiles):
            given = "both" if self.thresholds else "neither"
            raise ArgumentError("group", f"{given} of threshold and quantile", "one of them")
        for threshold in self.thresholds:
            check_number("threshold", threshold)
        if not all(0 < check_number("quantile", q) < 1 for q in self.quantiles):
            raise ArgumentError("quantile", self.quantiles, "numbers between 0 and 1")

    @classmethod
    def parse(cls, text: str) -> GroupRule:
        """The rule that `text` names, in one of the forms 'pagerank', '130:0.12', '130:q0.5', '130:q0.3,0.7',
        '130:raw:3.5', 'file:groups.txt'; ':keep' at the end leaves the feature visible to rankers.
        """
        check_text("group", text, f"a form such as {FORMS}")
        if text.startswith("file:") and len(text) > len("file:"):
            return cls(path=text.removeprefix("file:"))
        first, *rest = text.split(":")
        if not rest and first and not first[0].isdigit():
            return cls(attribute=first)
        blank = rest[-1:] != ["keep"]
        rest = rest if blank else rest[:-1]
        on = "raw" if rest[:1] == ["raw"] else "scaled"
        rest = rest[1:] if on == "raw" else rest
        try:
            (cut,) = rest
            cuts = tuple(float(x) for x in cut.removeprefix("q").split(","))
            feature = int(first)
        except ValueError:
            raise ArgumentError("group", repr(text), f"a form such as {FORMS}") from None
        if cut.startswith("q"):
            return cls(feature=feature, quantiles=cuts, on=on, blank=blank)
        return cls(feature=feature, thresholds=cuts, on=on, blank=blank)

    def __str__(self) -> str:
        if self.path is not None:
            return f"file:{self.path}"
        if self.attribute is not None:
            return self.attribute
        cuts = ("q" if self.quantiles else "") + ",".join(f"{x!r}" for x in self.quantiles or self.thresholds)
        parts = [str(self.feature), *(["raw"] if self.on == "raw" else []), cuts]
        return ":".join([*parts, *([] if self.blank else ["keep"])])

    def __repr__(self) -> str:
        return f"GroupRule({str(self)!r})"

    def apply(self, dataset: Dataset) -> Dataset:
        """The same data with the groups of this rule."""
        if self.path is not None:
            from fairexp.lab.data.group_files import read_groups

            groups, names = read_groups(self.path, dataset)
            return dataset.with_groups(groups, names=names)
        if self.feature is not None:
            return self._by_feature(dataset, self.feature)
        return named_rule(str(self.attribute), n_features=dataset.n_features).apply(dataset)

    def _by_feature(self, dataset: Dataset, feature: int) -> Dataset:
        values = dataset.column(feature, on=self.on)
        self._check_varies(dataset, feature, values)
        cuts = self.thresholds or tuple(np.quantile(values, self.quantiles, method="lower").tolist())
        if len(set(cuts)) < len(cuts):
            raise ArgumentError("group", f"{self} with cuts at {cuts}", "cuts that differ", "Ask for fewer groups.")
        names = self.names or _cut_names(dataset.feature_names[feature - 1], cuts)
        grouped = dataset.with_groups(by_cuts(values, cuts), names=names)
        hidden = {*dataset.blanked, feature} if self.blank else dataset.blanked
        notes = (*dataset.notes, *self._about_ties(grouped))
        return replace(grouped, blanked=tuple(sorted(hidden)), notes=notes)

    def _check_varies(self, dataset: Dataset, feature: int, values: NDArray[np.float32]) -> None:
        """Refuse a feature that scaling within queries has made 0 everywhere, and name the way that works."""
        if self.on == "raw" or dataset.raw is None or values.min() < values.max():
            return
        raw = dataset.column(feature, on="raw")
        told = f"feature {feature}, which has one value in every query, so that scaling within queries makes it 0"
        if raw.min() < raw.max():
            other = (
                replace(self, on="raw") if self.quantiles else replace(self, on="raw", quantiles=(0.5,), thresholds=())
            )
            remedy = f"Group by its values in the file, e.g. {str(other)!r}: every query then has one group only."
            raise ArgumentError("group", told, "a feature that varies", remedy)
        raise ArgumentError("group", f"feature {feature}, which is {raw[0]:g} everywhere", "a feature that varies")

    def _about_ties(self, grouped: Dataset) -> list[str]:
        """Where quantiles do not divide the documents as asked, because many have one value."""
        assert grouped.groups is not None
        if not self.quantiles:
            return []
        borders = np.array([0.0, *sorted(self.quantiles), 1.0])
        asked = np.diff(borders)[::-1]
        found = np.bincount(grouped.groups, minlength=len(asked)) / grouped.n_documents
        if np.abs(found - asked).max() <= TIES:
            return []
        parts = [" / ".join(f"{100 * part:.3g}" for part in each) for each in (found, asked)]
        return [f"groups by {self} divide the documents {parts[0]}, not {parts[1]}: many share the value at the cut."]


def by_cuts(values: NDArray[np.float32], cuts: tuple[float, ...]) -> Ints:
    """Groups (N,) of `values` (N,) float32: 0 above the highest cut, ..., len(cuts) at or below the lowest.

    The cuts are rounded to float32 first: a value written as 0.4 in a file is then not above a threshold of 0.4.
    """
    borders = np.sort(np.asarray(cuts, dtype=np.float32))
    return len(borders) - np.searchsorted(borders, values, side="left").astype(np.int64)


def _cut_names(feature: str, cuts: tuple[float, ...]) -> tuple[str, ...]:
    ordered = [f"{cut:g}" for cut in sorted(cuts, reverse=True)]
    between = [f"feature {feature} in ({low}, {high}]" for high, low in pairwise(ordered)]
    return (f"feature {feature} > {ordered[0]}", *between, f"feature {feature} <= {ordered[-1]}")


NAMED_RULES: dict[tuple[str, int], GroupRule] = {
    ("pagerank", 136): GroupRule(feature=130, thresholds=(0.12,), names=("high PageRank", "low PageRank")),
    ("inlinks", 136): GroupRule(feature=128, thresholds=(0.0,), names=("more inlinks", "fewest inlinks")),
    ("feature-9", 700): GroupRule(feature=9, thresholds=(0.92,), names=("high feature 9", "low feature 9")),
    ("feature-471", 700): GroupRule(feature=471, thresholds=(0.0,), names=("with feature 471", "without feature 471")),
    ("pagerank", 46): GroupRule(feature=41, thresholds=(0.4,), names=("high PageRank", "low PageRank")),
}
"""The group attributes by name and number of features: MSLR's two and Yahoo's two as in the paper (after scaling
within queries, with the group feature hidden from rankers), and PageRank of LETOR 4.0 cut near its median."""


def named_rule(attribute: str, *, n_features: int) -> GroupRule:
    """The rule called `attribute` for data with that many features.

    >>> named_rule("pagerank", n_features=136)
    GroupRule('130:0.12')
    """
    rule = NAMED_RULES.get((attribute, n_features))
    if rule is None:
        known = [name for name, width in NAMED_RULES if width == n_features]
        names = ", ".join(repr(name) for name in known) or "no names"
        raise ArgumentError(
            "group",
            repr(attribute),
            f"{names} for data with {n_features} features, or a form such as {FORMS}",
        )
    return rule
