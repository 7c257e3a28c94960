from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fairexp.cli.entry import app
from fairexp.lab.experiments.plan.prepared import prepare
from fairexp.lab.experiments.run.local import LocalProcesses
from fairexp.lab.experiments.run.probes import try_kinds
from tests.lab.experiments.conftest import one_ranker, small

runner = CliRunner()


def fairexp(*arguments: str) -> Any:
    return runner.invoke(app, list(arguments), env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("altair")
    folder = tmp_path_factory.mktemp("commands")
    values = small(users=["navigational"], rounds=6).model_dump(mode="json", exclude_none=True)
    (folder / "small.yaml").write_text(json.dumps(values))
    done = fairexp("experiment", "run", str(folder / "small.yaml"), "--out", str(folder / "r"), "--jobs", "2")
    assert done.exit_code == 0, done.output
    assert "Unfairness exceeds the tolerance exactly" in done.stdout and "report.html" in done.stdout
    assert "choosing parameters" in done.stderr and "left" in done.stderr and "best so far on" in done.stderr
    return folder


def test_the_report_is_complete(played: Path) -> None:
    report = played / "r" / "report"
    assert (report / "report.html").stat().st_size > 500_000
    names = {path.relative_to(report).as_posix() for path in report.rglob("*.*")}
    assert {"tables/claims.csv", "tables/runs.csv", "tables/choices.csv", "latex/claims.tex"} <= names
    for ending in ("png", "svg", "pdf"):
        assert f"figures/pagerank-navigational.{ending}" in names
        assert f"figures/frontier-pagerank-navigational.{ending}" in names


def test_a_run_with_nothing_to_do_leaves_the_report_as_it_is(played: Path) -> None:
    page = played / "r" / "report" / "report.html"
    before = page.stat().st_mtime_ns
    place = [str(played / "small.yaml"), "--out", str(played / "r")]
    again = fairexp("experiment", "run", *place)
    assert again.exit_code == 0 and "the report is up to date" in again.stderr and "report.html" in again.stdout
    assert page.stat().st_mtime_ns == before
    anew = fairexp("experiment", "report", *place)
    assert "report: figure 1 of" in anew.stderr and page.stat().st_mtime_ns > before


def test_status_counts(played: Path) -> None:
    told = fairexp("experiment", "status", str(played / "small.yaml"), "--out", str(played / "r"))
    assert told.exit_code == 0
    numbers = [line.split()[-4:] for line in told.stdout.splitlines() if line.strip().startswith(("choosing", "final"))]
    assert numbers == [["4", "0", "0", "4"], ["28", "0", "0", "28"]]


def test_status_without_records_says_so(played: Path) -> None:
    told = fairexp("experiment", "status", str(played / "small.yaml"), "--out", str(played / "none"))
    assert told.exit_code == 2 and "Run it first" in told.stderr


def test_the_plan_adds_up_and_plays_nothing(played: Path, tmp_path: Path) -> None:
    told = fairexp("experiment", "run", str(played / "small.yaml"), "--out", str(tmp_path / "r"), "--plan")
    assert told.exit_code == 0, told.output
    assert "32 runs: about" in told.stdout and "(between" in told.stdout and not (tmp_path / "r").exists()
    left = fairexp("experiment", "run", str(played / "small.yaml"), "--out", str(played / "r"), "--plan")
    assert "0 runs (32 are done already)" in left.stdout


def test_a_report_that_cannot_be_written_is_refused_before_the_runs(played: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    place = ["--out", str(tmp_path / "r"), "--report", str(tmp_path / "file" / "report")]
    told = fairexp("experiment", "run", str(played / "small.yaml"), *place)
    assert told.exit_code == 2 and "--report" in told.stderr and not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--data", "mslr-web10k"], "NAME=DIR"),
        (["--data", "mslr-web10k=/nowhere/at/all"], "no such folder"),
        (["--group", "5:0.1"], "--group"),
        (["--beta", "luck"], "average_utility"),
        (["--on", "moon", "--plan"], "local, ray or ray=ADDRESS"),
    ],
)
def test_reproduce_refuses_what_makes_no_sense(arguments: list[str], told: str, tmp_path: Path) -> None:
    result = fairexp("reproduce", "--quick", *arguments, "--out", str(tmp_path / "r"))
    assert result.exit_code == 2 and told in result.stderr
    assert not list(tmp_path.rglob("*@*"))


def test_where_fairness_is_impossible_it_is_said_once_for_each_data_set_and_tolerance(
    processes: LocalProcesses,
) -> None:
    data = {"yahoo": {"source": "yahoo-471", "n_queries": 60, "family": "yahoo"}}
    experiment = one_ranker("fairexp-random", data=data, users=["perfect", "navigational"])
    notes = try_kinds(experiment, prepare(experiment), processes)
    assert [note.split(":")[0] for note in notes] == ["yahoo, fairness"] * 2
    assert "'without feature 471' can get at most" in notes[1]


def test_notes_that_differ_by_user_say_whose_they_are(processes: LocalProcesses) -> None:
    """Estimated exposure is each user's own, and with it what a tolerance can be; the grouping is everybody's."""
    rankers = {"own": {"ranker": "fairexp-random", "parameters": {"tolerance": 1e-9}}}
    users = ["perfect", "navigational"]
    experiment = one_ranker("", rankers=rankers, users=users, exposure="randomised")
    notes = try_kinds(experiment, prepare(experiment), processes)
    coarse = [note for note in notes if "is below half the grid" in note]
    assert [note.split(":")[0] for note in coarse] == ["perfect users", "navigational users"]
    assert len({note.split(": ", 1)[1] for note in coarse}) == 2
    everybody = one_ranker("", rankers=rankers, users=users, exposure="flat", length=9)
    notes = try_kinds(everybody, prepare(everybody), processes)
    assert notes and all(note.startswith("pagerank, ") for note in notes)


def test_reproduce_with_another_set_needs_groups_and_uses_its_folds(tmp_path: Path) -> None:
    from fairexp.cli.commands.reproduce import _place_data
    from fairexp.lab.experiments.plan.yaml_file import read_document, validated

    for fold in (1, 2):
        (tmp_path / f"Fold{fold}").mkdir()
    told = fairexp("reproduce", "--quick", "--data", f"mine={tmp_path}")
    assert told.exit_code == 2 and "--group" in told.stderr
    values = read_document("quick").values
    _place_data(values, {"mine": str(tmp_path), "yahoo-set1": "/data/yahoo"}, ["5:0.5", "7:q0.5"], folds=None)
    experiment = validated(values)
    assert list(experiment.data) == ["yahoo-9", "yahoo-471", "mine-5-0.5", "mine-7-q0.5"]
    assert experiment.data["mine-5-0.5"].fold_list == [1, 2] and experiment.data["yahoo-9"].folder == "/data/yahoo"
