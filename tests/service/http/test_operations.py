"""Metrics, logs, health, the documented settings; the client; and the command line."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fairexp.cli.entry import app
from fairexp.client import AsyncClient, Client, ClientError
from fairexp.errors import ArgumentError
from fairexp.service.http.json_log import JsonLines
from fairexp.service.settings import ServerSettings, settings_table
from tests.service.http.test_start import serving
from tests.service.live import Live
from tests.service.worlds import GROUPS, matrix, rank_body
from tests.waiting import SECONDS, until

Start = Callable[..., Live]
IDS = [f"d{index}" for index in range(8)]
BY_ID = [GROUPS[index % 2] for index in range(8)]


def test_metrics_tell_the_state_without_ids(live: Start, sqlite_address: str) -> None:
    running = live(sqlite_address)
    ranked = running.client.post("/v1/policies/shop/rank", json=rank_body()).json()
    events = [{"id": "e", "position": 1}, {"id": "e", "position": 1}]
    running.client.post("/v1/feedback", json={"ranking_id": ranked["ranking_id"], "events": events})
    text = running.client.get("/metrics").text
    gap = running.client.get("/v1/policies/shop/fairness").json()["pairs"][0]["unfairness"]
    assert f'fairexp_unfairness{{constraint="groups",pair="small/large",policy="shop"}} {gap}' in text
    for line in (
        'fairexp_rank_seconds_count{policy="shop"} 1.0',
        'fairexp_feedback_events_total{outcome="learned",policy="shop"} 1.0',
        'fairexp_feedback_events_total{outcome="duplicate",policy="shop"} 1.0',
        'fairexp_added_regret_total{policy="shop"} 0.0',
        'fairexp_qualified_share{policy="shop"} 1.0',
        'fairexp_rankings_total{policy="shop"} 1.0',
        "fairexp_ready 1.0",
    ):
        assert line in text
    assert ranked["ranking_id"] not in text
    labels = set(re.findall(r'[{,](\w+)="', text))
    assert labels == {"policy", "constraint", "pair", "group", "outcome", "reason", "route", "status", "le"}


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/", "/metrics", "/v1/policies/shop/fairness", "/v1/nothing"])
def test_head_is_answered_as_get_is_without_a_body(live: Start, sqlite_address: str, path: str) -> None:
    running = live(sqlite_address)
    told, head = running.client.get(path), running.client.head(path)
    assert head.status_code == told.status_code and head.content == b""
    own = {"x-request-id", "date"} | ({"content-length"} if path == "/metrics" else set())
    wanted = {name: value for name, value in told.headers.items() if name not in own}
    assert {name: head.headers.get(name) for name in wanted} == wanted
    assert running.client.get("/healthz").json() == {"status": "ok"}, "the connection is whole"


def test_head_changes_nothing(live: Start, sqlite_address: str) -> None:
    client = live(sqlite_address).client
    assert client.request("HEAD", "/v1/policies/shop/rank", json=rank_body()).status_code == 405
    assert client.get("/v1/policies/shop").json()["rounds"] == 0


def test_every_request_is_a_line_of_json_with_its_id(live: Start, sqlite_address: str) -> None:
    running = live(sqlite_address)
    written = io.StringIO()
    handler, logger = logging.StreamHandler(written), logging.getLogger("fairexp.service")
    handler.setFormatter(JsonLines())
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        running.client.get("/v1/policies", headers={"X-Request-ID": "my-id"})
        until(written.getvalue)  # it is written when the answer has gone out
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    (line,) = [json.loads(text) for text in written.getvalue().splitlines()]
    told = {key: line[key] for key in ("message", "route", "status", "method", "level", "request_id")}
    assert list(told.values()) == ["request", "/v1/policies", 200, "GET", "info", "my-id"]


def test_the_client(live: Start, sqlite_address: str) -> None:
    running = live(sqlite_address)
    with Client(running.url, timeout_seconds=SECONDS) as client:
        assert client.ready()
        ranking = client.rank("shop", IDS, matrix(0), groups=BY_ID, query_id="q", k=3, explain=True)
        assert [item.position for item in ranking.items] == [1, 2, 3]
        assert ranking.explanation is not None and ranking.explanation.summary
        assert client.feedback(ranking.ranking_id, [{"position": 1}]).status == "learned"
        batch = [{"ranking_id": ranking.ranking_id, "events": [{"position": 1}]}]
        assert client.feedback_batch(batch)[0].status == "duplicate"
        assert client.ranking("shop", ranking.ranking_id).query_id == "q"
        assert client.policy("shop").rounds == client.fairness("shop", points=5).rounds == 1
        assert client.put_policy("other", {"ranker": "pdgd", "features": 3}).version == 1
        assert [each.policy for each in client.policies()] == ["other", "shop"]
        with pytest.raises(ClientError, match=r"groups\[0\]") as caught:
            client.rank("shop", IDS, matrix(0), groups=["huge"] * 8)
        assert (caught.value.status, caught.value.code, caught.value.field) == (422, "invalid", "groups[0]")
        with pytest.raises(ArgumentError, match="8 rows"):
            client.rank("shop", IDS, matrix(0)[:4])
    with Client("http://127.0.0.1:9", timeout_seconds=1.0) as nobody:
        assert not nobody.ready()
        with pytest.raises(ClientError, match="does not answer"):
            nobody.policies()


def test_the_async_client_does_the_same(live: Start, sqlite_address: str) -> None:
    running = live(sqlite_address)

    async def use() -> None:
        async with AsyncClient(running.url, timeout_seconds=SECONDS) as client:
            assert await client.ready()
            asked = [client.rank("shop", IDS, matrix(number), groups=BY_ID) for number in range(20)]
            rankings = await asyncio.gather(*asked)
            assert len({ranking.ranking_id for ranking in rankings}) == 20
            assert (await client.feedback(rankings[0].ranking_id, [{"position": 1}])).status == "learned"
            batch = [{"ranking_id": each.ranking_id, "events": [{"position": 2}]} for each in rankings]
            assert len(await client.feedback_batch(batch)) == 20
            assert (await client.fairness("shop")).rounds == (await client.policy("shop")).rounds == 20
            assert (await client.ranking("shop", rankings[0].ranking_id)).items
            assert (await client.put_policy("other", {"ranker": "pdgd", "features": 3})).changed
            assert len(await client.policies()) == 2

    asyncio.run(use())


def test_settings_are_checked() -> None:
    assert ServerSettings().changed({"max_candidates": 5, "retry_seconds": 1}).max_candidates == 5
    for bad, told in (
        ({"nonsense": 1}, "setting: expected one of max_body_bytes, .*, got 'nonsense'"),
        ({"max_candidates": 0}, "setting max_candidates: expected greater than or equal to 1, got 0"),
        ({"max_candidates": 1.5}, "setting max_candidates: expected a valid integer, got 1.5"),
        ({"max_candidates": True}, "setting max_candidates: expected a valid integer, got True"),
        ({"retry_seconds": "soon"}, "setting retry_seconds: expected a valid number, got 'soon'"),
        ({"retry_seconds": float("nan")}, "setting retry_seconds"),
    ):
        with pytest.raises(ArgumentError, match=told):
            ServerSettings().changed(bad)
    assert ServerSettings().changed({"requests_per_second": 0}).requests_per_second == 0
    assert all(meaning for _, _, meaning in settings_table())


def run(*arguments: str, exit_code: int = 0) -> Result:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == exit_code, result.output
    return result


def test_keys_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    token = run("keys", "add", "page", "--role", "rank", "--role", "read").stdout.strip()
    assert re.fullmatch(r"fx_[0-9a-f]{12}_[0-9a-f]{48}", token)
    listed = run("keys", "list").stdout
    assert "page" in listed and "rank, read" in listed and token not in listed
    limited = run("keys", "add", "part", "--role", "rank", "--policy", "shop", "--policy", "b")
    assert "rank, for b, shop only" in limited.stderr and "No policy is called b, shop yet" in limited.stderr
    limits = {line.split()[1]: line for line in run("keys", "list").stdout.splitlines()}
    assert "b, shop" in limits["part"] and "all" in limits["page"]
    run("keys", "add", "x", "--role", "rank", "--policy", "A,b", exit_code=2)
    run("keys", "add", "x", "--role", "king", exit_code=2)
    run("keys", "revoke", token.split("_")[1])
    run("keys", "revoke", token.split("_")[1], exit_code=2)


def test_serve_from_the_command_line_and_stop_it(tmp_path: Path) -> None:
    with serving(tmp_path, "--set", "snapshot_every=5") as server:
        server.wait_ready()
        key = (tmp_path / "fairexp.db.admin-key").read_text().strip()
        with Client(server.url, key=key, timeout_seconds=SECONDS) as client:
            assert client.rank("shop", IDS, matrix(0), groups=BY_ID).items
        rest = server.end()
    assert all(json.loads(line)["message"] for line in rest.strip().splitlines())
    assert (tmp_path / "fairexp.db").exists()
