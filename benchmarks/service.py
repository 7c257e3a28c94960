"""The service's time per ranking, against the same app with a constant for a ranker; its latency and its knee.

`python -m benchmarks.service` prints latency by list size and the throughput knee. `python -m benchmarks.service serve
FOLDER [constant]` is the server that is measured.
"""

from __future__ import annotations

import base64
import http.client
import json
import logging
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Bar, Outcome, Part, by_turns, compare

N, D, LENGTH = 100, 136, 10
SIZES = (10, 50, 100, 250, 500, 1000)
RATES = (25, 50, 100, 200, 300, 400, 600, 800)
ROUNDS = 300
"""Rankings with clicks before measuring, so that orders have become certain."""


def parts(quick: bool) -> Iterator[Part]:
    """The two bars: ranking against a constant, and JSON numbers against base64; then the curves, which have no bar."""
    yield partial(rows, turns=15 if quick else 60)
    if not quick:
        yield curves


def curves() -> list[Outcome]:
    """Print latency by list size and the knee; there is nothing to hold them against."""
    report()
    return []


def rows(*, turns: int) -> Iterator[Outcome]:
    """Both rows, measured on servers that have learned a little."""
    with server() as real, server("constant") as constant:
        prepare(real), prepare(constant)
        packed, numbers = request(N, "base64"), request(N, "numbers")
        a, b = by_turns(lambda: real(packed), lambda: constant(packed), turns=turns, times=(10, 10))
        yield compare(f"rank over HTTP, durable, n={N}, d={D}", "the same app, ranking a constant", Bar(2.5), a, b)
        a, b = by_turns(lambda: real(numbers), lambda: real(packed), turns=turns, times=(10, 10))
        yield compare("features as JSON numbers", "features as base64", Bar(2.0), a, b)


class Connection:
    """A client that keeps its connection and does as little as possible itself."""

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def __call__(self, body: bytes, path: str = "/v1/policies/bench/rank") -> dict[str, Any]:
        self._http.request("POST", path, body)
        answer = self._http.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"the service answered {answer.status}: {content[:200]!r}")
        return json.loads(content)  # type: ignore[no-any-return]


@contextmanager
def server(mode: str = "real") -> Iterator[Connection]:
    """A client of a new server in a separate process, on a store on disk."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        command = [sys.executable, "-m", "benchmarks.service", "serve", folder, mode]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                yield Connection(int(process.stdout.readline()))
            finally:
                process.terminate()


def request(n: int, form: str, *, seed: int = 0) -> bytes:
    """A rank request's body with features as "base64" or as "numbers"."""
    features = np.random.default_rng(seed).random((n, D)).astype(np.float32)
    groups = ["small" if index % 2 else "large" for index in range(n)]
    if form == "base64":
        ids = [f"d{index}" for index in range(n)]
        body: dict[str, Any] = {"ids": ids, "groups": groups, "features": base64.b64encode(features.tobytes()).decode()}
    else:
        rows_ = np.round(features.astype(np.float64), 6).tolist()
        candidates = [{"id": f"d{i}", "group": groups[i], "features": row} for i, row in enumerate(rows_)]
        body = {"candidates": candidates}
    return json.dumps(body).encode()


def prepare(connection: Connection) -> None:
    """Let the policy learn from clicks on its second position."""
    for number in range(ROUNDS):
        ranking = connection(request(N, "base64", seed=number % 20))
        feedback = {"ranking_id": ranking["ranking_id"], "events": [{"position": 2}]}
        connection(json.dumps(feedback).encode(), "/v1/feedback")


def latencies(send: Callable[[], object], n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Seconds (n,) of calls one after the other."""
    taken = np.empty(n)
    for number in range(n):
        started = time.perf_counter()
        send()
        taken[number] = time.perf_counter() - started
    return taken


def at_rate(port: int, body: bytes, rate: float, *, n_seconds: float = 4.0, n_clients: int = 16) -> tuple[float, ...]:
    """(achieved rate, median, 99th percentile) when requests arrive at `rate`, from when each was due."""
    due = time.perf_counter() + 0.2 + np.arange(int(rate * n_seconds)) / rate
    taken, lock, place = np.zeros(len(due)), threading.Lock(), iter(range(len(due)))

    def client() -> None:
        connection = Connection(port)
        while True:
            with lock:
                number = next(place, None)
            if number is None:
                return
            time.sleep(max(due[number] - time.perf_counter(), 0.0))
            connection(body)
            taken[number] = time.perf_counter() - due[number]

    threads = [threading.Thread(target=client) for _ in range(n_clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    finished = (due + taken).max()
    return len(due) / (finished - due[0]), float(np.median(taken)), float(np.percentile(taken, 99))


def report() -> None:
    """Latency by list size and form, and the rates up to where requests queue."""
    with server() as connection:
        prepare(connection)
        print(f"latency of one request at a time, d={D}, k={LENGTH}, durable (milliseconds)")
        for form in ("base64", "numbers"):
            for n in SIZES:
                body = request(n, form)
                taken = 1e3 * latencies(partial(connection, body), 200)
                print(f"  n={n:5d} {form:8} median {np.median(taken):7.2f}   99% {np.percentile(taken, 99):7.2f}")
        print(f"requests arriving at a rate, n={N}, base64, 16 connections")
        port = connection._http.port
        for rate in RATES:
            achieved, median, late = at_rate(int(port), request(N, "base64"), rate)
            print(f"  {rate:5d}/s: achieved {achieved:6.1f}/s, median {1e3 * median:7.2f} ms, 99% {1e3 * late:8.2f} ms")
            if achieved < 0.9 * rate:
                print("  the knee: more cannot be served by one worker here")
                break


def serve(folder: str, mode: str) -> None:
    """Run the server; its port is the first line of output."""
    import socket

    import uvicorn

    from fairexp.service.http.server import server_config
    from fairexp.service.http.service import Service
    from fairexp.service.policies.spec import PolicySpec
    from fairexp.service.store import open_store

    logging.getLogger("fairexp.service").setLevel(logging.ERROR)  # what hostile clients send is refused as it should be
    spec = PolicySpec(features=D, groups={"small": 1.0, "large": 1.0}, length=LENGTH, tolerance=0.1, seed=1)
    service = Service(open_store(Path(folder) / "store.db"), policies={"bench": spec}, open=True)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    threading.Thread(target=_announce, args=(service, listener.getsockname()[1], mode), daemon=True).start()
    uvicorn.Server(server_config(service)).run(sockets=[listener])


def _announce(service: Any, port: int, mode: str) -> None:
    while not service.ready:
        time.sleep(0.01)
    if mode == "constant":
        make_constant(service.engine.policy("bench").runtime.ranker)
    print(port, flush=True)


def make_constant(ranker: Any) -> None:
    """Replace the ranking call by one that returns the first ranking again and again; all else stays."""
    rank, first = ranker.rank, []

    def constant(query: Any, **_: Any) -> Any:
        if not first:
            first.append(rank(query))
            return first[0]
        ranking = replace(first[0], number=ranker.n_ranked)
        ranker.n_ranked += 1
        return ranking

    ranker.rank = constant


if __name__ == "__main__":
    serve(sys.argv[2], sys.argv[3]) if sys.argv[1:2] == ["serve"] else report()
