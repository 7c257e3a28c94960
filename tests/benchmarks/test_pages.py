"""What the docs say is what the records say; `make docs` mends a page that differs."""

from __future__ import annotations

import csv
import json
import zipfile
from pathlib import Path

import pytest

from benchmarks import readme, results
from benchmarks.marks import between
from benchmarks.pages import PAGES, ROOT
from fairexp.lab.experiments.frontier.verdicts import frontiers
from fairexp.lab.experiments.paper.findings import judge_all
from fairexp.lab.experiments.paper.results import read_results
from fairexp.lab.experiments.report.files import write_csv
from fairexp.lab.experiments.report.tables import all_tables, compare
from fairexp.lab.experiments.run.records import Records
from fairexp.lab.experiments.store import FolderStore


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_its_record_says(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    assert PAGES[name](page) == page, "run: make docs"


def test_a_table_that_differs_from_its_record_is_noticed() -> None:
    page, record = (ROOT / "README.md").read_text(encoding="utf-8"), json.loads(readme.TABLE.read_text())
    record["rows"][0]["online nDCG@10"] += 1.0
    assert readme.with_table(page, record) != page


def test_the_report_of_docs_is_that_of_its_records(tmp_path: Path) -> None:
    zipfile.ZipFile(results.PACK).extractall(tmp_path / "records")
    found = read_results(Records(FolderStore(tmp_path / "records")))
    assert not found.missing and not found.failures
    for table in all_tables(found, judge_all(found), compare(found), frontiers(found)):
        with (
            write_csv(table, tmp_path).open(newline="") as own,
            (results.FOLDER / "tables" / f"{table.name}.csv").open(newline="") as kept,
        ):
            for one, other in zip(csv.reader(own), csv.reader(kept), strict=True):
                assert [_figure(cell) for cell in one] == [_figure(cell) for cell in other], table.name


def _figure(cell: str) -> object:
    """Numbers to nine digits: the last ones depend on the machine."""
    try:
        return pytest.approx(float(cell), rel=1e-9, abs=1e-12)
    except ValueError:
        return cell


def test_a_pack_holds_final_runs_and_is_the_same_for_the_same_records(tmp_path: Path) -> None:
    with zipfile.ZipFile(results.PACK) as file:
        file.extractall(tmp_path / "records")
        overview = json.loads(file.read("experiment.json"))
        assert len(file.namelist()) == 1 + sum(row["stage"] == "final runs" for row in overview["runs"])
    results.pack(tmp_path / "records", tmp_path / "one.zip")
    results.pack(tmp_path / "records", tmp_path / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="x: begin"):
        between("a page", "x", ["new"])
