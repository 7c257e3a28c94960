"""Whatever is accepted as an id of a user or an item can be read, listed and erased again, and names nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fairexp.client import Client
from fairexp.service.http.service import Service
from fairexp.service.policies.spec import ItemsSpec
from fairexp.service.store import open_store
from tests.service.live import Live
from tests.service.worlds import SPEC, rank_body
from tests.waiting import SECONDS

NASTY = (
    *(
        "a/b",
        "/",
        "//",
        ".",
        "..",
        "a/../b",
        "../..",
        "%",
        "%2F",
        "a%0Ab",
        "a\n",
        "\n",
        "a\nb",
        "a\r\nb",
        "\t",
        " ",
        "+",
    ),
    *(
        "\x00",
        "a\x00b",
        "?",
        "a?b=c",
        "#",
        "&user=b",
        "a=b",
        ";",
        "\\",
        '"',
        "'",
        "é",
        "日本",
        "\u202e",
        "\ufeff",
        "😀",
    ),
    *("x" * 256, "😀" * 256, "/" * 256, "%" * 256, "\n" * 256),
)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=256)
KEEPING = SPEC.model_copy(update={"items": ItemsSpec()})


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    store = open_store(str(tmp_path_factory.mktemp("ids") / "store.db"))
    live = Live(Service(store, policies={"shop": KEEPING}, open=True))
    live.wait_ready()
    yield live
    live.stop()


def nasty(check: Callable[[Live, str], None]) -> Callable[[Live], None]:
    """The check with ids that have broken something somewhere, and with any others."""

    def run(running: Live, name: str) -> None:
        check(running, name)

    for name in NASTY:
        run = example(name=name)(run)
    run = given(name=TEXTS)(run)
    found: Callable[[Live], None] = settings(
        max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )(run)
    return found


def _a_user(running: Live, name: str) -> None:
    url, others = "/v1/policies/shop", name + "x" if len(name) < 256 else name[:-1]
    ids = {who: running.client.post(f"{url}/rank", json=rank_body(user=who, session=name)) for who in (name, others)}
    assert all(answer.status_code == 200 for answer in ids.values())
    given_fields = {"users": [{"id": who, "fields": {"age": 3.0}} for who in (name, others)]}
    assert running.client.post(f"{url}/items", json=given_fields).json()["users"] == 2
    record = running.client.get(f"{url}/rankings/{ids[name].json()['ranking_id']}").json()
    assert (record["user"], record["session"]) == (name, name) and record["explanation"]["summary"]
    with Client(running.url, timeout_seconds=SECONDS) as client:
        known = client.user(name)
        assert (known.user, known.rankings, known.fields) == (name, 1, {"shop": {"age": 3.0}})
        assert client.erase(name, dry_run=True) == 1 == client.erase(name)
        assert client.erase(name) == 0 and client.user(name).fields == {}
        assert client.user(others).rankings == 1, "somebody else was erased"
        client.erase(others)


def _an_item(running: Live, name: str) -> None:
    other = name + "x" if len(name) < 256 else name[:-1]
    with Client(running.url, timeout_seconds=SECONDS) as client:
        assert client.put_items("shop", {name: {"price": 1.0}, other: {"price": 2.0}}).items == 2
        known = client.item("shop", name)
        assert (known.id, known.fields) == (name, {"price": 1.0})
        body: dict[str, Any] = rank_body()
        body["candidates"][0]["id"] = name
        ranked = running.client.post("/v1/policies/shop/rank", json={**body, "pinned": {name: 1}}).json()
        event = {"id": name, "type": "click", "item": name}
        assert client.feedback(ranked["ranking_id"], [event]).accepted == 1
        assert client.ranking("shop", ranked["ranking_id"]).feedback[0]["clicked"] == [name]
        assert client.forget_item("shop", name) and not client.forget_item("shop", name)
        assert client.item("shop", other).fields == {"price": 2.0}, "another item was forgotten"
        assert running.client.get("/v1/policies/shop/items", params={"item": name}).status_code == 404


def _a_query(running: Live, name: str) -> None:
    told = running.client.post("/v1/policies/shop/rank", json={**rank_body(), "query_id": name}).json()
    found = running.client.get("/v1/policies/shop/rankings", params={"query_id": name}).json()["rankings"]
    assert [each["query_id"] for each in found] == [name] * len(found) and found[0]["ranking_id"] == told["ranking_id"]


test_a_user_of_any_id_can_be_read_and_erased = nasty(_a_user)
test_an_item_of_any_id_can_be_read_clicked_and_forgotten = nasty(_an_item)
test_rankings_of_a_query_of_any_id_are_found = nasty(_a_query)


def test_a_line_feed_in_a_path_belongs_to_the_id(live: Callable[..., Live], address: str) -> None:
    """`a` followed by a line feed is somebody else than `a`."""
    client = live(address, policies={"shop": KEEPING}).client
    for user in ("a", "a\n", "b\nc"):
        assert client.post("/v1/policies/shop/rank", json=rank_body(user=user)).status_code == 200
    names = {"items": [{"id": name, "fields": {"price": price}} for price, name in enumerate(("a", "a\n"))]}
    client.post("/v1/policies/shop/items", json=names)
    assert client.get("/v1/policies/shop/items/a%0A").json()["fields"] == {"price": 1.0}
    assert client.delete("/v1/users/b%0Ac").json() == {"rankings": 1, "erased": True}
    assert client.delete("/v1/users/a%0A").json() == {"rankings": 1, "erased": True}
    assert [client.get("/v1/users", params={"user": name}).json()["rankings"] for name in ("a", "a\n")] == [1, 0]


@pytest.mark.parametrize("path", ["/v1/users", "/v1/policies/shop/items"])
def test_an_id_that_is_missing_or_too_long_is_told(running: Live, path: str) -> None:
    name = "user" if path.endswith("users") else "item"
    for params, field in (({}, name), ({name: ""}, name), ({name: "x" * 257}, name)):
        error = running.client.delete(path, params=params)
        assert error.status_code == 422 and error.json()["error"]["field"] == field
