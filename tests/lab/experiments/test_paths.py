"""Paths in an experiment are seen from the file that names them, and are no part of what is recorded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fairexp.errors import ArgumentError
from fairexp.lab.experiments.conduct import conduct
from fairexp.lab.experiments.plan.paths import located, records_place, with_paths
from fairexp.lab.experiments.plan.prepared import prepare
from fairexp.lab.experiments.plan.yaml_file import read_experiment
from fairexp.lab.experiments.run.local import LocalProcesses
from fairexp.lab.experiments.run.records import Records
from fairexp.lab.experiments.store import open_records_store
from tests.lab.experiments.conftest import letor_set
from tests.lab.experiments.test_commands import fairexp

BASE = """
name: base
data:
  by-file: {source: mine, folder: ../sets/mine, group: "file:groups.txt"}
  by-feature: {source: mine, folder: ../sets/mine, group: "2:0.5"}
users: [navigational, clicker.yaml]
rankers: {own: {ranker: "lab_ranker:LabRanker"}, pdgd: {ranker: pdgd}}
sweep: {ranker: pdgd, parameter: learning_rate, values: [0.1, 0.01], users: [clicker.yaml]}
exposure: curve.json
rounds: 4
seeds: 1
length: 4
n_points: 2
records: kept
"""
RANKER = "from fairexp.rankers.baselines.controls import RandomRanker\n\n\nclass LabRanker(RandomRanker):\n    pass\n"


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data and an experiment whose base lies in a folder of its own; commands are run elsewhere."""
    folder = tmp_path / "lab"
    letor_set(folder / "sets" / "mine", 1, n_documents=12)
    base = folder / "base"
    base.mkdir()
    lines = [f"{part}{q} {d} {d % 2}\n" for part in ("train", "vali", "test") for q in range(6) for d in range(12)]
    (base / "groups.txt").write_text("".join(lines))
    (base / "clicker.yaml").write_text("model: cascade\nattraction: [0.1, 0.5, 0.9]\n")
    (base / "curve.json").write_text(json.dumps({"exposure": [1.0, 0.8, 0.6, 0.5]}))
    (base / "lab_ranker.py").write_text(RANKER)
    (base / "base.yaml").write_text(BASE)
    (folder / "own.yaml").write_text("extends: base/base.yaml\nname: own\nseeds: 1\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("FAIREXP_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(base)
    return folder


def play(file: Path, place: Path) -> tuple[Records, list[str]]:
    """The records after the experiment, and the runs that were played for it."""
    experiment, folders = read_experiment(file)
    records, played = Records(open_records_store(place)), []
    conduct(
        experiment,
        records,
        LocalProcesses(1),
        folder=folders[0],
        paths=tuple(map(str, folders)),
        watch=lambda progress: played.append(progress.last),
    )
    return records, [run for run in played if run]


def test_paths_are_seen_from_the_file_that_names_them(lab: Path) -> None:
    experiment, folders = read_experiment(lab / "own.yaml")
    assert folders == (lab, lab / "base")
    assert (
        experiment.data["by-file"].folder == "sets/mine" and experiment.data["by-file"].group == "file:base/groups.txt"
    )
    assert experiment.users == ["navigational", "base/clicker.yaml"] and experiment.exposure == "base/curve.json"
    assert experiment.sweep is not None and experiment.sweep.users == ["base/clicker.yaml"]
    placed = located(experiment, folders[0])
    assert placed.data["by-feature"].folder == str(lab / "sets" / "mine") and placed.data["by-feature"].group == "2:0.5"
    assert placed.data["by-file"].group == f"file:{lab}/base/groups.txt"
    assert placed.users == ["navigational", f"{lab}/base/clicker.yaml"] and placed.exposure == f"{lab}/base/curve.json"
    assert records_place(experiment, lab) == f"{lab}/base/kept"
    alone, folders = read_experiment(lab / "base" / "base.yaml")
    assert alone.users == ["navigational", "clicker.yaml"], "as written"
    assert located(alone, folders[0]).data == placed.data


def test_names_numbers_urls_and_paths_from_the_root_stay_as_they_are() -> None:
    values: dict[str, Any] = {
        "data": {"a": {"source": "yahoo-9", "group": "9:0.5"}, "gone": None},
        "users": ["perfect"],
        "sweep": {"ranker": "pdgd", "values": [1]},
        "exposure": "reciprocal",
        "records": "s3://bucket/own",
    }
    assert with_paths(values, lambda key, path: "changed") == values
    assert with_paths({"exposure": [1, 0.5], "data": 5, "users": "x"}, lambda key, path: "changed") == {
        "exposure": [1, 0.5],
        "data": 5,
        "users": "x",
    }


def test_a_moved_experiment_goes_on_and_its_records_do_not_tell_where_it_lay(lab: Path, tmp_path: Path) -> None:
    records, played = play(lab / "own.yaml", tmp_path / "records")
    assert len(played) == 2 * (2 * 2 + 2) and not records.failed()
    for path in (tmp_path / "records").rglob("*.json"):
        assert str(tmp_path) not in path.read_text(), path
    overview = records.overview()
    assert overview is not None and overview["experiment"]["users"] == ["navigational", "base/clicker.yaml"]
    other = tmp_path / "other" / "lab"
    shutil.copytree(lab, other)
    assert play(other / "own.yaml", tmp_path / "records")[1] == [], "the same contents are the same runs"
    (other / "base" / "clicker.yaml").write_text("model: cascade\nattraction: [0.1, 0.5, 0.8]\n")
    again = play(other / "own.yaml", tmp_path / "records")[1]
    assert again and all("/clicker/" in run for run in again), "another user is another run"


def test_an_edited_user_has_exposure_estimated_anew(lab: Path, tmp_path: Path) -> None:
    (lab / "own.yaml").write_text("extends: base/base.yaml\nexposure: randomised\nexposure_sessions: 2000\n")
    experiment = located(read_experiment(lab / "own.yaml")[0], lab)
    store, (navigational, clicker) = open_records_store(tmp_path / "records"), experiment.users
    before = prepare(experiment, store)["by-file", 1].exposure
    Path(clicker).write_text("model: cascade\nattraction: [0.4, 0.4, 0.4]\n")
    after = prepare(experiment, store)["by-file", 1].exposure
    assert before[navigational] == after[navigational] and before[clicker] != after[clicker]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("data: {by-file: {folder: nowhere}}", ["data.by-file.folder", "'nowhere'", "{lab}/nowhere"]),
        ("data: {by-file: {group: 'file:no.txt'}}", ["data.by-file.group", "'no.txt'", "{lab}/no.txt"]),
        ("users: [perfekt]\nsweep: null", ["users[0]", "{lab}/perfekt", "perfect, navigational"]),
        ("exposure: no.json", ["exposure", "'no.json'", "{lab}/no.json"]),
        ("data: {by-file: {folder: here}}", ["data.by-file.folder", "{lab}/here", "write '../elsewhere/here'"]),
    ],
)
def test_a_path_where_nothing_lies_is_told_with_the_place(lab: Path, change: str, told: list[str]) -> None:
    Path("here").mkdir()
    (lab / "own.yaml").write_text(f"extends: base/base.yaml\n{change}\n")
    experiment, folders = read_experiment(lab / "own.yaml")
    with pytest.raises(ArgumentError) as caught:
        located(experiment, folders[0])
    for part in told:
        assert part.replace("{lab}", str(lab)) in str(caught.value)


