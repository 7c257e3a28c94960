"""A server's start and end from the command line: who is let in, what is logged, and what a signal does."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import yaml

from fairexp.cli.commands.serve import stop_on_hangup
from fairexp.cli.first_key import key_file_of, make_first_key
from fairexp.client import Client
from fairexp.errors import ArgumentError
from fairexp.service.changes import Changes
from fairexp.service.engine.engine import Engine
from fairexp.service.http.keys import make_key, revoke_key
from fairexp.service.problems import StoreError
from fairexp.service.store import open_store
from tests.service.live import Live, Standstill
from tests.service.worlds import SPEC, rank_body
from tests.waiting import SECONDS, until

# The tests may run under `nohup`; what they start must not take SIGHUP for something to ignore.
PROGRAM = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); from fairexp.cli import main; main()"
COMMAND = [sys.executable, "-c", PROGRAM]
TOKEN = re.compile(r"fx_[0-9a-f]{12}_[0-9a-f]{48}")


class Process:
    """A server in a separate process; `said` is what it wrote before it listened."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said: list[str] = []
        assert process.stderr is not None
        for line in process.stderr:
            self.said.append(line)
            if found := re.search(r"running on http://[^ ]+:(\d+)", line):
                self.port = int(found.group(1))
                break
        else:
            pytest.fail("".join(self.said))
        self.url = f"http://127.0.0.1:{self.port}"

    def wait_ready(self) -> None:
        with Client(self.url, timeout_seconds=SECONDS) as client:
            until(client.ready)

    def end(self, how: int = signal.SIGTERM) -> str:
        """The rest of what it wrote."""
        assert self.process.stderr is not None
        self.process.send_signal(how)
        rest = self.process.stderr.read()
        self.process.wait(SECONDS)
        return rest


@contextmanager
def serving(folder: Path, *arguments: str, policies: str | None = None) -> Iterator[Process]:
    """`fairexp serve` in `folder`, with these policies in YAML, or with `shop`."""
    shop = {"policies": {"shop": SPEC.model_dump(mode="json")}}
    (folder / "policies.yaml").write_text(yaml.safe_dump(shop) if policies is None else policies)
    command = [*COMMAND, "serve", "--policies", "policies.yaml", "--port", "0", *arguments]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment) as process:
        try:
            yield Process(process)
        finally:
            process.kill()


def refused(folder: Path, *arguments: str) -> str:
    """What `fairexp serve` says when it does not start."""
    done = subprocess.run([*COMMAND, "serve", *arguments], capture_output=True, text=True, timeout=SECONDS, cwd=folder)
    assert done.returncode == 2, done.stderr
    return done.stderr


