"""`--record`, `--measure`, `fairexp export` and `fairexp evaluate`, from the command line."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

Run = Callable[..., Result]
TINY = ("simulate", "--queries", 6, "--rounds", 40, "--jobs", 1, "--length", 3, "--user", "navigational")


def test_from_a_run_to_a_run_of_others(fairexp: Run, tmp_path: Path) -> None:
    logged, learned = tmp_path / "logged", tmp_path / "learned"
    fairexp(*TINY, "--ranker", "random", "--record", "shown,clicked", "--record", "propensity", "--out", logged)
    fairexp(*TINY, "--ranker", "pdgd", "--record", "all", "--draws", 4, "--out", learned)
    log, estimates = tmp_path / "log.parquet", tmp_path / "estimates.json"
    fairexp("export", "bandit", logged, "--out", log)
    evaluated = fairexp("evaluate", log, "--run", learned, "--out", estimates)
    found = json.loads(estimates.read_text())
    assert found["rounds"] == 40 and found["ips"]["low"] is found["lists"]["low"] is None
    assert "no intervals: the log is worth" in evaluated.stderr and "no interval by whole lists" in evaluated.stderr
    for name in ("ips", "snips", "dr", "logged"):
        assert f"{found[name]['mean']:.4f}" in evaluated.stdout
    own = fairexp("evaluate", log, "--ranker", "random", "--out", estimates)
    found = json.loads(estimates.read_text())
    assert found["ips"]["mean"] == pytest.approx(found["logged"]["mean"]) and "mean weight 1.000" in own.stdout
    fairexp("export", "trec", learned, "--out", tmp_path / "trec", "--part", "heldout", "--tag", "mine")
    line = (tmp_path / "trec" / "run.txt").read_text().splitlines()[0].split()
    assert line[1] == "Q0" and line[3] == "1" and line[5] == "mine"
    fairexp(*TINY, "--ranker", "pdgd", "--out", learned, "--overwrite")
    assert {path.name for path in learned.iterdir()} == {"settings.json", "trace.parquet", "result.json"}


def test_measures_of_the_field_stand_in_results_tables_and_summaries(fairexp: Run, tmp_path: Path) -> None:
    asked = ("--ranker", "pdgd", "--seeds", 2, "--measure", "Gini,EE-L", "--measure", "max-min share")
    output = fairexp(*TINY, *asked, "--out", tmp_path).stdout
    results = [json.loads((tmp_path / f"pdgd/navigational/seed-{s}/result.json").read_text()) for s in (0, 1)]
    mean = sum(result["Gini"] for result in results) / 2
    assert f"{mean:.4f}" in output and "max-min share" in output and "EE-R" not in output
    with (tmp_path / "summary.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert float(row["Gini"]) == pytest.approx(mean) and "EE-L half width" in row


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*TINY, "--record", "shown"), "--out"),
        ((*TINY, "--record", "clicks", "--out", "runs"), "examined"),
        ((*TINY, "--measure", "ugliness"), "max UF"),
        ((*TINY, "--track", "paper"), "mlflow"),
        (("evaluate", "nowhere.parquet", "--ranker", "random"), "does not exist"),
        (("evaluate", "nowhere.parquet"), "one of the two"),
        (("export", "trec", "nowhere", "--out", "there"), "not the folder of a run"),
    ],
)
def test_refusals(fairexp: Run, arguments: tuple[object, ...], message: str) -> None:
    assert message in fairexp(*arguments, exit_code=2).stderr
