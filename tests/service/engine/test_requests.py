"""A request with an id is ranked once, however often and however concurrently it is asked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from fairexp.client import AsyncClient, Client
from fairexp.client.answers import RankedList
from fairexp.service.changes import Changes
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.repeats import RecentRequests
from fairexp.service.policies.spec import FeedbackSpec, RetentionSpec
from fairexp.service.problems import ServiceError
from fairexp.service.store import Append
from tests.service.http.test_metarank import ranking
from tests.service.live import Live
from tests.service.worlds import SPEC, base64_body, candidates, rank, rank_body
from tests.waiting import SECONDS, until

Start = Callable[..., Engine]
Serve = Callable[..., httpx.Client]
RANK = "/v1/policies/shop/rank"


def ask(engine: Engine, request_id: str, number: int = 0) -> Any:
    asked = candidates(number, request_id=request_id)
    object.__setattr__(asked, "asked", f"digest of {number}")
    ranked = engine.rank("shop", lambda runtime: asked, request_id=request_id, asked=asked.asked)
    ranked.kept.result(SECONDS)
    return ranked


def exposure(client: httpx.Client) -> list[float]:
    return [group["exposure"] for group in client.get("/v1/policies/shop/fairness").json()["groups"]]


@pytest.mark.parametrize("explain", ["false", "true"])
def test_the_same_answer_again_and_after_a_restart(live: Callable[..., Live], address: str, explain: str) -> None:
    running = live(address)
    bodies = [rank_body(number, request_id=f"r{number}", user="u") for number in range(5)]
    first = [running.client.post(RANK, json=body, params={"explain": explain}) for body in bodies]
    before = exposure(running.client)
    again = [running.client.post(RANK, json=body, params={"explain": explain}) for body in bodies]
    assert exposure(running.client) == before
    running.stop()
    running = live(address)
    late = [running.client.post(RANK, json=body, params={"explain": explain}) for body in bodies]
    assert exposure(running.client) == before
    for one, two, three in zip(first, again, late, strict=True):
        assert one.status_code == 200 and one.content == two.content == three.content
        assert "x-repeated" not in one.headers
        assert two.headers["x-repeated"] == three.headers["x-repeated"] == "true"


def test_metaranks_form_tells_all_items_again(live: Callable[..., Live], address: str) -> None:
    running = live(address)
    asked = [ranking(f"m{number}", number) for number in range(4)]
    first = [running.client.post("/rank/shop", json=each) for each in asked]
    before = exposure(running.client)
    running.stop()
    running = live(address)
    for one, each in zip(first, asked, strict=True):
        two = running.client.post("/rank/shop", json=each)
        assert two.content == one.content and two.headers["x-repeated"] == "true"
        assert len(one.json()["items"]) == len(each["items"])
    assert exposure(running.client) == before


@pytest.mark.parametrize(
    "other",
    [
        rank_body(1, request_id="r"),
        rank_body(0, n=7, request_id="r"),
        rank_body(0, k=2, request_id="r"),
    ],
)
def test_an_id_for_something_else_is_refused(serve: Serve, sqlite_address: str, other: dict[str, Any]) -> None:
    client = serve(sqlite_address)
    assert client.post(RANK, json=rank_body(0, request_id="r")).status_code == 200
    refused = client.post(RANK, json=other)
    assert refused.status_code == 409 and refused.json()["error"]["code"] == "request_id_reused"
    assert refused.json()["error"]["field"] == "request_id"
    assert client.post("/rank/shop", json=ranking("r", 0)).status_code == 409  # which tells more


def test_the_same_candidates_in_the_other_form_and_for_another_user(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address)
    one = client.post(RANK, json=rank_body(0, request_id="r", user="u"))
    two = client.post(RANK, json=base64_body(0, request_id="r", session="s"))
    assert two.content == one.content


@pytest.mark.parametrize(
    "changed",
    [
        {"features": [*SPEC.feature_names, "new"]},
        {"features": [SPEC.feature_names[0]]},
        {"groups": {"other": 1.0, "another": 1.0}},
        {"length": 1},
    ],
)
def test_the_same_answer_whatever_the_policy_is_by_now(
    serve: Serve, sqlite_address: str, changed: dict[str, Any]
) -> None:
    client = serve(sqlite_address)
    asked = [
        (RANK, rank_body(0, request_id="r1", k=3)),
        (RANK, base64_body(0, request_id="r2")),
        ("/rank/shop", ranking("r3")),
    ]
    first = [client.post(path, json=body).content for path, body in asked]
    spec = SPEC.model_copy(update=changed).model_dump(mode="json")
    assert client.put("/v1/policies/shop", params={"discard": True}, json=spec).status_code == 200
    assert [client.post(path, json=body).content for path, body in asked] == first
    for path, body in asked[: 3 if "features" in changed or "groups" in changed else 1]:
        name = "id" if path == "/rank/shop" else "request_id"
        if changed == {"features": [SPEC.feature_names[0]]} and name == "id":
            continue  # fields that are not needed are left aside
        assert client.post(path, json={**body, name: "new"}).status_code == 422, "a new request must fit"


def test_each_policy_has_its_own_ids(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address, policies={"shop": SPEC, "news": SPEC})
    one = client.post(RANK, json=rank_body(0, request_id="r"))
    two = client.post("/v1/policies/news/rank", json=rank_body(1, request_id="r"))
    assert two.status_code == 200 and "x-repeated" not in two.headers and one.content != two.content


def test_another_version_tells_the_old_answer(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address)
    one = client.post(RANK, json=rank_body(0, request_id="r"))
    changed = SPEC.model_copy(update={"tolerance": 5.0, "length": 3})
    assert client.put("/v1/policies/shop", content=changed.model_dump_json()).json()["version"] == 2
    assert client.post(RANK, json=rank_body(0, request_id="r")).content == one.content


def test_many_at_once_are_ranked_once(started: Start, address: str) -> None:
    engine = started(address)
    Changes(engine).put("shop", SPEC)
    n_threads, ids = 8, [f"r{number}" for number in range(6)]
    barrier = threading.Barrier(n_threads)

    def everything() -> list[str]:
        barrier.wait(SECONDS)
        return [ask(engine, request_id, number).id for number, request_id in enumerate(ids)]

    with ThreadPoolExecutor(n_threads) as pool:
        told = [future.result(SECONDS) for future in [pool.submit(everything) for _ in range(n_threads)]]
    assert all(each == told[0] for each in told) and len(set(told[0])) == len(ids)
    assert engine.policy("shop").runtime.totals.rounds == len(ids)


def test_an_answer_waits_for_the_first_to_be_on_disk(started: Start, address: str, monkeypatch: Any) -> None:
    engine = started(address)
    Changes(engine).put("shop", SPEC)
    commit, going, entered = engine.store.commit, threading.Event(), threading.Event()

    def slowly(writes: Any) -> None:
        if any(isinstance(write, Append) for write in writes):
            entered.set()
            assert going.wait(SECONDS)
        commit(writes)

    monkeypatch.setattr(engine.store, "commit", slowly)
    asked = candidates(0, request_id="r")
    first = engine.rank("shop", lambda runtime: asked, request_id="r")
    assert entered.wait(SECONDS) and not first.kept.done()
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(engine.rank, "shop", lambda runtime: asked, request_id="r")
        until(lambda: len(engine.writer._waiting) == 1)
        assert engine.policy("shop").lock.acquire(blocking=False), "others wait for its wait"
        engine.policy("shop").lock.release()
        going.set()
        assert second.result(SECONDS).id == first.id
    assert first.kept.done() and engine.policy("shop").runtime.totals.rounds == 1


def test_ids_that_are_no_longer_at_hand_are_found_in_the_store(started: Start, address: str, monkeypatch: Any) -> None:
    engine = started(address)
    Changes(engine).put("shop", SPEC)
    policy = engine.policy("shop")
    policy.requests = RecentRequests(most=2)
    told = [ask(engine, f"r{number}", number).id for number in range(12)]
    assert len(policy.requests) <= 4
    assert [ask(engine, f"r{number}", number).id for number in range(12)] == told
    with pytest.raises(ServiceError, match="other candidates"):
        ask(engine, "r0", 1)


def test_nobody_comes_between_the_look_and_the_ranking(started: Start, sqlite_address: str, monkeypatch: Any) -> None:
    """Another request with the same id comes while one looks in vain: it waits, and is told what the first was told."""
    engine = started(sqlite_address)
    Changes(engine).put("shop", SPEC)
    policy, named, others = engine.policy("shop"), engine.archive.named, []

    def interrupted(request_id: str) -> Any:
        found = named(request_id)
        if not others:
            others.append(pool.submit(ask, engine, "r"))
            assert pool.submit(policy.lock.acquire, blocking=False).result(SECONDS) is False, (
                "others could come between"
            )
            policy.requests.let_go(committed=policy.committed)
        return found

    monkeypatch.setattr(engine.archive, "named", interrupted)
    with ThreadPoolExecutor(2) as pool:
        first = ask(engine, "r")
        assert others[0].result(SECONDS).id == first.id and others[0].result().repeated
    assert policy.runtime.totals.rounds == 1


def test_what_is_not_yet_on_disk_stays_at_hand() -> None:
    recent = RecentRequests(most=2)
    for seq in range(1, 20):
        recent.put(f"r{seq}", seq, committed=0)
    assert len(recent) == 19
    recent.put("r20", 20, committed=18)
    assert len(recent) == 2 and recent.find("r19") == 19
    recent.let_go(committed=19)
    assert len(recent) == 1 and recent.find("r20") == 20


def test_an_expired_id_is_new_again(started: Start, address: str) -> None:
    now = [1_000_000.0]
    engine = started(address, clock=lambda: now[0])
    times = {"feedback": FeedbackSpec(window_seconds=100), "retention": RetentionSpec(rankings_seconds=100)}
    Changes(engine).put("shop", SPEC.model_copy(update=times))
    first = ask(engine, "r")
    now[0] += 100
    assert ask(engine, "r").id == first.id
    now[0] += 1
    second = ask(engine, "r", 1)
    assert second.id != first.id and not second.repeated
    assert ask(engine, "r", 1).id == second.id


def test_without_an_id_each_request_is_a_ranking(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    Changes(engine).put("shop", SPEC)
    assert rank(engine).id != rank(engine).id


def test_the_clients(live: Callable[..., Live], sqlite_address: str) -> None:
    url = live(sqlite_address).url
    asked: dict[str, Any] = {"groups": ["small", "large", "small"], "user": "u", "request_id": "r"}
    given = ("shop", ["a", "b", "c"], [[1.0, 0.2, 0.5], [0.3, 0.9, 0.1], [0.2, 0.2, 0.7]])

    async def once_more() -> tuple[RankedList, int]:
        async with AsyncClient(url, timeout_seconds=SECONDS) as client:
            return await client.rank(*given, **asked), await client.erase("u", dry_run=True)

    with Client(url, timeout_seconds=SECONDS) as client:
        first = client.rank(*given, **asked)
        assert client.rank(*given, **asked) == first
        assert asyncio.run(once_more()) == (first, 1)
        assert client.erase("u") == 1 and client.erase("u") == 0
        assert client.rank(*given, **asked).ranking_id != first.ranking_id