def test_the_commands_find_data_and_records_from_anywhere(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("altair")
    reported: list[str] = []
    command = "fairexp.cli.commands.experiment.write_report"
    monkeypatch.setattr(command, lambda records, _, **options: reported.append(records.store.place))
    file = str(lab / "own.yaml")
    done = fairexp("experiment", "run", file, "--jobs", "1")
    assert done.exit_code == 0, done.output
    kept = lab / "base" / "kept"
    before = {path: path.stat().st_mtime_ns for path in (kept / "runs").rglob("*.json")}
    told = fairexp("experiment", "status", file)
    assert told.exit_code == 0 and " 12 " in told.stdout and len(before) == 12
    assert fairexp("experiment", "report", file).exit_code == 0
    again = fairexp("experiment", "resume", file, "--jobs", "1")
    assert again.exit_code == 0 and "final runs: 12 of 12" in again.stderr
    assert {path: path.stat().st_mtime_ns for path in before} == before, "nothing is played again"
    assert reported == [str(kept)] * 3 and not list(Path.cwd().iterdir())


def test_what_reproduce_was_told_on_the_command_line_is_kept_for_any_folder(
    lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("altair")
    conducted: list[Any] = []
    monkeypatch.setattr(
        "fairexp.cli.experiment_runs.conduct_watched", lambda *given, **how: conducted.append((given[0], how))
    )
    monkeypatch.setattr("fairexp.cli.commands.reproduce.write_report", lambda records, folder: None)
    monkeypatch.chdir(lab)
    small = ["--rounds", "3", "--seeds", "1", "--user", "base/clicker.yaml", "--group", "2:0.5"]
    done = fairexp("reproduce", "--quick", "--data", "mine=sets/mine", *small, "--out", "records")
    assert done.exit_code == 0, done.output
    (typed, how), kept = conducted[0], read_experiment(lab / "records" / "experiment.yaml")
    assert typed.users == ["base/clicker.yaml"], "a report shows what was typed"
    monkeypatch.chdir(tmp_path)
    assert located(typed, how["folders"][0]) == located(kept[0], kept[1][0])
    assert kept[0].data["mine-2-0.5"].folder == str(lab / "sets" / "mine")
