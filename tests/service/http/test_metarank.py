"""Metarank's JSON, as its documentation has it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from fairexp.service.policies.spec import Feature, FeedbackSpec, PolicySpec
from tests.service.http.metarank_examples import EVENTS, INTERACTION, RANK, RETRIEVERS
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
    counts = {"accepted": 2, "status": "ok", "updated": 1, "ignored": 0, "refused": 0}
    assert {key: told[key] for key in counts} == counts
    assert [each["verdict"] for each in told["results"]] == ["known", "learned"]
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


@pytest.mark.parametrize("name", EVENTS)
def test_every_documented_event_goes_through_alone_and_in_a_batch(serve: Serve, sqlite_address: str, name: str) -> None:
    client = serve(sqlite_address)
    for body in (EVENTS[name], f"[{EVENTS[name]}]"):
        answer = client.post("/feedback", content=body.encode())
        assert answer.status_code == 200, answer.text
        assert (answer.json()["accepted"], answer.json()["status"]) == (1, "ok")


def test_all_documented_events_go_through_in_one_batch_and_line_by_line(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address)
    lines = "\n".join(json.dumps(json.loads(event)) for event in EVENTS.values())
    for body in (f"[{','.join(EVENTS.values())}]", lines):
        told = client.post("/feedback", content=body.encode()).json()
        assert (told["accepted"], told["refused"], len(told["results"])) == (len(EVENTS), 0, len(EVENTS))


@pytest.mark.parametrize("body", [RANK, RETRIEVERS])
def test_the_documented_ranking_requests_are_ranked(serve: Serve, sqlite_address: str, body: str) -> None:
    features = [Feature(name=name, default=0.0) for name in ("relevancy", "bm25", "cos")]
    client = serve(sqlite_address, policies={"shop": PolicySpec(ranker="pairrank", features=features, seed=1)})
    answer = client.post("/rank/shop", content=body.encode())
    assert answer.status_code == 200, answer.text
    assert sorted(item["item"] for item in answer.json()["items"]) == ["item1", "item2", "item3"]
    told = client.post("/feedback", content=INTERACTION.replace("purchase", "click").encode()).json()
    assert told["results"] == [{"id": "0f4c0036-04fb-4409-b2c6-7163a59f6b7d", "verdict": "learned"}]


def test_numbers_are_ids_too(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address)
    asked = {**ranking(), "id": 7, "user": 8}
    for number, item in enumerate(asked["items"]):
        item["id"] = number
    items = client.post("/rank/shop", json=asked).json()["items"]
    assert sorted(item["item"] for item in items) == [str(number) for number in range(8)]
    click = {**interaction("x", "7", "0"), "id": 9, "ranking": 7, "item": int(items[0]["item"])}
    assert client.post("/feedback", json=click).json()["results"] == [{"id": "9", "verdict": "learned"}]
    assert client.post("/feedback", json={**click, "id": "9", "ranking": "7"}).json()["updated"] == 0


def test_relevancy_is_a_field_of_the_item(serve: Serve, sqlite_address: str) -> None:
    policy = PolicySpec(ranker="fixed", features=["relevancy"], parameters={"weights": [1.0]}, scaling="none")
    client = serve(sqlite_address, policies={"shop": policy})
    items = [{"id": "a", "relevancy": 0.5}, {"id": "b", "relevancy": 2.5}, {"id": "c", "relevancy": 1.5}]
    told = client.post("/rank/shop", json={"id": "r", "items": items}).json()["items"]
    assert [(item["item"], item["score"]) for item in told] == [("b", 2.5), ("c", 1.5), ("a", 0.5)]


def test_labels_are_events_where_the_policy_declares_them(serve: Serve, sqlite_address: str) -> None:
    declared = SPEC.model_copy(update={"feedback": FeedbackSpec(events={"click": 1.0, "label": 1.0}, threshold=2.0)})
    client = serve(sqlite_address, policies={"shop": declared, "plain": SPEC})
    shown = [item["item"] for item in client.post("/rank/shop", json=ranking()).json()["items"][:2]]
    labels = [{"id": shown[0], "label": 1.0}, {"id": shown[1], "label": 2.0}]
    event = {"event": "ranking", "id": "r1", "items": labels}
    assert client.post("/feedback", json=event).json()["results"] == [{"id": "r1", "verdict": "learned"}]
    record = client.get("/v1/policies/shop/rankings").json()["rankings"][0]
    assert [item["clicked"] for item in record["items"][:2]] == [False, True]
    client.post("/rank/plain", json=ranking("r2"))
    told = client.post("/feedback", json={**event, "id": "r2"}).json()["results"][0]
    assert (told["verdict"], told["reason"]) == ("ignored", "undeclared_type")


def test_one_event_that_cannot_be_taken_holds_up_no_other(serve: Serve, address: str) -> None:
    client = serve(address)
    items = [item["item"] for item in client.post("/rank/shop", json=ranking()).json()["items"]]
    alone = {**interaction("i4", "none", "d1"), "ranking": None}
    events: list[Any] = [
        interaction("i0", "elsewhere", "d1"),
        interaction("i1", "r1", "nobody"),
        interaction("i2", "r1", items[7]),
        interaction("i3", "r1", items[0], "teleport"),
        alone,
        {"event": "ranking", **ranking("elsewhere")},
        {"event": "nonsense"},
        {"event": "interaction", "id": "i7"},
        7,
        interaction("i9", "r1", items[0]) | {"timestamp": "yesterday"},
        interaction("i10", "r1", items[0]),
    ]
    answer = client.post("/feedback", json=events)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert [each.get("reason", each["verdict"]) for each in told["results"]] == [
        "unknown_ranking",
        "not_shown",
        "not_shown",
        "undeclared_type",
        "no_ranking",
        "unknown_ranking",
        *["refused"] * 4,
        "learned",
    ]
    assert [each["error"]["field"] for each in told["results"][6:10]] == [
        "[6].event",
        "[7].type",
        "[8].event",
        "[9].timestamp",
    ]
    counts = {"accepted": 7, "status": "refused", "updated": 1, "ignored": 6, "refused": 4}
    assert {key: told[key] for key in counts} == counts
    page = client.get("/metrics").text
    assert 'fairexp_feedback_events_total{outcome="undeclared_type",policy="shop"} 1.0' in page
    assert 'fairexp_feedback_events_total{outcome="unknown_ranking",policy="-"} 2.0' in page


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({"event": "nonsense"}, "event"),
        ({"event": "interaction", "id": "i"}, "type"),
        ({"event": "item", "id": "i"}, "item"),
        (interaction("i", "r1", "d1") | {"timestamp": "1e300"}, "timestamp"),
        (7, "event"),
    ],
)
def test_a_single_event_that_cannot_be_read_is_refused_by_name(
    serve: Serve, sqlite_address: str, event: Any, field: str
) -> None:
    answer = serve(sqlite_address).post("/feedback", json=event)
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["field"] == field


def test_an_expired_ranking_is_a_410_alone_and_a_verdict_in_a_batch(live: Any, sqlite_address: str) -> None:
    running = live(sqlite_address)
    item = running.client.post("/rank/shop", json=ranking()).json()["items"][0]["item"]
    engine = running.service.engine
    kept = SPEC.retention.rankings_seconds
    named = engine.rankings_named
    engine.rankings_named = lambda name: [engine.ids.make(1, 2)]  # as if it expired between the two steps
    engine.archive._clock = lambda: engine.clock() + kept + 1.0
    assert named("r1") == []
    event = interaction("i", "r1", item)
    assert running.client.post("/feedback", json=event).status_code == 410
    (told,) = running.client.post("/feedback", json=[event]).json()["results"]
    assert (told["verdict"], told["error"]["code"]) == ("refused", "ranking_expired")
