"""The service under the worst bodies that its limits allow: how long others wait, and what memory is given back.

`python -m benchmarks.hostile` prints what each body is answered with, and how soon. `python -m benchmarks.hostile send
PORT FIRST` sends them one after the other, from the one numbered FIRST on, until it is ended.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from benchmarks.harness import Bar, Outcome, Part, no_garbage, resampled, seconds, spread
from benchmarks.service import Connection, D, N, prepare, request
from fairexp.arrays import Floats
from fairexp.service.settings import ServerSettings

CLIENTS = 2
GIVEN_BACK = 50e6
"""Bytes that the server may hold more than before."""
ROUNDS = 10
"""How often every body is sent between two looks at memory."""
LATE = 99
Body = tuple[str, str, bytes]


def parts(quick: bool) -> Iterator[Part]:
    """All rows come from the same run."""
    yield partial(rows, turns=2 if quick else 6, span=3.0 if quick else 8.0)


def bodies() -> dict[str, Body]:
    """(method, path, body) by name: each as large as its limit lets it be."""
    return {**_of_rankings(ServerSettings()), **_of_feedback(ServerSettings()), **_of_policies(ServerSettings())}


def _of_rankings(settings: ServerSettings) -> dict[str, Body]:
    most = settings.max_body_bytes
    one, item = b'{"candidates":[{"id":"a","features":[', b'{"id":"a","items":[{"id":"a","fields":['
    deep = b"[" * (most // 2 - 20) + b"]" * (most // 2 - 20)
    ours = {
        "{} as candidates": _filled(b'{"candidates":[', b"{}", b"]}", most),
        "{} as ids": _filled(b'{"ids":[', b"{}", b"]}", most),
        "{} as groups": _filled(b'{"groups":[', b"{}", b"]}", most),
        "small valid candidates": _filled(b'{"candidates":[', b'{"id":"a","features":[]}', b"]}", most),
        "numbers of one candidate": _filled(one, b"0", b"]}]}", most),
        "long numbers of one candidate": _filled(one, b"0.12345678901234567", b"]}]}", most),
        "one long number": one + b"0." + b"1" * (most - 60) + b"]}]}",
        "text for a feature": one + b'"' + b"x" * (most - 60) + b'"]}]}',
        "base64 of any length": b'{"ids":["a"],"features":"' + b"A" * (most - 60) + b'"}',
        "unknown keys": b"{" + _keys(most) + b"}",
        "nesting": b'{"candidates":' + deep + b"}",
        "no JSON": b"\xff\x00" * (most // 2),
        "a valid body at the limits": _valid(settings.max_candidates),
    }
    metaranks = {
        "{} as items": _filled(b'{"id":"a","items":[', b"{}", b"]}", most),
        "{} as fields": _filled(item, b"{}", b"]}]}", most),
        "valid fields": _filled(item, b'{"name":"a","value":[]}', b"]}]}", most),
        "ignored fields": _filled(b'{"x":[', b"{}", b'],"id":"a","items":[]}', most),
        "ignored nesting": b'{"x":' + deep + b"}",
        "named features at the limits": _named(settings.max_candidates),
    }
    found = {name: ("POST", "/v1/policies/bench/rank", body) for name, body in ours.items()}
    return {**found, **{name: ("POST", "/rank/bench?explain=true", body) for name, body in metaranks.items()}}


def _of_feedback(settings: ServerSettings) -> dict[str, Body]:
    most = settings.max_feedback_bytes
    ours = {
        "{} as batch": _filled(b'{"batch":[', b"{}", b"]}", most),
        "valid batch": _filled(b'{"batch":[', b'{"ranking_id":"a","events":[]}', b"]}", most),
        "{} as events": _filled(b'{"ranking_id":"a","events":[', b"{}", b"]}", most),
    }
    metaranks = {"Metarank's events": _filled(b"[", b"{}", b"]", most), "Metarank's lines": b"{}\n" * (most // 3)}
    found = {name: ("POST", "/v1/feedback", body) for name, body in ours.items()}
    return {**found, **{name: ("POST", "/feedback", body) for name, body in metaranks.items()}}


def _of_policies(settings: ServerSettings) -> dict[str, Body]:
    most = settings.max_policy_bytes
    found = {
        "{} as a policy's features": _filled(b'{"features":[', b"{}", b"]}", most),
        "names as a policy's features": _filled(b'{"features":[', b'"a"', b"]}", most),
        "unknown keys of a policy's features": _filled(b'{"features":[', b'{"a":1,"b":2,"c":3}', b"]}", most),
        "unknown keys of a policy": b"{" + _keys(most) + b"}",
        "groups of a policy": b'{"groups":{' + _keys(most) + b"}}",
    }
    return {name: ("PUT", "/v1/policies/other", body) for name, body in found.items()}


def _keys(size: int) -> bytes:
    return b",".join(b'"%d":0' % each for each in range(size // 11 - 2))


def _filled(start: bytes, filler: bytes, end: bytes, size: int) -> bytes:
    times = (size - len(start) - len(end)) // (len(filler) + 1)
    return start + b",".join([filler] * times) + end


def _valid(n: int) -> bytes:
    """As many candidates as are allowed, with numbers of many digits."""
    features = np.random.default_rng(0).random((n, D)).astype(np.float32).astype(np.float64).tolist()
    candidates = [{"id": f"d{each}", "group": "small", "features": row} for each, row in enumerate(features)]
    return orjson.dumps({"candidates": candidates})


def _named(n: int) -> bytes:
    """The same in Metarank's form; the group is missing, which is found last."""
    fields = [{"name": str(each), "value": 0} for each in range(1, D + 1)]
    return orjson.dumps({"id": "a", "items": [{"id": f"d{each}", "fields": fields} for each in range(n)]})


