from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairexp.cli.folders import find_runs, make_room
from fairexp.errors import ArgumentError, RunExistsError

SETTINGS = json.dumps({"ranker": "pdgd", "user": "perfect", "rounds": 3, "seed": 0})


def make_run(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(SETTINGS)
    (folder / "trace.parquet").write_bytes(b"...")
    (folder / "result.json").write_text("{}")
    return folder


def test_an_empty_or_absent_folder_has_room(tmp_path: Path) -> None:
    make_room(tmp_path, overwrite=False)
    make_room(tmp_path / "absent", overwrite=False)
    assert not (tmp_path / "absent").exists()


@pytest.mark.parametrize("place", ["", "pdgd/perfect/seed-0"])
def test_a_folder_with_a_run_is_refused(tmp_path: Path, place: str) -> None:
    run = make_run(tmp_path / place)
    with pytest.raises(RunExistsError, match="--overwrite"):
        make_room(tmp_path, overwrite=False)
    assert (run / "result.json").exists()


def test_overwriting_deletes_runs_and_nothing_else(tmp_path: Path) -> None:
    make_run(tmp_path / "pdgd" / "perfect" / "seed-0")
    noted = make_run(tmp_path / "pdgd" / "perfect" / "seed-1")
    (noted / "notes.txt").write_text("mine")
    (tmp_path / "summary.csv").write_text("ours")
    (tmp_path / "paper.tex").write_text("mine")
    foreign = tmp_path / "a" / "b" / "seed-2"
    foreign.mkdir(parents=True)
    (foreign / "settings.json").write_text('{"colour": "blue"}')
    (foreign / "result.json").write_text("not ours")
    make_room(tmp_path, overwrite=True)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"pdgd/perfect/seed-1/notes.txt", "paper.tex", "a/b/seed-2/settings.json", "a/b/seed-2/result.json"}
    assert not (tmp_path / "pdgd" / "perfect" / "seed-0").exists()


def test_other_peoples_settings_are_no_run(tmp_path: Path) -> None:
    for content in ('{"colour": "blue"}', "[1]", "not json"):
        (tmp_path / "settings.json").write_text(content)
        assert find_runs(tmp_path) == []


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match="which is a file"):
        make_room(tmp_path / "file", overwrite=True)
