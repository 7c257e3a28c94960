"""Summaries of data, as functions and on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fairexp.cli.commands.data import app
from fairexp.errors import ArgumentError, FairexpError
from fairexp.lab.data import COLLECTIONS, WORLDS, Dataset, GroupSummary, describe, group_shares, group_table

DATA = Dataset(
    features=np.zeros((6, 2), dtype=np.float32),
    grades=np.array([4, 0, 1, 0, 0, 3]),
    offsets=np.array([0, 3, 5, 6]),
    query_ids=("a", "b", "c"),
)


def test_rows() -> None:
    rows = dict(describe(DATA.with_groups([0, 1, 1, 0, 1, 0])))
    assert rows["queries"] == "3"
    assert rows["documents per query"] == "mean 2.0, median 2, largest 3"
    assert rows["queries without a relevant document"] == "1"
    assert [rows[f"grade {g}"] for g in range(5)] == ["3 (50.0%)", "1 (16.7%)", "0 (0.0%)", "1 (16.7%)", "1 (16.7%)"]
    assert rows["queries that lack a group"] == "1"


def test_group_table_and_shares() -> None:
    data = DATA.with_groups([0, 1, 1, 0, 1, 1], names=("A", "B"))
    assert group_table(data) == [GroupSummary("A", 2, 2 / 6, 2.0, 4), GroupSummary("B", 4, 4 / 6, 1.0, 4)]
    assert group_shares(data) == pytest.approx((1 / 3, 2 / 3))
    assert group_shares(data, by="average_utility") == pytest.approx((2 / 3, 1 / 3))
    assert group_shares(data, by="total_utility") == pytest.approx((1 / 2, 1 / 2))


def test_refusals() -> None:
    with pytest.raises(ArgumentError, match="without groups"):
        group_table(DATA)
    with pytest.raises(ArgumentError, match="by: expected one of 'size'"):
        group_shares(DATA.with_groups([0, 1] * 3), by="utility")
    with pytest.raises(ArgumentError, match="'1' would get 0"):
        group_shares(DATA.with_groups([0, 1, 0, 1, 1, 0]), by="total_utility")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"}, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_list_names_everything() -> None:
    output = run("list")
    for name in [*WORLDS, *COLLECTIONS]:
        assert name in output


def test_describe_prints_the_papers_table(tmp_path: Path) -> None:
    path = tmp_path / "tiny.txt"
    path.write_text("2 qid:1 1:1 2:9\n1 qid:1 1:0 2:8\n0 qid:2 1:1\n3 qid:2 1:0 2:5\n")
    output = run("describe", str(path), "--group", "1:raw:0.5")
    assert "feature 1 > 0.5" in output
    assert "50.00%" in output
    assert "Hidden from rankers: feature 1." in output
    betas = {line.split("│")[1].strip(): line.split("│")[3].strip() for line in output.splitlines() if " : " in line}
    assert betas == {"size": "1.000", "average utility": "0.500", "total utility": "0.500"}
    assert "Groups" not in run("describe", str(path))


def test_describe_survives_a_group_without_utility(tmp_path: Path) -> None:
    path = tmp_path / "tiny.txt"
    path.write_text("2 qid:1 1:1\n0 qid:1 1:0\n")
    assert "undefined" in run("describe", str(path), "--group", "1:0.5")


def test_describe_knows_worlds_and_names_what_it_does_not() -> None:
    assert "high PageRank" in run("describe", "mslr-pagerank", "--queries", "20")
    with pytest.raises(FairexpError, match="source: expected a file"):
        run("describe", "absent")
