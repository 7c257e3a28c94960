"""User Behavior Insights 1.3: its queries and events, each with its verdict."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.service.http.ubi_examples import EVENT, PAGE_EXIT, QUERY, SPOT
from tests.service.worlds import rank_body

Serve = Callable[..., httpx.Client]
NAME = QUERY["query_id"]


def event(action: str, position: dict[str, Any], **about: Any) -> dict[str, Any]:
    return {**EVENT, "action_name": action, "event_attributes": {"position": position, "object": about}}


def reasons(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [each.get("reason", each["verdict"]) for each in answer.json()["results"]]


@pytest.mark.parametrize("given", [QUERY, EVENT, PAGE_EXIT, SPOT])
def test_every_example_goes_through_before_anything_was_ranked(serve: Serve, sqlite_address: str, given: Any) -> None:
    client = serve(sqlite_address)
    assert reasons(client.post("/v1/ubi", json=given)) == ["no_ranking" if given is SPOT else "unknown_ranking"]


def test_events_teach_the_ranking_that_their_query_was(serve: Serve, address: str) -> None:
    client = serve(address)
    ranked = client.post("/v1/policies/shop/rank", json=rank_body(0, request_id=NAME)).json()
    first, second = ranked["items"][0]["id"], ranked["items"][1]["id"]
    events = [
        QUERY,
        event("click", {"ordinal": 2}, object_id=first),  # the object counts, not the place
        event("click", {"ordinal": 2}),
        event("click", {"xy": {"x": 1, "y": 2}}, object_id=second),
        event("view", {"ordinal": 3}),
        event("click", {"ordinal": 9}),
        event("click", {}),
        event("add_to_cart", {"ordinal": 1}),
        PAGE_EXIT,
        {"action_name": "click"},
        {"timestamp": "2018-11-13T20:20:39Z"},
        {**EVENT, "timestamp": "then"},
        7,
    ]
    answer = client.post("/v1/ubi", content="\n".join(map(json.dumps, events)).encode())
    assert reasons(answer) == [
        "known",
        "learned",
        "learned",
        "duplicate",
        "noted",
        "not_shown",
        "no_item",
        "undeclared_type",
        "undeclared_type",
        *["refused"] * 4,
    ]
    told = client.get(f"/v1/policies/shop/rankings/{ranked['ranking_id']}").json()
    assert [item["clicked"] for item in told["items"]] == [True, True, False, False]


def test_a_single_one_that_cannot_be_read_is_a_422(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address)
    for given, field in (
        ({}, "action_name"),
        ({"action_name": "click"}, "timestamp"),
        ({"user_query": 7}, "user_query"),
    ):
        answer = client.post("/v1/ubi", json=given)
        assert answer.status_code == 422 and answer.json()["error"]["field"] == field, answer.text
