"""Whatever is in a body, it costs little: refused at the first fault, read elsewhere when large, bounded in memory."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
import hypothesis
import orjson
import pytest
from hypothesis import strategies as st

from benchmarks.hostile import bodies
from fairexp.service.engine.runtime import Runtime
from fairexp.service.http.service import Service
from fairexp.service.policies import spec as policies
from fairexp.service.policies.columns import Columns
from fairexp.service.problems import ServiceError
from fairexp.service.requests import reader
from fairexp.service.requests.candidates import candidates_of
from fairexp.service.requests.decode import read_feedback, read_policy, read_ranking
from fairexp.service.requests.metarank import read_metarank, read_metarank_events
from fairexp.service.requests.reader import Reader
from fairexp.service.settings import ServerSettings
from fairexp.service.store import open_store
from fairexp.validation_messages import Mistake
from tests.service.live import Live
from tests.service.worlds import SPEC, base64_body, rank_body
from tests.waiting import SECONDS, until

Start = Callable[..., Live]
RANK = "/v1/policies/shop/rank"
HOSTILE = bodies()
FIELDS = {
    "{} as candidates": "candidates[0].id",
    "{} as ids": "ids[0]",
    "{} as groups": "groups[0]",
    "small valid candidates": "candidates",
    "numbers of one candidate": "candidates[0].features",
    "long numbers of one candidate": "candidates[0].features",
    "one long number": "candidates[0].features",
    "text for a feature": "candidates[0].features[0]",
    "base64 of any length": "features",
    "unknown keys": "0",
    "nesting": "candidates[0]",
    "no JSON": "body",
    "a valid body at the limits": "candidates[0].features",  # of a policy with other features
    "{} as items": "items[0].id",
    "{} as fields": "items[0].fields[0].name",
    "valid fields": "items[0].fields",
    "ignored fields": "items",
    "ignored nesting": "body",
    "named features at the limits": "items[0].fields",
    "{} as batch": "batch[0].ranking_id",
    "valid batch": "batch",
    "{} as events": "events",
    "Metarank's events": "body",
    "Metarank's lines": "body",
    "{} as a policy's features": "features",
    "names as a policy's features": "features",
    "unknown keys of a policy's features": "features",
    "unknown keys of a policy": "0",
    "groups of a policy": "groups",
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    store = open_store(str(tmp_path_factory.mktemp("bodies") / "store.db"))
    live = Live(Service(store, policies={"shop": SPEC}, open=True))
    live.wait_ready()
    yield live
    live.stop()


def large(number: int = 0, **more: Any) -> bytes:
    """A valid request that is longer than what is read at once."""
    return json.dumps(rank_body(number, **more)).encode() + b" " * ServerSettings().large_body_bytes


def test_small_bodies_start_no_process(live: Start, sqlite_address: str) -> None:
    running = live(sqlite_address)
    assert running.client.post(RANK, json=rank_body()).status_code == 200
    assert running.client.put("/v1/policies/x", json={"ranker": "pdgd", "features": 2}).status_code == 200
    assert running.service.reader.pid is None


def test_every_hostile_body_has_a_field_expected_of_it() -> None:
    assert HOSTILE.keys() == FIELDS.keys()


@pytest.mark.parametrize("name", FIELDS)
def test_hostile_bodies_are_read_elsewhere_and_refused_by_name(running: Live, name: str) -> None:
    method, path, body = HOSTILE[name]
    answer = running.client.request(method, path.replace("bench", "shop"), content=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["field"] == FIELDS[name]
    assert len(answer.content) < 1000
    assert running.service.reader.pid is not None
    assert running.service.budget.used == 0


def test_a_policy_within_the_limits_gathers_few_errors(running: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, told = [], policies.found_by_pydantic

    def counting(errors: Sequence[Mapping[str, Any]]) -> Mistake:
        counts.append(len(errors))
        return told(errors)

    monkeypatch.setattr(policies, "found_by_pydantic", counting)
    many = {f"k{number}": 0 for number in range(100)}
    for wrong in ({"features": [many] * 900}, {"features": 2, "exposure": ["x"] * 2000}, {"features": [{}] * 2000}):
        answer = running.client.put("/v1/policies/x", json={**wrong, "groups": many, "parameters": {"a": [[0]] * 2000}})
        assert answer.status_code == 422, answer.text
    assert len(counts) == 3 and max(counts) <= 300


@contextmanager
def stopped_reader(running: Live) -> Iterator[int]:
    """The reader's process stands still within the block, with a large request on its way to it."""
    running.client.post(RANK, content=large())
    pid = running.service.reader.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGCONT)