def rows(*, turns: int, span: float) -> Iterator[Outcome]:
    """The slowest health check, the 99th percentile of good rankings, and memory."""
    with server() as (connection, port, pid):
        prepare(connection)
        for body in bodies().values():  # once each, so that nothing is for the first time below
            told(port, body)
        costliest = costliest_parse()
        before = resident(pid)
        for _ in range(ROUNDS):  # nobody else asks, so that rankings kept at hand do not count
            for body in bodies().values():
                told(port, body)
        after = resident(pid)
        quiet, hostile = Watch(port), Watch(port)
        asked = refusals(port)
        for _ in range(turns):
            quiet.look(span)
            with senders(port):
                hostile.look(span)
        sent = refusals(port) - asked
    note = f"{len(hostile.health)} checks; {sent:.0f} hostile bodies refused meanwhile"
    slowest = max(hostile.health) / costliest
    yield Outcome(
        f"slowest health check, {CLIENTS} hostile clients",
        "parsing the costliest of their bodies with orjson",
        Bar(2.0),
        *(slowest, slowest, slowest),
        samples={"what": spread(hostile.health), "against": spread([costliest])},
        note=note,
    )
    usual = _late(np.array(quiet.ranked))
    yield Outcome(
        f"{LATE}% of rankings, n={N}, d={D}, {CLIENTS} hostile clients",
        "the same without them",
        Bar(3.0),
        _late(np.array(hostile.ranked)) / usual,
        *(each / usual for each in resampled(np.array(hostile.ranked), _late)),
        samples={"what": spread(hostile.ranked), "against": spread(quiet.ranked)},
        note=note,
    )
    held = after / (before + GIVEN_BACK)
    yield Outcome(
        "resident memory after hostile bodies",
        f"before, and {GIVEN_BACK / 1e6:.0f} MB",
        Bar(1.0),
        *(held, held, held),
        samples={"what": spread([after]), "against": spread([before])},
        note=f"{before / 1e6:.0f} MB before, {after / 1e6:.0f} MB after",
    )


def _late(taken: Floats) -> float:
    return float(np.percentile(taken, LATE))


