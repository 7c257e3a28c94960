"""A full disk, a read-only disk, a database that goes: a clear error, nothing lost, and service again by itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from fairexp.service.store import open_store
from fairexp.service.store.sqlite import SqliteDatabase
from tests.service.live import Live
from tests.service.torture import SPEC, Acknowledged, Uninterrupted, User, verify
from tests.service.worlds import SPEC as SHOP
from tests.service.worlds import rank_body
from tests.waiting import until

Start = Callable[..., Live]
FAST = {"retry_seconds": 0.05}


def test_a_store_that_fails_and_comes_back(live: Start, sqlite_address: str, monkeypatch: Any) -> None:
    """Whatever the store's reason: what was not kept is not acknowledged and leaves no trace."""
    running = live(sqlite_address, settings=FAST)
    ranked = _post(running).json()
    before = _policy(running)
    fairness = running.client.get("/v1/policies/shop/fairness").json()
    with failing(running, monkeypatch):
        for _ in range(3):
            answer = _post(running)
            assert answer.status_code == 503
            assert answer.json()["error"]["code"] == "storage_unavailable"
            assert answer.headers["Retry-After"] == "1"
        events = {"ranking_id": ranked["ranking_id"], "events": [{"position": 1}]}
        assert running.client.post("/v1/feedback", json=events).status_code == 503
        assert running.client.post("/v1/feedback", json={"batch": [events]}).status_code == 503
        assert running.client.put("/v1/policies/new", json={"features": 2, "ranker": "pdgd"}).status_code == 503
        assert running.client.get("/readyz").status_code == 503
        assert running.client.get("/healthz").status_code == 200
    running.wait_ready()
    assert _policy(running) == before
    assert running.client.get("/v1/policies/shop/fairness").json() == fairness
    assert [each["policy"] for each in running.client.get("/v1/policies").json()["policies"]] == ["shop"]
    assert _post(running).status_code == 200
    assert running.client.post("/v1/feedback", json=events).json()["results"][0]["status"] == "learned"


def test_recovery_goes_on_after_what_nobody_foresaw(live: Start, sqlite_address: str, monkeypatch: Any) -> None:
    running = live(sqlite_address, settings=FAST)
    _post(running)
    reopen, tried = running.service.engine.store.reopen, []

    def odd() -> None:
        tried.append("to reopen")
        if len(tried) < 3:
            raise RuntimeError("not foreseen")
        reopen()

    monkeypatch.setattr(running.service.engine.store, "reopen", odd)
    with failing(running, monkeypatch):
        assert _post(running).status_code == 503
    running.wait_ready()
    assert len(tried) >= 3 and _post(running).status_code == 200