class Asking(threading.Thread):
    """A large request in a thread; `answer` is there when it has ended."""

    def __init__(self, running: Live, body: bytes) -> None:
        super().__init__()
        self._url, self._body = running.url, body
        self.answer: httpx.Response | None = None
        self.start()

    def run(self) -> None:
        self.answer = httpx.post(self._url + RANK, content=self._body, timeout=SECONDS)

    def ended(self) -> httpx.Response:
        self.join(SECONDS)
        assert self.answer is not None
        return self.answer


def test_others_are_served_while_the_reader_stands_still(
    live: Start, sqlite_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "PATIENCE_SECONDS", SECONDS)  # however long the requests below take
    running = live(sqlite_address, settings={"max_waiting_bodies": 1})
    limit = running.service.reader.limit
    with stopped_reader(running):
        asking = Asking(running, large(1))
        until(lambda: limit.taken == 1)
        for number in range(5):
            assert running.client.get("/healthz").status_code == 200
            assert running.client.post(RANK, json=rank_body(number)).status_code == 200
        refused = running.client.post(RANK, content=large(2))
        assert refused.status_code == 503 and refused.json()["error"]["code"] == "overloaded"
        assert "max_waiting_bodies" in refused.text and refused.headers["retry-after"] == "1"
        assert asking.is_alive()
    assert asking.ended().status_code == 200
    assert 'fairexp_bodies_refused_total{reason="waiting"} 1.0' in running.client.get("/metrics").text


def test_a_killed_reader_costs_one_answer_and_is_replaced(live: Start, sqlite_address: str) -> None:
    running = live(sqlite_address)
    running.client.post(RANK, content=large())
    pid = running.service.reader.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)  # so that the request is under way when the end comes
    asking = Asking(running, large(1))
    until(lambda: running.service.reader.limit.taken == 1)
    os.kill(pid, signal.SIGKILL)
    lost = asking.ended()
    assert lost.status_code == 503 and lost.json()["error"]["code"] == "reader_lost"
    assert running.client.post(RANK, content=large(2)).status_code == 200
    assert running.service.reader.pid != pid
    assert running.client.get("/v1/policies/shop").json()["rounds"] == 2
    assert "fairexp_reader_lost_total 1.0" in running.client.get("/metrics").text