def test_the_first_start_makes_a_key_and_says_where_but_not_what(tmp_path: Path, address: str) -> None:
    file = tmp_path / ("fairexp-admin.key" if "://" in address else f"{address}.admin-key")
    with serving(tmp_path, "--store", address, "--host", "0.0.0.0") as server:
        server.wait_ready()
        token = file.read_text().strip()
        assert httpx.get(f"{server.url}/v1/policies", timeout=SECONDS).status_code == 401
        asked = httpx.get(f"{server.url}/v1/policies", headers={"X-API-Key": token}, timeout=SECONDS)
        assert [each["policy"] for each in asked.json()["policies"]] == ["shop"]
        written = "".join(server.said) + server.end()
    assert file.name in "".join(server.said[:5])
    assert TOKEN.fullmatch(token) and not TOKEN.search(written) and token[16:] not in written
    assert all(json.loads(line)["message"] for line in written.splitlines() if line.startswith("{"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with serving(tmp_path, "--store", address) as server:
        assert "1 key in force" in server.said[0] and f"{file.name} is one of them" in server.said[1]
    assert file.read_text().strip() == token


def first_key(address: str, path: Path) -> str:
    store = open_store(address)
    store.open(serving=False)
    try:
        make_first_key(store, path)
        (key,) = store.keys()
    finally:
        store.close()
    token = path.read_text().strip()
    assert (key.id, key.roles, key.policies) == (token[3:15], ("admin",), ())
    return token


def test_the_file_is_its_owners_alone_whatever_the_umask(address: str, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        first_key(address, tmp_path / "key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_a_file_that_is_there_is_never_overwritten(address: str, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("mine")
    with pytest.raises(ArgumentError, match=r"which is there\. The key in it is not in force here\. Remove"):
        first_key(address, path)
    assert path.read_text() == "mine"
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ArgumentError, match="which is there"):
        first_key(address, path)
    assert not (tmp_path / "elsewhere").exists()
    with pytest.raises(ArgumentError, match="No such file or directory"):
        first_key(address, tmp_path / "no" / "folder")
    store = open_store(address)
    store.open(serving=False)
    assert store.keys() == []
    store.close()


def test_without_its_key_in_the_store_there_is_no_file(sqlite_address: str, tmp_path: Path) -> None:
    store = open_store(sqlite_address)  # closed: nothing can be kept in it
    with pytest.raises(StoreError):
        make_first_key(store, tmp_path / "key")
    assert not (tmp_path / "key").exists()


def test_the_file_is_beside_the_store_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "real.db").touch()
    (tmp_path / "link.db").symlink_to(tmp_path / "data" / "real.db")
    assert key_file_of(str(tmp_path / "link.db")) == (tmp_path / "data" / "real.db.admin-key").resolve()


def test_a_key_that_is_not_in_force_is_told(tmp_path: Path) -> None:
    address = str(tmp_path / "fairexp.db")
    first_key(address, tmp_path / "fairexp.db.admin-key")
    store = open_store(address)
    store.open(serving=False)
    _, token = make_key(store, name="next", roles=["read"])
    revoke_key(store, store.keys()[0].id)
    with serving(tmp_path) as server:
        assert "1 key in force" in server.said[0] and "admin-key is not one of them: it was revoked" in server.said[1]
    revoke_key(store, token[3:15])
    store.close()
    with serving(tmp_path) as server:
        assert "All keys are revoked" in server.said[0]
        server.wait_ready()
        assert httpx.get(f"{server.url}/v1/policies", timeout=SECONDS).status_code == 401


def test_open_is_said_and_lets_this_machine_in(tmp_path: Path) -> None:
    with serving(tmp_path, "--open") as server:
        server.wait_ready()
        assert "Open (--open): everybody on this machine may do everything" in server.said[0]
        assert httpx.get(f"{server.url}/v1/policies", timeout=SECONDS).status_code == 200
        assert httpx.get(f"{server.url}/v1/policies", headers={"Via": "1.1 proxy"}, timeout=SECONDS).status_code == 403
    assert not list(tmp_path.glob("*key*"))


def test_open_is_refused_to_the_network_and_where_there_are_keys(tmp_path: Path) -> None:
    for option in ("--open", "--demo"):
        assert f"such as 127.0.0.1, with {option}" in refused(tmp_path, option, "--host", "0.0.0.0")
    assert not list(tmp_path.iterdir())
    first_key(str(tmp_path / "fairexp.db"), tmp_path / "fairexp.db.admin-key")
    assert "a store without keys in force, got one with 1 key" in refused(tmp_path, "--open")


def test_the_demo_is_open_on_its_own_store_only(tmp_path: Path) -> None:
    with serving(tmp_path, "--demo") as server:
        assert "Open (--demo)" in server.said[0] and (tmp_path / "fairexp-demo.db").exists()
    with serving(tmp_path, "--demo", "--store", "own.db", "--key-file", "own.key") as server:
        assert "First start" in server.said[0] and (tmp_path / "own.key").exists()


@pytest.mark.parametrize("how", [signal.SIGHUP, signal.SIGTERM])
def test_a_request_under_way_is_answered_before_a_signal_ends_the_server(tmp_path: Path, how: int) -> None:
    with serving(tmp_path, "--open") as server:
        server.wait_ready()
        body = json.dumps(rank_body()).encode()
        with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as line:
            head = f"POST /v1/policies/shop/rank HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
            line.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
            assert line.recv(1000).startswith(b"HTTP/1.1 100"), "the server waits for the body"
            server.process.send_signal(how)
            until(lambda: not accepts(server.port))
            line.sendall(body)
            answer = b""
            while part := line.recv(65536):
                answer += part
        assert answer.startswith(b"HTTP/1.1 200") and b"ranking_id" in answer
        rest = server.end(how)
    assert '"message":"Application shutdown complete."' in rest


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=SECONDS).close()
    except ConnectionRefusedError:
        return False
    return True


@pytest.mark.parametrize("ignored", [False, True])
def test_hangups_stop_a_server_unless_it_was_told_to_ignore_them(ignored: bool) -> None:
    server: Any = SimpleNamespace(should_exit=False)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    try:
        stop_on_hangup(server)
        signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert server.should_exit is not ignored


def test_until_declared_policies_are_in_force_clients_are_asked_to_wait(
    live: Callable[..., Live], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck: list[Standstill] = []
    begin = Changes.__init__

    def begin_and_stand_still(changes: Changes, engine: Engine) -> None:
        begin(changes, engine)
        stuck.append(Standstill(changes, "put").__enter__())

    monkeypatch.setattr(Changes, "__init__", begin_and_stand_still)
    running = live(address, wait=False)
    until(lambda: bool(stuck) and stuck[0].entered.is_set())
    for method, path in (("POST", "/v1/policies/shop/rank"), ("GET", "/v1/policies"), ("PUT", "/v1/policies/other")):
        answer = running.client.request(method, path, json=rank_body())
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "starting")
        assert answer.headers["Retry-After"] == "1"
    stuck[0].go_on()
    running.wait_ready()
    assert running.client.post("/v1/policies/shop/rank", json=rank_body()).status_code == 200


@pytest.mark.parametrize(
    ("arguments", "variable", "messages"),
    [
        ((), None, {"ready", "request 200", "request 404"}),
        (("--no-request-log",), None, {"ready", "request 404"}),
        (("--log-level", "warning"), None, {"request 404"}),
        ((), "warning", {"request 404"}),
        (("--log-level", "error", "--no-request-log"), None, set()),
        (("--log-level", "debug"), "error", {"ready", "request 200", "request 404", "health"}),
    ],
)
def test_what_is_logged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    variable: str | None,
    messages: set[str],
) -> None:
    if variable is not None:
        monkeypatch.setenv("FAIREXP_LOG_LEVEL", variable)
    with serving_quietly(tmp_path, *arguments) as (process, url):
        with Client(url, timeout_seconds=SECONDS) as client:
            until(client.ready)
        assert httpx.get(f"{url}/v1/policies", timeout=SECONDS).status_code == 200
        assert httpx.get(f"{url}/v1/policies/none", timeout=SECONDS).status_code == 404
        process.send_signal(signal.SIGTERM)
        _, written = process.communicate(timeout=SECONDS)
    lines = [json.loads(line) for line in written.splitlines() if line.startswith("{")]
    told = {f"request {each['status']}" for each in lines if each.get("route", "").startswith("/v1/")}
    told |= {"health" for each in lines if each.get("route") == "/readyz"}
    told |= {"ready" for each in lines if each["message"] == "ready"}
    assert told == messages
    levels = {each["level"] for each in lines if each.get("status") == 404}
    assert levels <= {"warning"}


@contextmanager
def serving_quietly(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """An open server that may not say where it listens, and its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [*COMMAND, "serve", "--open", "--port", str(port), *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder) as process:
        try:
            yield process, f"http://127.0.0.1:{port}"
        finally:
            process.kill()