@contextmanager
def failing(running: Live, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All writes of a service fail as on a disk that has become read-only."""
    store: Any = running.service.engine.store
    connect = SqliteDatabase._connect

    def read_only(self: SqliteDatabase) -> Any:
        connection = connect(self)
        connection.execute("PRAGMA query_only = ON")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(SqliteDatabase, "_connect", read_only)
        store.database._writer.execute("PRAGMA query_only = ON")
        yield


def _post(running: Live, number: int = 0) -> httpx.Response:
    return running.client.post("/v1/policies/shop/rank", json=rank_body(number))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 12 MB, where we may make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("making a small file system takes privileges that are not here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


def test_a_full_disk(live: Start, small_disk: Path) -> None:
    address = str(small_disk / "store.db")
    running = live(address, settings=FAST)
    answers = [_post(running, number) for number in range(5)]
    filler = small_disk / "filler"
    file = os.open(filler, os.O_WRONLY | os.O_CREAT)
    for size in (65536, 4096):
        with suppress(OSError):
            while os.write(file, b"0" * size) == size:
                pass
    os.close(file)
    answers += [_post(running, number) for number in range(50)]
    kept = [answer.json() for answer in answers if answer.status_code == 200]
    assert {answer.status_code for answer in answers} == {200, 503} and len(kept) >= 5
    filler.unlink()
    running.wait_ready()
    assert _post(running).status_code == 200
    _ids_are_kept(address, kept)


def test_a_disk_that_becomes_read_only(live: Start, small_disk: Path) -> None:
    address = str(small_disk / "store.db")
    running = live(address, settings=FAST)
    kept = [_post(running, number).json() for number in range(5)]
    # Where open files keep a mount from becoming read-only there is nothing to see here.
    subprocess.run(["mount", "-o", "remount,ro,size=12m", str(small_disk)], check=False, capture_output=True)
    if not _is_read_only(small_disk):
        pytest.skip("this system does not make a file system in use read-only")
    assert _post(running).status_code == 503
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    running.wait_ready()
    kept.append(_post(running).json())
    _ids_are_kept(address, kept)


def _is_read_only(folder: Path) -> bool:
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def _ids_are_kept(address: str, rankings: list[dict[str, Any]]) -> None:
    store = open_store(address)
    store.open(serving=False)
    for each in rankings:
        assert store.entry(1, int(each["ranking_id"].split("-")[1])) is not None
    store.close()


def test_a_database_that_goes_away_and_comes_back(live: Start, postgres_url: str) -> None:
    import psycopg

    from tests.service.conftest import new_database

    address = new_database(postgres_url)
    name = address.split("/")[3].split("?")[0]
    running = live(address, policies={"shop": SPEC}, settings={**FAST, "snapshot_every": 20})
    said = Acknowledged()
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        for _ in range(3):
            users = [User(running.url, said, seed=len(said.rankings) + number) for number in range(4)]
            for user in users:
                user.start()
            served = len(said.rankings)
            until(lambda served=served: len(said.rankings) > served + 10)
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")  # type: ignore[arg-type]
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
            until(lambda: running.client.get("/readyz").status_code == 503)
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")  # type: ignore[arg-type]
            running.wait_ready()
            served = len(said.rankings)
            until(lambda served=served: len(said.rankings) > served + 10)
            for user in users:
                user.stopping.set()
                user.join()
    store = open_store(address)
    store.open(serving=False)
    assert len(said.rankings) > 20 and len(said.events) > 20
    verify(store, said, Uninterrupted(store))
    store.close()


def test_shutdown_drains(live: Start, sqlite_address: str) -> None:
    """Requests that were under way when it was told to stop are answered, and what they say is kept."""
    running = live(sqlite_address, policies={"shop": SPEC})
    said = Acknowledged()
    users = [User(running.url, said, seed=number) for number in range(4)]
    for user in users:
        user.start()
    until(lambda: len(said.rankings) > 20)
    running.stop()
    for user in users:
        user.stopping.set()
        user.join()
    store = open_store(sqlite_address)
    store.open(serving=False)
    entries = verify(store, said, Uninterrupted(store))
    assert store.snapshot_seqs(1)[0] == entries, "a graceful stop leaves a snapshot of everything"
    store.close()


def test_it_waits_for_a_database_that_is_not_there_yet(
    live: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "not-yet"
    place.write_text("a file where a folder must be")
    running = live(str(place / "store.db"), wait=False, settings=FAST)
    until(lambda: caplog.text.count("store not available yet") > 1)
    assert running.client.get("/healthz").status_code == 200
    assert running.client.get("/readyz").status_code == 503
    starting = running.client.post("/v1/policies/shop/rank", json=rank_body())
    assert starting.status_code == 503 and starting.json()["error"]["code"] == "starting"
    place.unlink()
    running.wait_ready()
    assert running.service.engine.policy("shop").runtime.spec == SHOP


def _policy(running: Live) -> dict[str, Any]:
    """The policy's state; how long rankings took is not part of it."""
    told: dict[str, Any] = running.client.get("/v1/policies/shop").json()
    del told["latency"]
    return told