def test_a_stuck_reader_is_replaced(live: Start, sqlite_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    running = live(sqlite_address)
    running.client.post(RANK, content=large())
    pid = running.service.reader.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr(reader, "PATIENCE_SECONDS", 0.1)
        lost = running.client.post(RANK, content=large(1) + b" " * 2_000_000)  # more than the pipe holds
    assert lost.status_code == 503 and lost.json()["error"]["code"] == "reader_lost"
    assert running.client.post(RANK, content=large(2)).status_code == 200


def test_a_large_request_ranks_as_a_small_one(live: Start, tmp_path: Any) -> None:
    one, two = live(f"{tmp_path}/one.db").client, live(f"{tmp_path}/two.db").client
    for number in range(3):
        small = one.post(RANK, json=rank_body(number)).json()["items"]
        padded = json.dumps(base64_body(number)).encode() + b" " * ServerSettings().large_body_bytes
        assert small == two.post(RANK, content=padded).json()["items"]


# The same, here and there

NAMES = st.text(min_size=0, max_size=3)
NUMBERS = st.one_of(st.floats(-1e39, 1e39), st.integers(-5, 5), st.sampled_from([None, "x", True]))
JSON = st.recursive(
    NUMBERS | NAMES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner), max_leaves=5
)
CANDIDATES = st.fixed_dictionaries(
    {"id": NAMES, "features": st.lists(NUMBERS, min_size=2, max_size=2)}, optional={"group": NAMES, "other": JSON}
)
EVENTS = st.fixed_dictionaries({}, optional={"id": NAMES, "position": NUMBERS, "weight": NUMBERS})
FIELDS_GIVEN = st.lists(st.fixed_dictionaries({"name": st.sampled_from(["a", "b", "g"]), "value": JSON}))
ITEMS = st.lists(st.fixed_dictionaries({"id": NAMES, "fields": FIELDS_GIVEN}), max_size=3)
KINDS = st.fixed_dictionaries({"event": st.sampled_from(["interaction", "item", "x"]), "id": NAMES})
COLUMNS = Columns(("a", "b"), (None, 0.5), "g")
METARANK = {"columns": COLUMNS, "max_candidates": 3, "max_fields": 3}
CALLS: dict[Any, tuple[dict[str, Any], st.SearchStrategy[Any]]] = {
    read_ranking: (
        {"columns": COLUMNS, "max_candidates": 3},
        st.fixed_dictionaries(
            {}, optional={"candidates": st.lists(CANDIDATES, max_size=4), "k": NUMBERS, "user": NAMES}
        ),
    ),
    read_metarank: ({**METARANK, "explain": True}, st.fixed_dictionaries({"id": NAMES, "items": ITEMS})),
    read_feedback: (
        {"max_batch": 2, "max_events": 3},
        st.fixed_dictionaries({}, optional={"ranking_id": NAMES, "events": st.lists(EVENTS), "batch": JSON}),
    ),
    read_metarank_events: ({"max_events": 3, "max_fields": 3}, st.lists(KINDS, max_size=4)),
    read_policy: (
        {"known": ("a", "b"), "most_values": 3, "most_keys": 3},
        st.dictionaries(st.sampled_from("abc"), JSON),
    ),
}


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Reader]:
    reader = Reader(ServerSettings().changed({"large_body_bytes": 1}))
    yield reader
    reader.stop()


@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_the_process_reads_as_we_do(elsewhere: Reader, function: Callable[..., Any]) -> None:
    options, given = CALLS[function]

    @hypothesis.given(given=given | JSON, cut=st.integers(0, 20))
    @hypothesis.settings(max_examples=150, deadline=None, database=None, derandomize=True)
    def compare(given: Any, cut: int) -> None:
        body = json.dumps(given).encode()
        body = (body[: len(body) - cut] if cut > 18 else body) + b"  "
        here = outcome(lambda: function(body, **options))
        assert here == outcome(lambda: asyncio.run(elsewhere.read(function, body, **options)))

    compare()


def outcome(call: Callable[[], Any]) -> str:
    """What a call returned or refused, to the last bit."""
    try:
        found = call()
    except ServiceError as error:
        return repr((error.code, str(error), error.status, error.field))
    features = getattr(found, "features", None)
    return repr((found, None if features is None else (features.dtype, features.shape, features.tobytes())))


def test_what_was_read_for_another_version_is_not_ranked() -> None:
    asked = read_ranking(json.dumps(rank_body()).encode(), columns=SPEC.requested, max_candidates=10)
    for change in ({"features": ["price", "freshness", "relevance"]}, {"features": 4}, {"group_field": "maker"}):
        runtime, _ = Runtime.new(SPEC.model_copy(update=change))
        with pytest.raises(ServiceError, match="changed while") as caught:
            candidates_of(asked, runtime, SPEC.requested)
        assert caught.value.status == 503
    runtime, _ = Runtime.new(SPEC.model_copy(update={"tolerance": 0.7}))
    assert candidates_of(asked, runtime, SPEC.requested).ids == asked.ids