class Watch:
    """How long health checks and good rankings take, each on a connection of its own."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.health: list[float] = []
        self.ranked: list[float] = []

    def look(self, span: float) -> None:
        """Ask for `span` seconds."""
        until, rank = time.perf_counter() + span, Connection(self._port)
        check = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        packed = request(N, "base64")
        actions = ((self.health, partial(_healthy, check)), (self.ranked, partial(rank, packed)))
        threads = [threading.Thread(target=_repeat, args=(taken, action, until)) for taken, action in actions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _repeat(taken: list[float], action: Callable[[], object], until: float) -> None:
    while time.perf_counter() < until:
        taken.append(seconds(action))
        time.sleep(0.005)


def _healthy(connection: http.client.HTTPConnection) -> None:
    connection.request("GET", "/healthz")
    answer = connection.getresponse()
    assert answer.read() and answer.status == 200


def costliest_parse() -> float:
    """Seconds that orjson takes for the body that takes it longest: the shortest of five times, undisturbed."""
    with no_garbage():
        return max(min(seconds(partial(_parse, body)) for _ in range(5)) for _, _, body in bodies().values())


def _parse(body: bytes) -> None:
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError:
        return


@contextmanager
def server() -> Iterator[tuple[Connection, int, int]]:
    """A client of a new server, its port, and its process."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        command = [sys.executable, "-m", "benchmarks.service", "serve", folder, "real"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                port = int(process.stdout.readline())
                yield Connection(port), port, process.pid
            finally:
                process.terminate()


@contextmanager
def senders(port: int) -> Iterator[None]:
    """Hostile clients, while the block lasts; each begins elsewhere in the list."""
    command = [sys.executable, "-m", "benchmarks.hostile", "send", str(port)]
    processes = [
        subprocess.Popen([*command, str(12 * each)], stdout=subprocess.PIPE, text=True) for each in range(CLIENTS)
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()  # it has made its bodies
        yield
    finally:
        for process in processes:
            assert process.poll() is None, "a hostile client gave up"
            process.kill()
            process.wait()


def send(port: int, first: int) -> None:
    """Send all bodies again and again."""
    made = list(bodies().values())
    print("ready", flush=True)
    number = first
    while True:
        told(port, made[number % len(made)])
        number += 1


def told(port: int, body: Body) -> tuple[int, dict[str, Any]]:
    """The answer's status and content."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(*body)
    answer = connection.getresponse()
    content = json.loads(answer.read())
    connection.close()
    return answer.status, content


def refusals(port: int) -> float:
    """How many requests have been refused for what is in them."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    return sum(
        float(line.split()[-1]) for line in lines if line.startswith("fairexp_requests_total{") and '"422"' in line
    )


def resident(pid: int) -> float:
    """Bytes of memory that a process and its children hold."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    own = 1024.0 * float(status.split("VmRSS:")[1].split()[0])
    return own + sum(resident(child) for child in children(pid))


def children(pid: int) -> set[int]:
    """The processes that a process has started."""
    found = set()
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has ended
            found.update(map(int, (thread / "children").read_text(encoding="ascii").split()))
    return found


def report() -> None:
    """What each body is answered with, and how soon."""
    with server() as (connection, port, pid):
        prepare(connection)
        told(port, bodies()["small valid candidates"])
        print(f"resident: {resident(pid) / 1e6:.0f} MB")
        for name, body in bodies().items():
            started = time.perf_counter()
            status, content = told(port, body)
            taken, parse = time.perf_counter() - started, seconds(partial(_parse, body[2]))
            facts = f"{1e3 * taken:7.1f} ms (orjson {1e3 * parse:6.1f}) {resident(pid) / 1e6:4.0f} MB resident"
            print(f"{name:36} {len(body[2]) / 1e6:4.1f} MB {facts}  {status} {content.get('error')}")


if __name__ == "__main__":
    send(int(sys.argv[2]), int(sys.argv[3])) if sys.argv[1:2] == ["send"] else report()
