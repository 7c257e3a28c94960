"""Items by id: fields with validity in time, rankings that bring ids only, groups from fields and providers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

import httpx
import pytest

from fairexp.client import Client
from fairexp.errors import ArgumentError
from fairexp.service.changes import Changes
from fairexp.service.engine.engine import Engine
from fairexp.service.policies.spec import Feature, ItemsSpec, PolicySpec
from fairexp.service.store.base import Fields
from fairexp.service.store.sql import SqlStore
from tests.service.http.metarank_examples import EVENTS, MOVIE
from tests.service.http.test_access import with_keys
from tests.service.live import Live
from tests.service.worlds import GROUPS, SPEC, matrix, rank_body
from tests.waiting import SECONDS, until

Serve = Callable[..., httpx.Client]
KEPT = SPEC.model_copy(update={"items": ItemsSpec(most=50)})
NAMES = ("relevance", "freshness", "price")
RANK = "/v1/policies/shop/rank"


def fields(number: int, n: int = 8) -> list[dict[str, Any]]:
    """The candidates of a request as items with fields."""
    rows = [dict(zip(NAMES, row, strict=True)) for row in matrix(number, n).tolist()]
    return [{"id": f"d{i}", "fields": {**row, "seller": GROUPS[i % 2]}} for i, row in enumerate(rows)]


def shown(answer: httpx.Response) -> list[tuple[str, str]]:
    assert answer.status_code == 200, answer.text
    return [(item["id"], item["group"]) for item in answer.json()["items"]]


def test_ids_alone_some_fields_and_all_of_them_rank_alike(serve: Serve, tmp_path: Any) -> None:
    clients = [serve(f"{tmp_path}/{number}.db", policies={"shop": KEPT}) for number in range(4)]
    whole, alone, some, everything = clients
    for number in range(3):
        items = fields(number)
        for client in (alone, some):
            assert client.post("/v1/policies/shop/items", json={"items": items}).json() == {"items": 8, "users": 0}
        expected = shown(whole.post(RANK, json=rank_body(number)))
        assert shown(alone.post(RANK, json={"ids": [item["id"] for item in items]})) == expected
        partly = [{"id": item["id"], "fields": {"price": item["fields"]["price"]}} for item in items[:4]]
        wrong = [{"id": item["id"], "fields": {**item["fields"]}} for item in items[4:]]
        assert shown(some.post(RANK, json={"items": [*partly, *wrong]})) == expected
        assert shown(everything.post(RANK, json={"items": items})) == expected


def test_metaranks_events_fill_it_and_its_requests_by_id_are_ranked(serve: Serve, address: str) -> None:
    features = [Feature(name="popularity", default=0.0), Feature(name="vote_avg", default=5.0)]
    policy = PolicySpec(ranker="fixed", features=features, parameters={"weights": [1.0, 1.0]}, scaling="none", items={})
    client = serve(address, policies={"films": policy})
    other = MOVIE.replace("3114", "1580").replace("112.767", "200.5").replace("b4951b85", "c4951b85")
    told = client.post("/feedback", content=f"[{MOVIE},{other},{EVENTS['user']}]".encode()).json()
    assert [each["verdict"] for each in told["results"]] == ["stored"] * 3 and told["updated"] == 3
    asked = {"id": "id1", "items": [{"id": "3114"}, {"id": 1580}, {"id": "unheard"}], "user": "user1"}
    items = client.post("/rank/films", json=asked).json()["items"]
    assert [item["item"] for item in items] == ["1580", "3114", "unheard"]
    assert [item["score"] for item in items] == pytest.approx([208.1, 120.367, 5.0], rel=1e-6)
    known = client.get("/v1/policies/films/items/3114").json()
    assert known["fields"]["genres"] == ["animation", "comedy", "family"] and known["fields"]["title"] == "Toy Story 2"
    assert client.get("/v1/policies/films/items/unheard").status_code == 404


def test_what_is_missing_is_named_and_a_text_is_no_number(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address, policies={"shop": KEPT, "plain": SPEC})
    refused = client.post(RANK, json={"ids": ["a", "b"]})
    assert refused.status_code == 422 and refused.json()["error"]["field"] == "items[0].fields"
    assert "nothing for 'relevance'" in refused.text
    item = {"id": "a", "fields": {"relevance": "high", "freshness": 1, "price": 2, "seller": "small"}}
    assert "str for 'relevance'" in client.post(RANK, json={"items": [item]}).text
    client.post("/v1/policies/shop/items", json={"items": [item]})
    assert "str for 'relevance'" in client.post(RANK, json={"ids": ["a"]}).text
    assert shown(client.post(RANK, json={"items": [{"id": "a", "fields": {"relevance": 1}}]})) == [("a", "small")]
    answer = client.post("/v1/policies/plain/rank", json={"ids": ["a"]})
    assert answer.status_code == 422 and answer.json()["error"]["field"] == "features"
    answer = client.post("/v1/policies/plain/items", json={"items": [item]})
    assert answer.status_code == 422 and "keeps no items" in answer.text


def test_groups_come_from_a_table_of_providers(serve: Serve, sqlite_address: str) -> None:
    table = {"providers": {"acme": "large", "bob": "small"}, "other_providers": "small"}
    client = serve(sqlite_address, policies={"shop": KEPT.model_copy(update=table)})
    items = fields(0, 4)
    for item, seller in zip(items, ("acme", "bob", "unheard", "large"), strict=True):
        item["fields"]["seller"] = seller
    client.post("/v1/policies/shop/items", json={"items": items})
    found = dict(shown(client.post(RANK, json={"ids": [item["id"] for item in items]})))
    assert found == {"d0": "large", "d1": "small", "d2": "small", "d3": "large"}
    body = rank_body(0, 4)
    body["candidates"][0]["group"] = "acme"
    del body["candidates"][1]["group"]  # d1 is bob's
    assert dict(shown(client.post(RANK, json=body)))["d0"] == "large"


def test_a_table_names_groups_of_the_policy_only(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address, policies={})
    spec = {"features": 2, "groups": {"small": 1, "large": 1}, "providers": {"acme": "huge"}}
    refused = client.put("/v1/policies/shop", json=spec)
    assert refused.status_code == 422 and "huge" in refused.text


def test_fields_count_from_their_time_until_their_end(started: Callable[..., Engine], address: str) -> None:
    now = [1000.0]
    engine = started(address, clock=lambda: now[0])
    Changes(engine).put("shop", KEPT)
    live = engine.policy("shop")

    def put(value: Any, since: float, until: float | None = None) -> None:
        engine.keep_fields(live, "items", [Fields("a", {"price": value}, since, until)]).result(SECONDS)

    def price() -> Any:
        return engine.catalog.find(1, "items", ["a"])["a"].get("price")

    put(1.0, 900.0)
    put(2.0, 1100.0, 1200.0)
    put(0.5, 800.0)  # late, and older than what counts
    assert price() == 1.0
    now[0] = 1100.0
    assert price() == 2.0
    now[0] = 1200.0
    assert price() is None
    put(3.0, 1200.0)
    assert price() == 3.0
    put(4.0, 1200.0)
    assert price() == 4.0
    put(None, 1200.0)
    assert price() is None


def test_items_written_longest_ago_go_and_one_is_no_larger_than_its_limit(
    started: Callable[..., Engine], address: str
) -> None:
    engine = started(address, settings={"max_item_bytes": 600})
    Changes(engine).put("shop", KEPT.model_copy(update={"items": ItemsSpec(most=5)}))
    live = engine.policy("shop")

    def put(*ids: str, **values: Any) -> None:
        engine.keep_fields(live, "items", [Fields(each, values or {"x": 1.0}, 5.0) for each in ids]).result(SECONDS)

    put("a", "b", "c", "d", "e")
    put("a")
    put("f", "g")
    store = cast(SqlStore, engine.store)
    assert sorted(engine.catalog.find(1, "items", list("abcdefg"))) == ["a", "d", "e", "f", "g"]
    assert store.database.read("SELECT COUNT(*) FROM items") == [(5,)]
    for number in range(40):
        engine.keep_fields(live, "items", [Fields("a", {f"f{number}": "y" * 50}, float(number))]).result(SECONDS)
    (size,) = store.database.read("SELECT MAX(LENGTH(fields)) FROM items")[0]
    assert 400 < size <= 600 and "f39" in engine.catalog.find(1, "items", ["a"])["a"]
    Changes(engine).delete("shop", request=discarding())
    until(lambda: store.database.read("SELECT COUNT(*) FROM items") == [(0,)])


def discarding() -> Any:
    from fairexp.service.changes import ChangeRequest

    return ChangeRequest(discard=True)


def test_what_is_kept_is_there_after_a_restart_and_a_repeated_request_is_answered_as_before(
    live: Callable[..., Live], address: str
) -> None:
    running = live(address, policies={"shop": KEPT})
    running.client.post("/v1/policies/shop/items", json={"items": fields(0)})
    asked = {"ids": [f"d{number}" for number in range(8)], "request_id": "r1"}
    first = running.client.post(RANK, json=asked)
    running.client.post("/v1/policies/shop/items", json={"items": fields(5)})
    running.stop()
    client = live(address, policies={"shop": KEPT}).client
    again = client.post(RANK, json=asked)
    assert again.content == first.content and again.headers["x-repeated"] == "true"
    assert client.post(RANK, json={**asked, "request_id": "r2"}).status_code == 200
    assert client.post(RANK, json={**asked, "fields": {"price": 1.0}}).status_code == 409
    price = client.get("/v1/policies/shop/items/d3").json()["fields"]["price"]
    assert price == pytest.approx(float(matrix(5)[3, 2]))


def test_a_users_fields_stand_in_and_go_when_the_user_is_erased(live: Callable[..., Live], sqlite_address: str) -> None:
    client = live(sqlite_address, policies={"shop": KEPT}).client
    for item in (items := fields(0)):
        del item["fields"]["price"]
    users = [{"id": "user-a", "fields": {"price": 0.25, "secret": "likes-blue"}}]
    client.post("/v1/policies/shop/items", json={"items": items, "users": users})
    asked = {"ids": [item["id"] for item in items], "user": "user-a"}
    assert client.post(RANK, json=asked).status_code == 200
    assert client.post(RANK, json={**asked, "user": "user-b"}).status_code == 422
    from tests.service.store.test_erasure import in_files

    assert in_files(sqlite_address, "likes-blue")
    client.delete("/v1/users/user-a")
    assert not in_files(sqlite_address, "likes-blue")
    assert client.post(RANK, json=asked).status_code == 422


def test_events_about_items_reach_the_policies_of_the_key_only(live: Callable[..., Live], sqlite_address: str) -> None:
    whole, limited = with_keys(
        sqlite_address, {"roles": ["admin"]}, {"roles": ["admin", "feedback"], "policies": ["shop"]}
    )
    client = live(sqlite_address, policies={"shop": KEPT, "other": KEPT, "none": SPEC}, open=False).client
    event = json.loads(MOVIE)
    client.post("/feedback", json=event, headers={"X-API-Key": limited})
    headers = {"X-API-Key": whole}
    assert client.get("/v1/policies/shop/items/3114", headers=headers).status_code == 200
    assert client.get("/v1/policies/other/items/3114", headers=headers).status_code == 404


def test_too_large_an_item_is_refused_by_name(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address, policies={"shop": KEPT})
    item = {"id": "a", "fields": {"text": "x" * 9000}}
    refused = client.post("/v1/policies/shop/items", json={"items": [item]})
    assert refused.status_code == 422 and refused.json()["error"]["field"] == "items[0].fields"
    event = {"event": "item", "item": "a", "fields": [{"name": "text", "value": "x" * 9000}]}
    assert client.post("/feedback", json=event).status_code == 422
    told = client.post("/feedback", json=[event, {**event, "fields": []}]).json()["results"]
    assert [each["verdict"] for each in told] == ["refused", "stored"]


def test_the_client_keeps_items_and_ranks_them_by_id(live: Callable[..., Live], sqlite_address: str) -> None:
    running = live(sqlite_address, policies={"shop": KEPT})
    items = {item["id"]: item["fields"] for item in fields(0)}
    with Client(running.url, timeout_seconds=SECONDS) as client:
        assert client.put_items("shop", items, users={"u": {"age": 3}}).users == 1
        assert client.item("shop", "d1").fields["seller"] == "large"
        assert len(client.rank("shop", list(items), k=3).items) == 3
        assert len(client.rank("shop", list(items), fields=list(items.values())).items) == 4
        with pytest.raises(ArgumentError, match="one for each id"):
            client.rank("shop", ["d1", "d2"], fields=[{}])


LABELLED = PolicySpec(
    features=list(NAMES),
    length=4,
    seed=7,
    constraints=[
        {"labels": {"provider": ["small", "large"]}, "tolerance": 0.6},
        {"labels": {"type": ["news", "video"]}, "tolerance": 1.0},
    ],
    label_fields={
        "provider": {"field": "seller", "providers": {"acme": "large"}, "other_providers": "small"},
        "type": "kind",
    },
    items=ItemsSpec(most=50),
)
SELLERS, KINDS = ("bob", "acme", "small"), ("news", "video")


def labelled(number: int, n: int = 8) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Items with a seller and a kind in their fields, and the same request with labels by attribute."""
    items, asked = fields(number, n), rank_body(number, n)
    for place, (item, candidate) in enumerate(zip(items, asked["candidates"], strict=True)):
        seller, kind = SELLERS[place % 3], KINDS[place // 2 % 2]
        item["fields"].update(seller=seller, kind=kind)
        candidate["group"] = {"provider": "large" if seller == "acme" else "small", "type": kind}
    return items, asked


def test_labels_by_attribute_come_from_fields_and_a_table_of_providers(serve: Serve, tmp_path: Any) -> None:
    whole, alone, some, brought = (
        serve(f"{tmp_path}/labels-{number}.db", policies={"shop": LABELLED}) for number in range(4)
    )
    for number in range(4):
        items, asked = labelled(number)
        told = {"query_id": asked["query_id"]}
        for client in (alone, some):
            assert client.post("/v1/policies/shop/items", json={"items": items}).status_code == 200
        expected = shown(whole.post(RANK, json=asked))
        assert expected[0][1] in ({"provider": p, "type": t} for p in ("small", "large") for t in KINDS)
        assert shown(alone.post(RANK, json={**told, "ids": [item["id"] for item in items]})) == expected
        own = [{"id": item["id"], "group": {"type": item["fields"]["kind"]}} for item in items]
        assert shown(some.post(RANK, json={**told, "items": own})) == expected, "one label brought, one looked up"
        assert shown(brought.post(RANK, json={**told, "items": items})) == expected
    gaps = [client.get("/v1/policies/shop/fairness").json()["constraints"] for client in (whole, alone, some, brought)]
    assert gaps[0] == gaps[1] == gaps[2] == gaps[3] and len(gaps[0]) == 2


def test_what_a_request_says_of_a_label_goes_before_what_is_stored(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address, policies={"shop": LABELLED})
    items, _ = labelled(0)
    client.post("/v1/policies/shop/items", json={"items": items})
    asked = [{"id": item["id"], "group": {"provider": "acme", "type": "video"}} for item in items]
    answer = client.post(RANK, json={"query_id": "q", "items": asked})
    assert {tuple(group.values()) for _, group in cast(Any, shown(answer))} == {("large", "video")}


def test_metaranks_items_have_labels_by_attribute_too(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address, policies={"shop": LABELLED})
    items, _ = labelled(0)
    given = [
        {"id": item["id"], "fields": [{"name": name, "value": value} for name, value in item["fields"].items()]}
        for item in items
    ]
    answer = client.post("/rank/shop", json={"id": "r1", "items": given})
    assert answer.status_code == 200, answer.text
    assert {item["item"] for item in answer.json()["items"]} == {item["id"] for item in items}


def test_a_label_that_is_nowhere_is_named(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address, policies={"shop": LABELLED})
    item = {"id": "a", "fields": {**dict.fromkeys(NAMES, 1.0), "seller": "acme"}}
    refused = client.post(RANK, json={"query_id": "q", "items": [item]})
    assert refused.status_code == 422 and refused.json()["error"]["field"] == "items[0].fields.type"
    assert "nothing" in refused.text and "news, video" in refused.text
    item["fields"]["kind"] = "radio"
    assert "'radio'" in client.post(RANK, json={"query_id": "q", "items": [item]}).text


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"colour": "colour"}, "attributes of constraints (provider, type), got 'colour'"),
        (
            {"type": {"field": "kind", "providers": {"a": "radio"}}},
            "labels of the attribute (news, video), got 'radio'",
        ),
        ({"type": {"field": "kind", "other_providers": "radio"}}, "got 'radio'"),
    ],
)
def test_label_fields_that_make_no_sense_are_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match="label_fields") as refusal:
        PolicySpec.model_validate({**LABELLED.model_dump(), "label_fields": given})
    assert told in str(refusal.value)
    with pytest.raises(ValueError, match="beside label_fields"):
        PolicySpec.model_validate({**LABELLED.model_dump(), "group_field": "seller"})