@pytest.mark.parametrize(
    ("path", "setting", "advice"),
    [
        (RANK, "max_body_bytes", True),
        ("/v1/feedback", "max_feedback_bytes", False),
        ("/feedback", "max_feedback_bytes", False),
    ],
)
def test_what_is_too_large_names_the_setting(running: Live, path: str, setting: str, advice: bool) -> None:
    limit = getattr(ServerSettings(), setting)
    answer = running.client.post(path, content=b" " * (limit + 1))
    assert answer.status_code == 413 and answer.json()["error"]["field"] == "body"
    assert str(limit) in answer.text and setting in answer.text and ("base64" in answer.text) == advice


def test_a_batch_has_so_many_events_in_all(live: Start, sqlite_address: str) -> None:
    client = live(sqlite_address, settings={"max_events": 3}).client
    name = client.post(RANK, json=rank_body()).json()["ranking_id"]
    two = {"ranking_id": name, "events": [{"position": 1}, {"position": 2}]}
    assert client.post("/v1/feedback", json={"batch": [two]}).status_code == 200
    assert client.post("/v1/feedback", json={"batch": [two, two]}).json()["error"]["field"] == "batch"


# Memory for bodies


@pytest.mark.parametrize("where", ["fields", "items[1].fields"])
def test_fields_are_counted_before_they_are_looked_at(where: str) -> None:
    body: dict[str, Any] = {"id": "r", "items": [{"id": "a"}, {"id": "b"}]}
    many = [{"name": f"f{number}", "value": 1} for number in range(30)]
    (body if where == "fields" else body["items"][1])["fields"] = many
    options: dict[str, Any] = {"columns": Columns(("f1",), (None,)), "max_candidates": 9, "explain": False}
    with pytest.raises(ServiceError, match="30 fields") as refused:
        read_metarank(orjson.dumps(body), max_fields=20, **options)
    assert refused.value.field == where


@pytest.mark.parametrize("inner", [b"[" * 600 + b"]" * 600, b'{"a":' * 600 + b"1" + b"}" * 600])
def test_a_policy_is_not_deep(inner: bytes) -> None:
    with pytest.raises(ServiceError, match="nested too deeply") as refused:
        read_policy(b'{"features": %s}' % inner, known=("features",), most_values=2000, most_keys=100)
    assert len(str(refused.value)) < 300
    groups = {"a.b.c.d.e.f.g.h": 1, "b": 1}
    plain = {"features": [{"name": "x"}], "feedback": {"events": {"a": 1}}, "groups": groups}
    assert read_policy(orjson.dumps(plain), known=tuple(plain), most_values=9, most_keys=9) == plain


def test_a_slow_sender_does_not_keep_others_out(live: Start, sqlite_address: str) -> None:
    running = live(sqlite_address, settings={"max_bodies_bytes": 2000})
    good = json.dumps(rank_body()).encode()
    assert len(good) < 1500
    with socket.create_connection(("127.0.0.1", running.port)) as slow:
        head = f"POST {RANK} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1999\r\n\r\n"
        slow.sendall(head.encode() + b" " * 1900)
        until(lambda: running.service.budget.used == 1900)
        assert running.client.post(RANK, content=good).status_code == 200
        slow.settimeout(SECONDS)
        assert slow.recv(100).startswith(b"HTTP/1.1 503 ")
    assert 'fairexp_bodies_refused_total{reason="memory"} 1.0' in running.client.get("/metrics").text


def test_the_reader_of_large_bodies_imports_nothing_heavy() -> None:
    code = "import sys, fairexp.service.requests.reader, fairexp.service.requests.decode; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "msgspec" in loaded and {"pydantic", "fastapi", "altair", "pyarrow"}.isdisjoint(loaded)
