from __future__ import annotations

import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

from fairexp.errors import ArgumentError
from fairexp.lab.experiments.run.records import Records
from fairexp.lab.experiments.run.task import Outcome
from fairexp.lab.experiments.store import Store, open_records_store, read_json, write_json
from tests.waiting import SECONDS


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


class Meeting:
    """A store far away: no write ends before `n` are under way; the barrier breaks where they come one by one."""

    def __init__(self, n: int) -> None:
        self.place, self.writers = "far://away", n
        self.texts: dict[str, str] = {}
        self._barrier = threading.Barrier(n)

    def write(self, name: str, text: str) -> None:
        self._barrier.wait(SECONDS)
        self.texts[name] = text

    def read(self, name: str) -> str | None:
        return self.texts.get(name)

    def names(self, folder: str) -> set[str]:
        return {name.removeprefix(f"{folder}/") for name in self.texts if name.startswith(f"{folder}/")}

    def delete(self, name: str) -> None:
        self.texts.pop(name, None)


def test_records_far_away_are_kept_in_parallel_and_all_are_there_when_read() -> None:
    records = Records(Meeting(4))
    for number in range(8):
        records.keep(Outcome(f"a@{number}", record={"result": {"number": number}}))
    assert records.done() == {f"a@{number}" for number in range(8)}
    assert records.read("a@5") == {"result": {"number": 5}}


def test_outcomes_of_one_run_are_kept_in_their_order() -> None:
    pytest.importorskip("fsspec")
    records = Records(open_records_store(f"memory://{uuid.uuid4()}/r"))
    for number in range(20):
        records.keep(Outcome(f"a@{number}", error="broke", trace="..."))
        records.keep(Outcome(f"a@{number}", record={"result": {}}))
    assert len(records.done()) == 20 and not records.failed()


def test_a_record_that_cannot_be_kept_is_told() -> None:
    class Full(Meeting):
        def write(self, name: str, text: str) -> None:
            raise OSError("no space left")

    records = Records(Full(4))
    records.keep(Outcome("a@1", record={"result": {}}))
    with pytest.raises(OSError, match="no space left"):
        records.settle()
    with pytest.raises(OSError, match="no space left"):
        for number in range(5):
            records.keep(Outcome(f"a@{number}", record={"result": {}}))


def test_a_folder_far_away_is_not_made_again_for_every_record(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = pytest.importorskip("fsspec.implementations.memory").MemoryFileSystem
    made, plain = [], memory.makedirs

    def makedirs(self: Any, path: str, exist_ok: bool = False) -> None:
        made.append(path)
        plain(self, path, exist_ok=exist_ok)

    monkeypatch.setattr(memory, "makedirs", makedirs)
    records = Records(open_records_store(f"memory://{uuid.uuid4()}/r"))
    for number in range(100):
        records.keep(Outcome(f"a/b@{number}", record={"result": {}}))
    assert len(records.done()) == 100
    assert len(made) <= records.store.writers  # all of them may begin at once
