"""Connections: heads that are too long, late or no HTTP at all, who idles, and more than there is room for."""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.hostile import children
from fairexp.service.http.connections import Connections
from fairexp.service.settings import ServerSettings
from tests.service.live import Live, Standstill
from tests.service.worlds import rank_body
from tests.waiting import SECONDS, until

Start = Callable[..., Live]
RANK = "/v1/policies/shop/rank"
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


def connected(running: Live) -> socket.socket:
    return socket.create_connection(("127.0.0.1", running.port), timeout=SECONDS)


def rest(connection: socket.socket) -> bytes:
    """Everything up to the end of the connection."""
    parts = []
    with suppress(ConnectionError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def one_answer(connection: socket.socket) -> bytes:
    """An answer with a content length, to its end, on a connection that stays."""
    text = b""
    while b"\r\n\r\n" not in text:
        text += connection.recv(65536)
    length = int(re.search(rb"content-length: (\d+)", text)[1])  # type: ignore[index]
    while len(text) < text.index(b"\r\n\r\n") + 4 + length:
        text += connection.recv(65536)
    return text


def check_refusal(answer: bytes, status: int, code: str) -> None:
    head, _, content = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), answer[:200]
    assert b"content-type: application/json" in head and b"connection: close" in head
    error = json.loads(content)["error"]
    assert set(error) == {"code", "message", "field", "request_id"} and error["code"] == code
    assert f"x-request-id: {error['request_id']}".encode() in head


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clocked(live: Start, sqlite_address: str) -> tuple[Live, Clock]:
    running, clock = live(sqlite_address), Clock()
    running.client.close()  # its connections have times of the real clock
    until(lambda: len(running.service.connections) == 0)
    running.service.connections.clock = clock
    running.client = httpx.Client(base_url=running.url, timeout=SECONDS)
    return running, clock


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    from fairexp.service.http.service import Service
    from fairexp.service.store import open_store
    from tests.service.worlds import SPEC

    store = open_store(str(tmp_path_factory.mktemp("connections") / "store.db"))
    running = Live(Service(store, policies={"shop": SPEC}, open=True))
    running.wait_ready()
    yield running
    running.stop()


