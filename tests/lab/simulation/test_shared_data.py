"""Data shared between processes: the same values, no second copy, and runs that cannot tell the difference."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairexp.lab.data import read_letor
from fairexp.lab.simulation.pool.batch import run_many
from fairexp.lab.simulation.pool.shared_data import ARRAYS, SharedData, _mapped, data_kind, open_shared, share
from fairexp.lab.simulation.run import run
from fairexp.lab.simulation.settings import DataSettings, RunSettings
from fairexp.measures import HELDOUT_NDCG, ONLINE_NDCG

SMALL = RunSettings(data=DataSettings("mslr-pagerank", n_queries=8), rounds=20, n_points=4)


def test_shared_data_has_the_same_values_and_is_mapped(tmp_path):
    (train, heldout), (shared_train, shared_heldout, _) = SMALL.data.load(), opened(SMALL, tmp_path)
    for before, after in ((train, shared_train), (heldout, shared_heldout)):
        for name in ARRAYS:
            values = getattr(before, name)
            if values is None:
                assert getattr(after, name) is None
            else:
                assert isinstance(getattr(after, name), np.memmap)
                assert np.array_equal(getattr(after, name), values)
        assert (after.query_ids, after.group_names, after.blanked) == (
            before.query_ids,
            before.group_names,
            before.blanked,
        )


def opened(settings, folder):
    return open_shared(share([settings], folder))[data_kind(settings)]


def test_runs_on_shared_data_are_the_same_and_say_the_same_settings(tmp_path):
    expected = run(SMALL, folder=tmp_path / "alone")
    result = run(SMALL, data=opened(SMALL, tmp_path / "files"), folder=tmp_path / "shared")
    assert result[ONLINE_NDCG] == expected[ONLINE_NDCG]
    texts = [(tmp_path / name / "settings.json").read_text() for name in ("alone", "shared")]
    assert json.loads(texts[0]) == json.loads(texts[1])


def test_a_run_plays_on_the_data_that_it_is_handed():
    handed = (DataSettings("mslr-pagerank", n_queries=3, seed=5).load()[0], None, None)
    result = run(SMALL, data=handed)
    assert {point["query"] for point in result.points} <= {0, 1, 2}
    assert result[HELDOUT_NDCG] is None
    assert result[ONLINE_NDCG] != run(SMALL)[ONLINE_NDCG]


def test_validation_queries_are_shared_where_a_run_holds_them_back(tmp_path):
    settings = replace(SMALL, validate=True)
    assert data_kind(settings) != data_kind(SMALL)
    *_, validation = opened(settings, tmp_path)
    assert np.array_equal(validation.grades, settings.data.load_parts()[2].grades)


def test_each_data_kind_data_is_loaded_once(tmp_path):
    runs = [SMALL, SMALL.with_seed(1), SMALL.with_seed(2)]
    assert len(share(runs, tmp_path)) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0"]


def test_what_is_mapped_already_is_not_written_again(tmp_path):
    values = np.arange(60, dtype=np.float32).reshape(20, 3)
    values.tofile(tmp_path / "values.f32")
    source = np.memmap(tmp_path / "values.f32", dtype=np.float32, mode="r", shape=(20, 3))
    for view in (source, source[4:9], np.asarray(source)[2:], source[3:][1:4]):
        mapped = _mapped(view, tmp_path / "unused")
        assert mapped.path == str(tmp_path / "values.f32")
        assert np.array_equal(mapped.open(), view)
    assert not (tmp_path / "unused").exists()
    every_other = _mapped(source[::2], tmp_path / "written")
    assert np.array_equal(every_other.open(), values[::2])
    assert every_other.path == str(tmp_path / "written")


def test_text_through_the_cache_is_shared_where_it_lies(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIREXP_CACHE", str(tmp_path / "cache"))
    text = tmp_path / "data.txt"
    text.write_text("".join(f"{i % 3} qid:{i // 4} 1:{i} 2:{i * i % 7}\n" for i in range(40)))
    settings = RunSettings(data=DataSettings(str(text), group="2:0.5"))
    shared = share([settings], tmp_path / "shared")
    train, heldout, validation = shared[data_kind(settings)]
    assert heldout is None and validation is None
    assert train.arrays["features"].path.startswith(str(tmp_path / "cache"))
    assert np.array_equal(train.open().features, read_letor(text).features)


@pytest.mark.parametrize("seeds", [(3, 4)])
def test_processes_give_what_one_gives(seeds):
    runs = [SMALL.with_seed(seed) for seed in seeds]
    alone, together = run_many(runs, jobs=1), run_many(runs, jobs=2)
    assert [result[ONLINE_NDCG] for result in alone] == [result[ONLINE_NDCG] for result in together]


def test_a_folder_lasts_as_long_as_its_data():
    with SharedData() as data:
        ((train, *_),) = data.of([SMALL]).values()
        folder = Path(train.arrays["features"].path).parents[3]
        assert folder.is_dir() and str(os.getpid()) in folder.name
        assert data.of([SMALL.with_seed(1)]).keys() == {data_kind(SMALL)}
        other = replace(SMALL, data=replace(SMALL.data, n_queries=4))
        assert data.of([other]).keys() == {data_kind(SMALL), data_kind(other)}
        assert len(list(folder.iterdir())) == 2
    assert not folder.exists()


@pytest.mark.skipif(os.name != "posix", reason="a process cannot be asked about without a signal")
def test_what_killed_processes_left_behind_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left, kept, foreign = (tmp_path / f"fairexp-runs-{who}-x" for who in (ended.pid, os.getpid(), "somebody"))
    for folder in (left, kept, foreign):
        folder.mkdir()
    with SharedData():
        assert not left.exists() and kept.exists() and foreign.exists()
