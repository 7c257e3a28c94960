"""The cache of parsed files: used when right, rebuilt when wrong, done without when it cannot be had."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fairexp.errors import DataError
from fairexp.lab.data import read_letor
from fairexp.lab.data.letor import layout as arranging
from fairexp.lab.data.letor.cache import cache_folder
from fairexp.lab.data.letor.rows import FolderRows

TEXT = "".join(f"{i % 5} qid:{i // 4} 1:{i} 2:{i * i % 17}\n" for i in range(40))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "train.txt"
    path.write_text(TEXT)
    return path


def entries(cache: Path) -> list[Path]:
    return sorted((cache / "letor").iterdir())


def no_parsing(patch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("parsed again")

    patch.setattr(arranging, "build", refuse)


def test_the_second_opening_maps_what_the_first_wrote(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = read_letor(source)
    no_parsing(monkeypatch)
    second = read_letor(source)
    assert isinstance(second.features, np.memmap)
    assert not second.features.flags.writeable
    assert np.array_equal(first.features, second.features)
    assert np.array_equal(first.raw, second.raw)
    assert np.array_equal(first.grades, second.grades)
    assert np.array_equal(first.offsets, second.offsets)
    assert first.query_ids == second.query_ids


def test_options_do_not_share_an_entry(source: Path) -> None:
    assert read_letor(source, n_features=5).n_features == 5
    assert read_letor(source).n_features == 2
    assert read_letor(source, scale=None).features.max() == 39


def test_a_file_that_changed_is_parsed_anew_and_replaces_the_old_entry(source: Path, cache: Path) -> None:
    read_letor(source)
    source.write_text(TEXT + "1 qid:new 1:1\n")
    assert read_letor(source).query_ids[-1] == "new"
    same_size = TEXT.replace("qid:9", "qid:8")
    os.utime(source, ns=(1, 1))
    read_letor(source)
    source.write_text(same_size)
    assert read_letor(source).n_queries == 9
    assert len(entries(cache)) == 1


def cut_features(entry: Path) -> None:
    (entry / "features.f32").write_bytes((entry / "features.f32").read_bytes()[:-4])


def foreign_meta(entry: Path) -> None:
    (entry / "meta.json").write_text("[1, 2]")


def broken_meta(entry: Path) -> None:
    (entry / "meta.json").write_text("{")


def other_source(entry: Path) -> None:
    meta = json.loads((entry / "meta.json").read_text())
    meta["key"]["source"] = "elsewhere"
    (entry / "meta.json").write_text(json.dumps(meta))


def lost_grades(entry: Path) -> None:
    (entry / "grades.i64").unlink()


def wrong_offsets(entry: Path) -> None:
    offsets = np.fromfile(entry / "offsets.i64", dtype=np.int64)
    offsets[1] = 40
    offsets.tofile(entry / "offsets.i64")


@pytest.mark.parametrize("damage", [cut_features, foreign_meta, broken_meta, other_source, lost_grades, wrong_offsets])
def test_a_damaged_entry_is_rebuilt(source: Path, cache: Path, damage: object, monkeypatch: pytest.MonkeyPatch) -> None:
    before = np.array(read_letor(source).features)
    damage(entries(cache)[0])  # type: ignore[operator]
    assert np.array_equal(read_letor(source).features, before)
    no_parsing(monkeypatch)
    assert np.array_equal(read_letor(source).features, before)
    assert len(entries(cache)) == 1


def test_a_file_in_the_entrys_place_is_replaced(source: Path, cache: Path) -> None:
    read_letor(source)
    place = entries(cache)[0]
    place.rename(cache / "away")
    place.write_text("not a folder")
    assert isinstance(read_letor(source).features, np.memmap)


def test_without_a_writable_cache_the_data_are_in_memory(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("FAIREXP_CACHE", str(blocked))
    data = read_letor(source)
    assert not isinstance(data.features, np.memmap)
    assert data.n_documents == 40


def test_a_full_disk_falls_back_to_memory_and_leaves_nothing(
    source: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FolderRows, "append", full)
    data = read_letor(source)
    assert not isinstance(data.features, np.memmap)
    assert np.array_equal(data.features, read_letor(source, cache=False).features)
    assert entries(cache) == []


def test_an_error_while_parsing_leaves_nothing(tmp_path: Path, cache: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text(TEXT + "nonsense\n")
    with pytest.raises(DataError, match="line 41"):
        read_letor(bad)
    assert entries(cache) == []


def test_what_a_crash_left_long_ago_is_swept(source: Path, cache: Path) -> None:
    old, new = cache / "letor" / ".writing-old", cache / "letor" / ".writing-new"
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "features.f32").write_bytes(b"1234")
    os.utime(old, (1, 1))
    read_letor(source)
    assert not old.exists()
    assert new.exists()


def test_processes_at_once_agree_on_one_entry(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "wide.txt"
    path.write_text(TEXT * 200)
    code = (
        "import sys; from fairexp.lab.data import read_letor; import numpy as np\n"
        "data = read_letor(sys.argv[1]); assert isinstance(data.features, np.memmap)\n"
        "sys.stdout.write(f'{data.n_documents} {float(data.features.sum())}')"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    answers = {run.communicate()[0] for run in runs}
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert len(answers) == 1
    assert len(entries(cache)) == 1


def test_where_the_cache_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIREXP_CACHE", "/a/b")
    assert cache_folder() == Path("/a/b")
    monkeypatch.delenv("FAIREXP_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_folder() == Path("/x/fairexp")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "fairexp"
