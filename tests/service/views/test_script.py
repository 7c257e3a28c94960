"""Vega's script: made by another process before the service is ready, compressed once, and kept."""

from __future__ import annotations

import gzip
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import vl_convert

from fairexp.charts import extra
from tests.service.live import Live

Start = Callable[..., Live]
URL = "/static/vega.js"
SCRIPT = b"window.vegaEmbed = 1;" * 100


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache folder of the test's own, and nothing in memory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    extra.compressed_bundle.cache_clear()
    yield tmp_path / "cache" / "fairexp"
    extra.compressed_bundle.cache_clear()


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The processes that were asked for the script, which they have at once."""
    asked: list[Any] = []

    def run(command: Any, **options: Any) -> Any:
        asked.append(command)
        return SimpleNamespace(stdout=gzip.compress(SCRIPT, mtime=0))

    monkeypatch.setattr(subprocess, "run", run)
    return asked


def test_no_request_waits_for_it_and_the_server_does_not_bundle_it_itself(
    live: Start, sqlite_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bundling here would hold the interpreter's lock for seconds, and everybody would wait."""
    here: list[str] = []
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda *_, **__: here.append("bundled") or "")
    client = live(sqlite_address).client
    monkeypatch.setattr(subprocess, "run", None)
    answer = client.get(URL)
    assert answer.status_code == 200 and b"vegaEmbed" in answer.content and len(answer.content) > 100_000
    assert here == []


def test_it_is_sent_compressed_with_a_tag_that_says_whether_it_is_another(
    live: Start, sqlite_address: str, processes: list[Any]
) -> None:
    client = live(sqlite_address).client
    small = client.get(URL, headers={"Accept-Encoding": "gzip"})
    whole = client.get(URL, headers={"Accept-Encoding": "identity"})
    assert small.content == whole.content == SCRIPT  # the client has unpacked the first
    assert small.headers["content-encoding"] == "gzip" and "content-encoding" not in whole.headers
    assert int(small.headers["content-length"]) < len(SCRIPT) == int(whole.headers["content-length"])
    assert small.headers["vary"] == whole.headers["vary"] == "Accept-Encoding"
    tags = {each.headers["etag"] for each in (small, whole)}
    assert len(tags) == 2
    for answer, coding in ((small, "gzip"), (whole, "identity")):
        headers = {"Accept-Encoding": coding, "If-None-Match": f'W/"other", {answer.headers["etag"]}'}
        again = client.get(URL, headers=headers)
        assert (again.status_code, again.content) == (304, b"") and again.headers["etag"] == answer.headers["etag"]
    assert client.get(URL, headers={"If-None-Match": '"other"'}).status_code == 200


def test_it_is_made_once_and_kept_on_disk(empty_cache: Path, processes: list[Any]) -> None:
    assert extra.bundle() == extra.bundle() == SCRIPT.decode() and len(processes) == 1
    extra.compressed_bundle.cache_clear()
    assert extra.bundle() == SCRIPT.decode() and len(processes) == 1
    (file,) = empty_cache.iterdir()
    assert vl_convert.__version__ in file.name and empty_cache.stat().st_mode & 0o077 == 0
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    for content in (bytes(damaged), b"", file.read_bytes()[:-3]):
        file.write_bytes(content)
        extra.compressed_bundle.cache_clear()
        processes.clear()
        assert extra.bundle() == SCRIPT.decode() and len(processes) == 1
        assert gzip.decompress(file.read_bytes()) == SCRIPT


def test_a_folder_that_cannot_be_written_keeps_nobody_from_it(empty_cache: Path, processes: list[Any]) -> None:
    empty_cache.parent.write_text("a file where a folder must be")
    assert extra.bundle() == SCRIPT.decode() and len(processes) == 1


def test_without_it_the_service_ranks_and_says_so(
    live: Start, sqlite_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*arguments: Any, **options: Any) -> Any:
        raise subprocess.CalledProcessError(1, "python")

    monkeypatch.setattr(subprocess, "run", run)
    client = live(sqlite_address).client
    assert client.get("/readyz").status_code == 200
    answer = client.get(URL)
    assert answer.status_code == 503 and answer.json()["error"]["code"] == "no_charts"
