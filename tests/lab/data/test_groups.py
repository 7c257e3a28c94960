"""Groups by threshold, quantile, file and name, and the text that names them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairexp.errors import ArgumentError, DataError
from fairexp.lab.data import Dataset, GroupRule
from fairexp.lab.data.groups import NAMED_RULES, by_cuts


def make(column: list[float], *, raw: list[float] | None = None, d: int = 3) -> Dataset:
    n = len(column)
    features = np.ones((n, d), dtype=np.float32)
    features[:, 1] = column
    unscaled = None
    if raw is not None:
        unscaled = np.zeros((n, d), dtype=np.float32)
        unscaled[:, 1] = raw
    return Dataset(features, np.zeros(n, dtype=np.int64), np.array([0, 2, n]), ("a", "b"), raw=unscaled)


def groups(data: Dataset) -> list[int]:
    assert data.groups is not None
    return data.groups.tolist()


def test_group_0_lies_strictly_above_the_threshold() -> None:
    data = make([0.1, 0.4, 0.400001, 0.9]).grouped_by_feature(2, threshold=0.4)
    assert groups(data) == [1, 1, 0, 0]
    assert data.blanked == (2,)
    assert data.group_names == ("feature 2 > 0.4", "feature 2 <= 0.4")
    assert data.query(0).features.tolist() == [[1, 0, 1], [1, 0, 1]]


def test_the_feature_may_stay_visible() -> None:
    data = make([0.25, 0.5, 1, 0]).grouped_by_feature(2, threshold=0.3, blank=False)
    assert data.blanked == ()
    assert data.query(0).features[:, 1].tolist() == [0.25, 0.5]


@pytest.mark.parametrize("text", ["0.1", "0.12", "0.3", "0.4", "0.7", "0.92"])
def test_a_value_written_like_the_threshold_is_not_above_it(text: str) -> None:
    assert by_cuts(np.array([float(text)], dtype=np.float32), (float(text),)).tolist() == [1]


def test_raw_values_are_compared_before_scaling() -> None:
    data = make([0.1, 0.9, 0.2, 0.8], raw=[50, 60, 5, 6])
    assert groups(data.grouped_by_feature(2, threshold=10, on="raw")) == [0, 0, 1, 1]
    assert groups(data.grouped_by_feature(2, threshold=0.5)) == [1, 0, 1, 0]
    assert groups(replace(data, raw=None).grouped_by_feature(2, threshold=0.5, on="raw")) == [1, 0, 1, 0]


def test_quantiles_make_several_groups_from_the_top() -> None:
    data = make([8.0, 1.0, 3.0, 2.0, 7.0, 5.0, 4.0, 6.0])
    assert groups(data.grouped_by_feature(2, quantile=0.5)) == [0, 1, 1, 1, 0, 0, 1, 0]
    three = data.grouped_by_feature(2, quantile=(0.25, 0.75))
    assert groups(three) == [0, 2, 1, 2, 0, 1, 1, 1]
    assert three.group_names == ("feature 2 > 6", "feature 2 in (2, 6]", "feature 2 <= 2")
    assert groups(data.grouped_by_feature(2, threshold=[7, 4])) == [0, 2, 2, 2, 1, 1, 2, 1]


def test_an_empty_group_is_an_error() -> None:
    data = make([0.1, 0.2, 0.3, 0.4])
    with pytest.raises(ArgumentError, match=r"no document in group 0 \(feature 2 > 0.5\)"):
        data.grouped_by_feature(2, threshold=0.5)
    with pytest.raises(ArgumentError, match="no document in group 1"):
        data.grouped_by_feature(2, threshold=0.0)
    with pytest.raises(ArgumentError, match="no document in group 0"):
        data.grouped_by_feature(1, quantile=0.5)
    with pytest.raises(ArgumentError, match="cuts that differ"):
        data.grouped_by_feature(1, quantile=(0.3, 0.6))


@pytest.mark.parametrize(
    "text", ["130:0.12", "130:q0.5", "130:q0.25,0.75", "130:raw:3.5", "130:raw:q0.5:keep", "file:a:b.txt", "pagerank"]
)
def test_rules_print_as_they_parse(text: str) -> None:
    rule = GroupRule.parse(text)
    assert str(rule) == text
    assert GroupRule.parse(str(rule)) == rule


def test_the_parts_of_a_rule() -> None:
    assert GroupRule.parse("130:0.12") == GroupRule(feature=130, thresholds=(0.12,))
    assert GroupRule.parse("130:q0.5") == GroupRule(feature=130, quantiles=(0.5,))
    assert GroupRule.parse("130:raw:3.5") == GroupRule(feature=130, thresholds=(3.5,), on="raw")
    assert GroupRule.parse("9:1:keep") == GroupRule(feature=9, thresholds=(1.0,), blank=False)
    assert GroupRule.parse("file:g.txt") == GroupRule(path="g.txt")


@pytest.mark.parametrize(
    "text", ["", ":", "130", "130:", "130:x", "x:1", "130:raw", "130:1:2", "file:", "130:q", "1.5:2"]
)
def test_text_that_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match="group"):
        GroupRule.parse(text)


@pytest.mark.parametrize("text", ["0:1", "-1:1", "3:q0", "3:q1.5", "3:inf", "3:nan", "4:0.5"])
def test_impossible_numbers_are_refused(text: str) -> None:
    with pytest.raises(ArgumentError):
        make([0.0, 1.0, 0.0, 1.0]).grouped(text)


def test_a_rule_needs_one_way_to_cut() -> None:
    data = make([0.0, 1.0, 0.0, 1.0])
    with pytest.raises(ArgumentError, match="neither of threshold and quantile"):
        data.grouped_by_feature(2)
    with pytest.raises(ArgumentError, match="both of threshold and quantile"):
        data.grouped_by_feature(2, threshold=0.5, quantile=0.5)
    with pytest.raises(ArgumentError, match="no or several ways"):
        GroupRule(feature=2, path="x", thresholds=(1.0,))


def test_named_attributes_depend_on_the_width() -> None:
    data = make([0.0, 1.0, 0.0, 1.0], d=136)
    features = data.features.copy()
    features[:, 129] = [0.12, 0.13, 0.0, 1.0]
    grouped = replace(data, features=features).grouped("pagerank")
    assert groups(grouped) == [1, 0, 1, 0]
    assert grouped.blanked == (130,)
    assert grouped.group_names == ("high PageRank", "low PageRank")
    with pytest.raises(ArgumentError, match="'pagerank', 'inlinks' for data with 136 features"):
        data.grouped("price")
    with pytest.raises(ArgumentError, match="no names for data with 3 features"):
        make([0.0, 1.0, 0.0, 1.0]).grouped("pagerank")


def test_the_papers_attributes() -> None:
    assert {(name, d): str(rule) for (name, d), rule in NAMED_RULES.items()} == {
        ("pagerank", 136): "130:0.12",
        ("inlinks", 136): "128:0.0",
        ("feature-9", 700): "9:0.92",
        ("feature-471", 700): "471:0.0",
        ("pagerank", 46): "41:0.4",
    }


FILE = "# groups\nb 0 small\n\na 1 large # note\na 0 small\nb 1 large\nother 7 huge\n"


def test_groups_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "groups.txt"
    path.write_text(FILE.replace("other 7 huge\n", "other 7 small\n"))
    data = make([0.0, 1.0, 0.0, 1.0]).grouped(f"file:{path}")
    assert groups(data) == [1, 0, 1, 0]
    assert data.group_names == ("large", "small")
    assert data.blanked == ()


def test_numeric_labels_keep_their_order(tmp_path: Path) -> None:
    path = tmp_path / "groups.txt"
    path.write_text("a 0 10\na 1 9\nb 0 9\nb 1 10\n")
    data = make([0.0, 1.0, 0.0, 1.0]).grouped(GroupRule(path=str(path)))
    assert (groups(data), data.group_names) == ([1, 0, 0, 1], ("9", "10"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 0\n", "line 1: 'a 0', expected `query_id document group`"),
        ("a x g\n", "line 1: 'a x g'"),
        ("a 0 g\na 5 g\n", "line 2: document 5 of query a, which has 2"),
        ("a 0 g\na 0 h\n", "line 2: document 0 of query a comes twice"),
        ("a 0 g\na 1 h\nb 1 g\n", r"no group for document 0 of query b \(1 documents lack one\)"),
    ],
)
def test_bad_group_files_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "groups.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        make([0.0, 1.0, 0.0, 1.0]).grouped(f"file:{path}")


def test_a_label_that_only_other_queries_have_makes_an_empty_group(tmp_path: Path) -> None:
    path = tmp_path / "groups.txt"
    path.write_text(FILE)
    with pytest.raises(ArgumentError, match=r"no document in group 0 \(huge\)"):
        make([0.0, 1.0, 0.0, 1.0]).grouped(f"file:{path}")
    with pytest.raises(DataError, match="cannot be read"):
        make([0.0, 1.0, 0.0, 1.0]).grouped("file:absent.txt")
