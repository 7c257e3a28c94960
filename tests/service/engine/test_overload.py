"""Overload: so much may wait, the rest is refused at once, and nobody else notices."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from tests.service.live import Live, Standstill
from tests.service.worlds import SPEC, rank_body
from tests.waiting import SECONDS, until

Start = Callable[..., Live]
MOST = 5


def metric(client: httpx.Client, line: str) -> float:
    found = [each for each in client.get("/metrics").text.splitlines() if each.startswith(line + " ")]
    assert len(found) == 1, line
    return float(found[0].split()[-1])


async def send(url: str, paths: list[tuple[str, dict[str, Any]]], crowd: Callable[[], None]) -> list[httpx.Response]:
    """All requests at once; `crowd` is called while they wait, in a thread, and must let them go on."""
    limits = httpx.Limits(max_connections=100)
    async with httpx.AsyncClient(base_url=url, timeout=SECONDS, limits=limits) as client:
        waiting = [asyncio.create_task(client.post(path, json=body)) for path, body in paths]
        await asyncio.to_thread(crowd)
        return await asyncio.gather(*waiting)


def post(path: str, body: dict[str, Any]) -> bytes:
    """The request as it goes over the line."""
    content = json.dumps(body).encode()
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/policies/shop/rank", rank_body(9)),
        ("/v1/policies/shop/rank", {"this": "is not even read"}),
        ("/rank/shop", {"event": "ranking", "id": "m", "items": []}),
    ],
)
def test_a_stopped_ranker_is_asked_only_so_often(live: Start, sqlite_address: str, path: str, body: Any) -> None:
    running = live(sqlite_address, policies={"shop": SPEC, "other": SPEC}, settings={"max_waiting_rankings": MOST})
    rankings, client = running.service.engine.policy("shop").queue.rankings, running.client

    def crowd() -> None:
        until(lambda: rankings.taken == MOST)
        for _ in range(3):
            refused = client.post(path, json=body)  # is answered although the ranker stands still
            assert refused.status_code == 503 and refused.headers["Retry-After"] == "1"
            error = refused.json()["error"]
            assert error["code"] == "overloaded" and error["request_id"] == refused.headers["X-Request-ID"]
            assert "5 rankings of 'shop' wait already" in error["message"]
            assert "max_waiting_rankings" in error["message"]
        assert client.post("/v1/policies/other/rank", json=rank_body()).status_code == 200
        assert client.get("/readyz").status_code == 200
        assert metric(client, 'fairexp_rankings_waiting{policy="shop"}') == MOST
        assert metric(client, 'fairexp_rankings_refused_total{policy="shop"}') == 3
        assert metric(client, 'fairexp_rankings_refused_total{policy="other"}') == 0
        hold.go_on()

    hold = Standstill(running.service.engine.policy("shop").runtime.ranker, "rank")
    paths = [("/v1/policies/shop/rank", rank_body(number)) for number in range(MOST)]
    with hold:
        answers = asyncio.run(send(running.url, paths, crowd))
    assert [answer.status_code for answer in answers] == [200] * MOST
    until(lambda: rankings.taken == 0)
    assert client.post("/v1/policies/shop/rank", json=rank_body()).status_code == 200
    assert running.service.engine.policy("shop").runtime.totals.rounds == MOST + 1


def test_rankings_on_their_way_to_disk_count_too(live: Start, sqlite_address: str) -> None:
    """A disk that stands still must not let rankings pile up before it."""
    running = live(sqlite_address, settings={"max_waiting_rankings": MOST})

    def crowd() -> None:
        engine = running.service.engine
        until(lambda: engine.policy("shop").runtime.totals.rounds == MOST)
        assert running.client.post("/v1/policies/shop/rank", json=rank_body()).status_code == 503
        hold.go_on()

    hold = Standstill(running.service.engine.store, "commit")
    paths = [("/v1/policies/shop/rank", rank_body(number)) for number in range(MOST)]
    with hold:
        answers = asyncio.run(send(running.url, paths, crowd))
    assert [answer.status_code for answer in answers] == [200] * MOST


def test_feedback_has_a_limit_of_its_own(live: Start, sqlite_address: str) -> None:
    running = live(sqlite_address, settings={"max_waiting_feedback": MOST})
    client, feedback = running.client, running.service.feedback
    ids = [client.post("/v1/policies/shop/rank", json=rank_body(n)).json()["ranking_id"] for n in range(MOST + 1)]
    given = [{"ranking_id": each, "events": [{"position": 1}]} for each in ids]

    def crowd() -> None:
        until(lambda: feedback.taken == MOST)
        refused = client.post("/v1/feedback", json=given[MOST])
        assert refused.status_code == 503 and refused.json()["error"]["code"] == "overloaded"
        assert refused.headers["Retry-After"] == "1"
        assert "max_waiting_feedback" in refused.json()["error"]["message"]
        assert client.post("/feedback", json=[]).status_code == 503
        assert metric(client, "fairexp_feedback_refused_total") == 2
        assert metric(client, "fairexp_feedback_waiting") == MOST
        hold.go_on()

    hold = Standstill(running.service.engine.policy("shop").runtime.ranker, "update")
    with hold:
        answers = asyncio.run(send(running.url, [("/v1/feedback", each) for each in given[:MOST]], crowd))
    assert [answer.status_code for answer in answers] == [200] * MOST
    assert feedback.taken == 0
    assert client.post("/v1/feedback", json={"batch": given}).status_code == 200, "a batch is one request"
    assert client.post("/v1/feedback", json={"ranking_id": "none", "events": []}).status_code == 404
    assert feedback.taken == 0, "what is refused for another reason leaves no trace"


def test_callers_that_go_away_leave_no_place_taken(live: Start, sqlite_address: str) -> None:
    running = live(sqlite_address, settings={"max_waiting_rankings": MOST})
    policy = running.service.engine.policy("shop")
    with Standstill(policy.runtime.ranker, "rank") as hold:
        with ExitStack() as callers:
            for number in range(MOST):
                line = callers.enter_context(socket.create_connection(("127.0.0.1", running.port), timeout=SECONDS))
                line.sendall(post("/v1/policies/shop/rank", rank_body(number)))
            until(lambda: policy.queue.rankings.taken == MOST)
        assert hold.entered.wait(SECONDS)
        until(lambda: len(running.service.connections) == 1, "the server did not notice that they are gone")
    until(lambda: policy.queue.rankings.taken == 0)
    assert running.client.post("/v1/policies/shop/rank", json=rank_body()).status_code == 200
