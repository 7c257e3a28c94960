"""Metarank's JSON, as its documentation has it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from fairexp.service.policies.spec import Feature
from tests.service.worlds import GROUPS, SPEC, matrix, rank_body

Serve = Callable[..., httpx.Client]
NAMES = ("relevance", "freshness", "price")


def ranking(name: str = "r1", number: int = 0, n: int = 8) -> dict[str, Any]:
    """The documented request, with our policy's features as fields of the items."""
    rows = matrix(number, n).tolist()
    items = []
    for index, row in enumerate(rows):
        fields = [{"name": key, "value": value} for key, value in zip(NAMES, row, strict=True)]
        items.append({"id": f"d{index}", "fields": [*fields, {"name": "seller", "value": GROUPS[index % 2]}]})
    query = [{"name": "query", "value": "jeans"}]
    return {"id": name, "timestamp": "1599391467000", "user": "u", "session": "s", "fields": query, "items": items}


def interaction(name: str, ranking_id: str, item: str, kind: str = "click") -> dict[str, Any]:
    return {
        "event": "interaction",
        "id": name,
        "ranking": ranking_id,
        "timestamp": 1599391467000,
        "user": "u",
        "session": "s",
        "type": kind,
        "item": item,
        "fields": [{"name": "count", "value": 1}],
    }


def test_rank_and_feedback_in_metaranks_words(serve: Serve, address: str) -> None:
    client = serve(address)
    answer = client.post("/rank/shop", json=ranking()).json()
    assert set(answer) == {"took", "items"}
    assert sorted(item["item"] for item in answer["items"]) == [f"d{index}" for index in range(8)]
    shown = client.get("/v1/policies/shop/rankings").json()["rankings"][0]
    assert [item["item"] for item in answer["items"][:4]] == [item["id"] for item in shown["items"]]
    clicked = answer["items"][2]["item"]
    events = [{"event": "ranking", **ranking()}, interaction("i1", "r1", clicked)]
    told = client.post("/feedback", json=events).json()
    assert {key: told[key] for key in ("accepted", "status", "updated", "ignored")} == {
        "accepted": 2,
        "status": "ok",
        "updated": 1,
        "ignored": 0,
    }
    assert client.post("/feedback", json=interaction("i1", "r1", clicked)).json()["updated"] == 0
    told = client.get(f"/v1/policies/shop/rankings/{shown['ranking_id']}").json()
    assert [item["clicked"] for item in told["items"]] == [False, False, True, False]
    assert (told["request_id"], told["user"], told["session"]) == ("r1", "u", "s")


def test_it_ranks_as_the_native_form_does(serve: Serve, tmp_path: object) -> None:
    one, two = serve(f"{tmp_path}/one.db"), serve(f"{tmp_path}/two.db")
    for number in range(4):
        ours = one.post("/v1/policies/shop/rank", json=rank_body(number)).json()["items"]
        theirs = two.post("/rank/shop", json=ranking(f"r{number}", number)).json()["items"]
        assert [item["id"] for item in ours] == [item["item"] for item in theirs[:4]]


def test_lines_of_json_and_no_content_type(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address)
    items = client.post("/rank/shop", content=json.dumps(ranking()).encode()).json()["items"]
    events = [interaction("a", "r1", items[0]["item"]), interaction("b", "r1", items[1]["item"], "purchase")]
    answer = client.post("/feedback", content="\n".join(map(json.dumps, events)).encode())
    assert answer.json()["accepted"] == 2


def test_metadata_and_interactions_without_a_ranking_are_ignored_and_counted(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address)
    item = {"event": "item", "id": "x", "timestamp": 1, "item": "d1", "fields": [{"name": "title", "value": "a"}]}
    alone = {**interaction("i", "none", "d1"), "ranking": None}
    assert client.post("/feedback", json=[item, alone]).json()["ignored"] == 2


def test_explain_returns_the_features(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address)
    items = client.post("/rank/shop", params={"explain": True}, json=ranking()).json()["items"]
    assert {field["name"] for field in items[0]["features"]} == {*NAMES, "seller"}


def test_fields_of_the_request_and_defaults_stand_in_for_an_items_own(serve: Serve, sqlite_address: str) -> None:
    features = ["relevance", "freshness", Feature(name="price", default=0.5)]
    client = serve(sqlite_address, policies={"shop": SPEC.model_copy(update={"features": features})})
    asked = ranking()
    for item in asked["items"]:
        item["fields"] = [field for field in item["fields"] if field["name"] in ("relevance", "seller")]
    refused = client.post("/rank/shop", json=asked)
    assert refused.status_code == 422 and "'freshness'" in refused.json()["error"]["message"]
    asked["fields"] = [{"name": "freshness", "value": True}]
    assert client.post("/rank/shop", json=asked).status_code == 200


@pytest.mark.parametrize(
    ("event", "status", "field"),
    [
        (interaction("i", "unknown", "d1"), 404, "ranking"),
        (interaction("i", "r1", "nobody"), 422, "events[0].item"),
        (interaction("i", "r1", "d1", "teleport"), 422, None),
        ({"event": "ranking", **ranking("unknown")}, 404, "id"),
        ({"event": "nonsense"}, 422, "event"),
        ({"event": "interaction", "id": "i"}, 422, "type"),
        (7, 422, "event"),
    ],
)
def test_what_cannot_be_taken_is_refused_by_name(
    serve: Serve, sqlite_address: str, event: Any, status: int, field: str | None
) -> None:
    client = serve(sqlite_address)
    client.post("/rank/shop", json=ranking())
    answer = client.post("/feedback", json=event)
    assert answer.status_code == status, answer.text
    assert field is None or answer.json()["error"]["field"] == field