CHUNKED = b"POST /v1/feedback HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
REFUSED = {
    "one long header": (GET + b"x: " + b"y" * 33_000 + b"\r\n\r\n", 431, "head_too_large"),
    "many headers": (GET + b"a: b\r\n" * 8_000 + b"\r\n", 431, "head_too_large"),
    "a long address": (b"GET /" + b"x" * 33_000 + b" HTTP/1.1\r\n\r\n", 431, "head_too_large"),
    "a long name": (GET + b"x" * 33_000 + b": y\r\n\r\n", 431, "head_too_large"),
    "no host": (b"GET /healthz HTTP/1.1\r\n\r\n", 400, "no_host"),
    "two hosts": (GET + b"HOST: localhost\r\n\r\n", 400, "no_host"),
    "two hosts for HTTP/1.0": (GET.replace(b"1.1", b"1.0") + b"Host: b\r\n\r\n", 400, "no_host"),
    "no HTTP": (b"\x16\x03\x01 hello\r\n\r\n", 400, "not_http"),
    "no version": (b"GET / HTTP/9.7\r\n\r\n", 400, "not_http"),
    "no address": (b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "not_http"),
    "two lengths": (GET + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "not_http"),
    "a broken chunk": (CHUNKED + b"zz\r\n", 400, "not_http"),
    "long trailers": (CHUNKED + b"0\r\n" + b"a: b\r\n" * 8_000, 431, "head_too_large"),
    "endless pipeline": (CHUNKED + b"0\r\n\r\n" + 40 * (GET + b"\r\n"), 400, "too_many_requests_ahead"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_request_is_refused_in_the_one_shape(shared: Live, case: str) -> None:
    sent, status, code = REFUSED[case]
    before = shared.service.connections.closed[code]
    with connected(shared) as connection:
        connection.sendall(sent)
        check_refusal(rest(connection), status, code)
    assert shared.service.connections.closed[code] == before + 1
    assert shared.client.get("/healthz").status_code == 200


@pytest.mark.parametrize("start", [GET, GET + b"x: ", b"GET /", CHUNKED + b"0\r\nx: ", CHUNKED + b"1;x="])
def test_a_head_that_never_ends_is_cut_off(shared: Live, start: bytes) -> None:
    filler = b"a: b\r\n" * 10_000 if start == GET else b"y" * 60_000
    with connected(shared) as connection, pytest.raises(ConnectionError):
        connection.sendall(start)
        for _ in range(4000):
            connection.sendall(filler)
    assert shared.client.get("/healthz").status_code == 200


def test_a_head_just_within_the_limit_is_served(shared: Live) -> None:
    with connected(shared) as connection:
        connection.sendall(GET + b"x: " + b"y" * 31_000 + b"\r\n\r\n")
        assert one_answer(connection).startswith(b"HTTP/1.1 200 ")


def test_a_few_requests_ahead_of_their_answers_are_served(shared: Live) -> None:
    with connected(shared) as connection:
        connection.sendall(5 * (GET + b"\r\n") + GET + b"Connection: close\r\n\r\n")
        assert rest(connection).count(b"HTTP/1.1 200 ") == 6


def test_http_1_0_needs_no_host(shared: Live) -> None:
    with connected(shared) as connection:
        connection.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert rest(connection).startswith(b"HTTP/1.1 200 ")


def test_a_request_without_a_host_is_refused_behind_others_that_have_one(shared: Live) -> None:
    with connected(shared) as connection:
        connection.sendall(GET + b"\r\n")
        assert one_answer(connection).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"GET /healthz HTTP/1.1\r\nx: y\r\n\r\n")
        check_refusal(rest(connection), 400, "no_host")


def test_an_upgrade_is_answered_as_any_other_request(shared: Live) -> None:
    with connected(shared) as connection:
        connection.sendall(GET + b"Connection: upgrade\r\nUpgrade: websocket\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


# Time


@pytest.mark.parametrize("begun", [b"", b"\r\n", GET])
def test_a_head_has_its_time(clocked: tuple[Live, Clock], begun: bytes) -> None:
    running, clock = clocked
    guests = running.service.connections
    with connected(running) as connection:
        connection.sendall(begun)
        until(lambda: len(guests) == 1 and (not begun or next(iter(guests._all))._begun))  # type: ignore[attr-defined]
        clock.now += 9.9
        guests_before = guests.closed.copy()
        with running.client as client:
            assert client.get("/healthz").status_code == 200
        assert guests.closed == guests_before
        clock.now += 0.2
        answer = rest(connection)
    if begun:
        check_refusal(answer, 408, "head_too_slow")
    else:
        assert answer == b""


def test_an_idle_connection_is_closed_and_one_at_work_is_not(clocked: tuple[Live, Clock]) -> None:
    running, clock = clocked
    guests = running.service.connections
    with connected(running) as idle, Standstill(running.service.engine, "rank") as standstill:
        idle.sendall(GET + b"\r\n")
        assert one_answer(idle).startswith(b"HTTP/1.1 200 ")
        answers: list[httpx.Response] = []
        asking = threading.Thread(target=lambda: answers.append(running.client.post(RANK, json=rank_body())))
        asking.start()
        assert standstill.entered.wait(SECONDS)
        clock.now += 31
        assert rest(idle) == b""
        assert guests.closed == {"idle": 1} and len(guests) == 1
        standstill.go_on()
        asking.join(SECONDS)
    assert answers[0].status_code == 200


def test_the_next_head_has_its_time_from_its_first_byte(clocked: tuple[Live, Clock]) -> None:
    running, clock = clocked
    with connected(running) as connection:
        connection.sendall(GET + b"\r\n")
        one_answer(connection)
        guest = next(iter(running.service.connections._all))
        clock.now += 15  # less than what is left of the time to idle
        connection.sendall(b"GET")
        until(lambda: guest.due == clock.now + 10)
        connection.sendall(b" /heal")  # more of it gives no more time
        clock.now += 10
        check_refusal(rest(connection), 408, "head_too_slow")


def test_who_goes_on_sending_after_the_answer_is_cut_off(clocked: tuple[Live, Clock]) -> None:
    running, clock = clocked
    with connected(running) as connection:
        connection.sendall(f"POST {RANK} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n".encode())
        assert one_answer(connection).startswith(b"HTTP/1.1 413 ")
        connection.sendall(b"x" * 1000)
        clock.now += 11
        assert rest(connection) == b""


def test_who_does_not_take_the_answers_is_cut_off(clocked: tuple[Live, Clock]) -> None:
    running, clock = clocked
    guests = running.service.connections
    with connected(running) as connection:
        until(lambda: len(guests) == 1)
        guest: Any = next(iter(guests._all))
        request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        answered = running.service.metrics.requests.labels("/openapi.json", "200")
        for number in range(2000):
            connection.sendall(request)
            until(lambda number=number: answered._value.get() > number or guest.flow.write_paused)  # type: ignore[misc]
            if guest.flow.write_paused:
                break
        assert guest.flow.write_paused
        clock.now += 31
        until(lambda: len(guests) == 0)
        assert guests.closed == {"stalled": 1}


# Room


def test_the_connection_at_rest_for_longest_makes_room(live: Start, sqlite_address: str) -> None:
    running = live(sqlite_address, settings={"max_connections": 5})
    guests = running.service.connections
    running.client.close()
    until(lambda: len(guests) == 0)
    with ExitStack() as stack:
        opened = []
        for number in range(5):
            opened.append(stack.enter_context(connected(running)))
            until(lambda number=number: len(guests) == number + 1)  # type: ignore[misc]
        opened[0].sendall(GET + b"\r\n")
        assert one_answer(opened[0]).startswith(b"HTTP/1.1 200 ")  # now the second is at rest for longest
        new = stack.enter_context(connected(running))
        new.sendall(GET + b"\r\n")
        assert one_answer(new).startswith(b"HTTP/1.1 200 ")
        assert rest(opened[1]) == b""
        opened[0].sendall(GET + b"\r\n")
        assert one_answer(opened[0]).startswith(b"HTTP/1.1 200 ")
        assert len(guests) == 5 and guests.closed == {"made_room": 1}


def test_when_all_are_at_work_the_newcomer_is_told(live: Start, sqlite_address: str) -> None:
    running = live(sqlite_address, settings={"max_connections": 2})
    guests = running.service.connections
    running.client.close()
    until(lambda: len(guests) == 0)
    with httpx.Client(base_url=running.url, timeout=SECONDS) as client:
        with Standstill(running.service.engine, "rank"):
            asking = [threading.Thread(target=client.post, args=(RANK,), kwargs={"json": rank_body(n)}) for n in (1, 2)]
            for thread in asking:
                thread.start()
            until(lambda: len(guests) == 2 and not guests._resting)
            with connected(running) as newcomer:
                check_refusal(rest(newcomer), 503, "overloaded")
        for thread in asking:
            thread.join(SECONDS)
        text = client.get("/metrics").text
    assert 'fairexp_connections_ended_total{reason="full"} 1.0' in text and "fairexp_connections 2.0" in text


class Guest:
    """A connection that does nothing."""

    due: float | None = None

    def late(self) -> None:
        raise AssertionError

    def make_room(self) -> None:
        pass


def test_the_log_is_told_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    guests = Connections(ServerSettings().changed({"max_connections": 1}), clock=clock)
    guests._ticking = True  # sweeps are by hand
    for _ in range(1000):
        assert guests.admit(Guest())
        guests.sweep()
    assert [record.facts for record in caplog.records] == [{"connections": 1, "most": 1, "made_room": 1}]  # type: ignore[attr-defined]
    clock.now += 10
    guests.sweep()
    assert caplog.records[1].facts["made_room"] == 998  # type: ignore[attr-defined]
    clock.now += 10
    guests.note("idle")
    guests.sweep()
    assert len(caplog.records) == 2


def test_files_are_left_for_other_things(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, most in ((1024, 768), (200, 72), (20, 8), (10**6, 5000), (resource.RLIM_INFINITY, 5000)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, files=files: (files, files))
        assert Connections(ServerSettings()).most == most


# The whole, from the command line


@contextmanager
def served(folder: Path, *, files: int) -> Iterator[tuple[subprocess.Popen[str], int, Path]]:
    """`fairexp serve` with so many open files allowed, its port, and its log."""
    log = folder / "log"
    code = "from fairexp.cli import main; main()"
    script = (
        f"ulimit -n {files}; exec {sys.executable} -c '{code}' serve --open --port 0 --set header_seconds=1000 2> {log}"
    )
    with subprocess.Popen(["sh", "-c", script], text=True, cwd=folder) as process:
        try:
            until(lambda: log.exists() and "running on http" in log.read_text())
            port = int(re.search(r"running on http://[^:]+:(\d+)", log.read_text())[1])  # type: ignore[index]
            yield process, port, log
        finally:
            process.kill()


@pytest.mark.parametrize("packets", [1, 2, 3])
def test_a_client_that_offers_http_2_is_answered_in_http_1(live: Start, sqlite_address: str, packets: int) -> None:
    """As Java's does with every request without TLS: the body must not be taken for another protocol."""
    running = live(sqlite_address)
    body = json.dumps(rank_body()).encode()
    head = (
        "POST /v1/policies/shop/rank HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade, HTTP2-Settings\r\n"
        f"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    pieces = {1: [head + body], 2: [head, body], 3: [head, body[:50], body[50:]]}[packets]
    with socket.create_connection(("127.0.0.1", running.port), timeout=SECONDS) as line:
        for _ in range(2):  # and the connection can be used again
            for piece in pieces:
                line.sendall(piece)
            answer = http.client.HTTPResponse(line)
            answer.begin()
            assert answer.status == 200 and len(json.loads(answer.read())["items"]) == 4


def test_it_answers_however_many_connect(tmp_path: Path) -> None:
    with served(tmp_path, files=256) as (process, port, log), ExitStack() as stack:
        for number in range(600):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=SECONDS))
            if number % 50 == 0:
                assert httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=SECONDS).status_code == 200
        spec = {"ranker": "pdgd", "features": 3}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=SECONDS) as client:
            until(lambda: client.get("/readyz").status_code == 200)
            body = json.dumps(spec).encode() + b" " * 200_000  # the reader is there too
            assert client.put("/v1/policies/shop", content=body).status_code == 200
            assert "fairexp_connections 128.0" in client.get("/metrics").text
        until(lambda: "connections refused or ended" in log.read_text())
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == -signal.SIGTERM


def test_the_reader_ends_with_the_server(tmp_path: Path) -> None:
    with served(tmp_path, files=1024) as (process, _, _):
        found = [Path(f"/proc/{child}") for child in children(process.pid)]
        readers = [child for child in found if b"spawn_main" in (child / "cmdline").read_bytes()]
        assert len(readers) == 1
        os.kill(process.pid, signal.SIGKILL)
        until(lambda: not readers[0].exists() or "(zombie)" in (readers[0] / "status").read_text())
