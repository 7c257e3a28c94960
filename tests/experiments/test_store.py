from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from fairexp.errors import ArgumentError
from fairexp.experiments.run.records import Records
from fairexp.experiments.run.task import Outcome
from fairexp.experiments.store import Store, open_records_store, read_json, write_json


@pytest.fixture(params=["folder", "memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param != "folder":
        pytest.importorskip("fsspec")
    place = {"folder": tmp_path / "r", "memory": f"memory://{uuid.uuid4()}/r", "file": f"file://{tmp_path}/r"}
    return open_records_store(place[request.param])


def test_what_is_written_is_read_and_listed(store: Store) -> None:
    content = {"x": [0.1 + 0.2, 1e-300, None], "text": "ä"}
    write_json(store, "runs/a/b=0.1/seed-0@12.json", content)
    write_json(store, "runs/a/b=0.1/seed-1@34.json", {"x": 1})
    assert read_json(store, "runs/a/b=0.1/seed-0@12.json") == content
    assert store.names("runs") == {"a/b=0.1/seed-0@12.json", "a/b=0.1/seed-1@34.json"}
    assert store.names("elsewhere") == set() and read_json(store, "runs/nothing.json") is None
    store.delete("runs/a/b=0.1/seed-1@34.json")
    store.delete("runs/a/b=0.1/seed-1@34.json")
    assert len(store.names("runs")) == 1


def test_a_record_cut_short_counts_as_absent(store: Store) -> None:
    store.write("runs/a.json", '{"x": [1, 2')
    assert read_json(store, "runs/a.json") is None


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    store = open_records_store(tmp_path)
    store.write("runs/a.json", "old")
    with pytest.raises(UnicodeEncodeError):
        store.write("runs/a.json", "half \ud800")
    assert store.read("runs/a.json") == "old"
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["a.json"]


def test_drafts_that_a_kill_leaves_are_no_records(store: Store) -> None:
    write_json(store, "runs/a.json", {"x": 1})
    assert store.names("runs") == {"a.json"}
    store.write("runs/.123.part", "half of it")
    assert store.names("runs") == {"a.json"}


def test_success_takes_the_place_of_failure(store: Store) -> None:
    records = Records(store)
    records.keep(Outcome("a@1", error="broke", trace="..."))
    assert records.failed() == {"a@1"} and records.done() == set()
    failure = records.failure("a@1")
    assert failure is not None and failure["error"] == "broke"
    records.keep(Outcome("a@1", record={"result": {}}))
    assert records.failed() == set() and records.done() == {"a@1"}


def test_places_that_make_no_sense(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ArgumentError, match="which is a file"):
        open_records_store(tmp_path / "file")
    pytest.importorskip("fsspec")
    with pytest.raises(ArgumentError, match="nowhere://x"):
        open_records_store("nowhere://x")
