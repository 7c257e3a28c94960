"""Keys and roles: every route has a decision, and it is enforced."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from fastapi import Request
from fastapi.routing import APIRoute

from fairexp.errors import ArgumentError
from fairexp.service.http.app import create_app
from fairexp.service.http.keys import (
    MOST_ADDRESSES,
    PUBLIC,
    ROLES,
    Access,
    StrangerError,
    make_key,
    revoke_key,
)
from fairexp.service.http.permission import ALL, EACH, allow, who
from fairexp.service.http.service import Service
from fairexp.service.problems import ServiceError
from fairexp.service.store import Key, open_store
from tests.service.http.test_metarank import interaction, ranking
from tests.service.http.ubi_examples import EVENT
from tests.service.live import Live
from tests.service.worlds import SPEC, rank_body
from tests.waiting import until

Start = Callable[..., Live]
DECISIONS = {
    ("POST", "/v1/policies/{policy}/rank"): ("rank", "policy"),
    ("POST", "/v1/feedback"): ("feedback", EACH),
    ("POST", "/v1/policies/{policy}/items"): ("feedback", "policy"),
    ("GET", "/v1/policies/{policy}/items/{item}"): ("read", "policy"),
    ("GET", "/v1/policies/{policy}/items"): ("read", "policy"),
    ("DELETE", "/v1/policies/{policy}/items"): ("feedback", "policy"),
    ("GET", "/v1/policies"): ("read", EACH),
    ("PUT", "/v1/policies/{policy}"): ("admin", "policy"),
    ("DELETE", "/v1/policies/{policy}"): ("admin", "policy"),
    ("POST", "/v1/policies/{policy}/rollback"): ("admin", "policy"),
    ("POST", "/v1/policies/{policy}/reset"): ("admin", "policy"),
    ("GET", "/v1/policies/{policy}/export"): ("admin", "policy"),
    ("GET", "/v1/actions"): ("admin", ALL),
    ("GET", "/v1/users"): ("admin", ALL),
    ("DELETE", "/v1/users"): ("admin", ALL),
    ("DELETE", "/v1/users/{user}"): ("admin", ALL),
    ("GET", "/v1/policies/{policy}"): ("read", "policy"),
    ("GET", "/v1/policies/{policy}/fairness"): ("read", "policy"),
    ("GET", "/v1/policies/{policy}/rankings"): ("read", "policy"),
    ("GET", "/v1/policies/{policy}/rankings/{ranking_id}"): ("read", "policy"),
    ("POST", "/rank/{model}"): ("rank", "model"),
    ("POST", "/feedback"): ("feedback", EACH),
    ("POST", "/v1/ubi"): ("feedback", EACH),
    ("GET", "/healthz"): (PUBLIC, ""),
    ("GET", "/readyz"): (PUBLIC, ""),
    ("GET", "/metrics"): ("read", ALL),
    ("GET", "/openapi.json"): (PUBLIC, ""),
    ("GET", "/"): (PUBLIC, ""),
    ("GET", "/static/{name}"): (PUBLIC, ""),
    ("GET", "/v1/policies/{policy}/charts"): ("read", "policy"),
}


def decisions(address: str) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """What the application decided about each of its routes: the role, and about which policies."""
    app = create_app(Service(open_store(address)))
    found = {}
    for route in app.routes:
        assert isinstance(route, APIRoute), f"{route} is not a route that we decided on"
        made = [getattr(each.dependency, "decision", None) for each in route.dependencies]
        for method in route.methods:
            found[method, route.path_format] = [each for each in made if each is not None]
    return found


def test_every_route_has_exactly_the_decision_that_is_written_here(sqlite_address: str) -> None:
    assert decisions(sqlite_address) == {route: [decision] for route, decision in DECISIONS.items()}


def test_every_route_about_one_policy_names_the_parameter_that_holds_it() -> None:
    for (method, path), (role, about) in DECISIONS.items():
        named = [name for name in ("policy", "model") if f"{{{name}}}" in path]
        assert named == ([] if about in ("", EACH, ALL) else [about]), f"{method} {path}"
        assert (role == PUBLIC) == (about == "")


@pytest.mark.parametrize(("role", "about"), [("read", ""), (PUBLIC, "policy"), (PUBLIC, ALL)])
def test_a_route_without_a_decision_about_policies_cannot_be_made(role: str, about: str) -> None:
    with pytest.raises(ValueError, match="a decision about policies"):
        allow(role, about)


def with_keys(address: str, *keys: dict[str, object]) -> list[str]:
    """Tokens of new keys in a store."""
    store = open_store(address)
    store.open(serving=False)
    tokens = [make_key(store, **{"name": "key", **key})[1] for key in keys]
    store.close()
    return tokens


def test_without_a_key_only_public_routes_answer_and_each_role_opens_its_own(live: Start, address: str) -> None:
    tokens = dict(zip(ROLES, with_keys(address, *({"roles": [role]} for role in ROLES)), strict=True))
    running = live(address, policies={}, open=False, settings={"unauthenticated_per_second": 0})
    for (method, path), (decided, _) in DECISIONS.items():
        url = path.format(
            policy="shop", ranking_id="1-1-0123456789abcdef", model="shop", name="page.js", user="u", item="d0"
        )
        for role, token in [(None, None), (None, "fx_000000000000_" + "0" * 48), *tokens.items()]:
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            status = running.client.request(method, url, headers=headers, content=b"{}").status_code
            if decided == PUBLIC or role in (decided, "admin"):
                assert status not in (401, 403), f"{method} {path} with {role}: {status}"
            else:
                assert status == (401 if role is None else 403), f"{method} {path} with {role}: {status}"


def ranked_twice(running: Live, token: str) -> dict[str, str]:
    """The ids of a ranking of each policy; `shop` and `other` both have one that its caller calls r1."""
    headers = {"X-API-Key": token}
    for policy in ("shop", "other"):
        assert running.client.post(f"/rank/{policy}", json=ranking("r1"), headers=headers).status_code == 200
    running.client.post("/rank/other", json=ranking("r2"), headers=headers)
    latest = [running.client.get(f"/v1/policies/{name}/rankings", headers=headers).json() for name in ("shop", "other")]
    return {"shop": latest[0]["rankings"][0]["ranking_id"], "other": latest[1]["rankings"][0]["ranking_id"]}


def test_a_key_for_one_policy_opens_no_other_on_any_route(live: Start, address: str) -> None:
    whole, limited = with_keys(address, {"roles": ["admin"]}, {"roles": ["admin"], "policies": ["shop"]})
    running = live(address, policies={"shop": SPEC, "other": SPEC}, open=False)
    ids, headers = ranked_twice(running, whole), {"X-API-Key": limited}
    for (method, path), (role, about) in DECISIONS.items():
        statuses = {}
        for name in ("shop", "other", "none"):
            url = path.format(
                policy=name, model=name, ranking_id=ids.get(name, ids["other"]), name="page.js", user="u", item="d0"
            )
            body = {"ranking_id": ids["other"], "events": [{"position": 1}]}
            body = body if path == "/v1/feedback" else interaction("i", "r2", "d0")
            body = body if path != "/v1/ubi" else {**EVENT, "query_id": "r2"}
            answer = running.client.request(method, url, headers=headers, json=body)
            statuses[name] = answer.status_code
            if statuses[name] == 403:
                assert answer.json()["error"]["code"] == "not_allowed"
            if role != PUBLIC:
                assert '"other"' not in answer.text, f"{method} {path} tells of another policy"
        if about in ("policy", "model"):
            assert statuses["shop"] != 403 and statuses["other"] == statuses["none"] == 403, f"{method} {path}"
        elif about == ALL:
            assert set(statuses.values()) == {403}, f"{method} {path}"
        elif role == "feedback":
            assert set(statuses.values()) == {403 if path == "/v1/feedback" else 200}, f"{method} {path}"
    whole_headers = {"X-API-Key": whole}
    assert running.client.get("/v1/policies/other", headers=whole_headers).json()["events"] == 0
    listed = running.client.get("/v1/policies", headers=headers).json()["policies"]
    assert [each["policy"] for each in listed] == ["shop"]
    assert running.client.get("/metrics", headers=whole_headers).status_code == 200


def test_feedback_with_a_key_for_one_policy_reaches_that_one_only(live: Start, address: str) -> None:
    whole, limited = with_keys(address, {"roles": ["admin"]}, {"roles": ["feedback"], "policies": ["shop"]})
    running = live(address, policies={"shop": SPEC, "other": SPEC}, open=False)
    ids, headers = ranked_twice(running, whole), {"X-API-Key": limited}
    batch = [{"ranking_id": ids[name], "events": [{"position": 1}]} for name in ("other", "shop")]
    refused, learned = running.client.post("/v1/feedback", json={"batch": batch}, headers=headers).json()["results"]
    assert (refused["status"], refused["error"]["code"], learned["status"]) == ("refused", "not_allowed", "learned")
    shown = running.client.get(f"/v1/policies/shop/rankings/{ids['shop']}", headers={"X-API-Key": whole}).json()
    event = interaction("i1", "r1", shown["items"][1]["id"])  # both policies have a ranking of that name
    assert running.client.post("/feedback", json=event, headers=headers).json()["updated"] == 1
    events = {
        name: running.client.get(f"/v1/policies/{name}", headers={"X-API-Key": whole}).json()["events"] for name in ids
    }
    assert events == {"shop": 2, "other": 0}


def test_an_unknown_policy_does_not_tell_which_others_there_are(live: Start, sqlite_address: str) -> None:
    (token,) = with_keys(sqlite_address, {"roles": ["read"], "policies": ["planned"]})
    answer = live(sqlite_address, open=False).client.get("/v1/policies/planned", headers={"X-API-Key": token})
    assert answer.status_code == 404 and "shop" not in answer.text


def test_nothing_is_stored_on_the_way_but_the_page(live: Start, sqlite_address: str) -> None:
    """Whatever the answer is: most of them name users, or what was shown to them."""
    client = live(sqlite_address, settings={"max_body_bytes": 5000}).client
    shown = client.post("/v1/policies/shop/rank?explain=true", json=rank_body(user="u")).json()["ranking_id"]
    stored = {}
    for method, path in DECISIONS:
        url = path.format(policy="shop", model="shop", ranking_id=shown, user="u", item="d0", name="page.js")
        if method != "DELETE":
            stored[path] = client.request(method, url, content=b"{}").headers["Cache-Control"]
    told = client.get(f"/v1/policies/shop/rankings/{shown}")
    assert told.json()["user"] == "u" and told.headers["Cache-Control"] == "no-store"
    erased = client.delete("/v1/users/u")
    assert erased.status_code == 200 and erased.headers["Cache-Control"] == "no-store"
    assert client.get("/v1/nothing").headers["Cache-Control"] == "no-store"
    assert client.post("/v1/policies/shop/rank", content=b" " * 6000).headers["Cache-Control"] == "no-store"
    pages = {path for path, value in stored.items() if value != "no-store"}
    assert pages == {"/", "/static/{name}"}


def test_routes_know_who_asks(live: Start, sqlite_address: str) -> None:
    (token,) = with_keys(sqlite_address, {"name": "dashboard", "roles": ["read"]})

    async def asked(request: Request) -> str:
        return who(request)

    for running, headers, expected in (
        (live(sqlite_address, open=False), {"X-API-Key": token}, f"key {token[3:15]} (dashboard)"),
        (live(sqlite_address + "2", open=True), {}, "open"),
    ):
        running.app.get("/asked", dependencies=[allow("read", EACH)])(asked)
        assert running.client.get("/asked", headers=headers).json() == expected


def test_a_revoked_key_is_refused_while_the_server_runs(live: Start, sqlite_address: str) -> None:
    store = open_store(sqlite_address)
    store.open(serving=False)
    key, token = make_key(store, name="page", roles=["read"])
    make_key(store, name="other", roles=["admin"])
    running = live(sqlite_address, policies={}, open=False, settings={"keys_refresh_seconds": 0.05})
    headers = {"X-API-Key": token}
    assert running.client.get("/v1/policies", headers=headers).status_code == 200
    revoke_key(store, key.id)
    store.close()
    until(lambda: running.client.get("/v1/policies", headers=headers).status_code == 401)


def test_only_hashes_are_stored(sqlite_address: str) -> None:
    store = open_store(sqlite_address)
    store.open(serving=False)
    key, token = make_key(store, name="x", roles=["rank"])
    secret = token.rpartition("_")[2]
    assert store.keys()[0].digest == hashlib.sha256(secret.encode()).digest() == key.digest
    store.close()
    with open(sqlite_address, "rb") as file:  # noqa: PTH123
        assert secret.encode() not in file.read()


def test_an_open_server_serves_this_machine_only(live: Start, sqlite_address: str) -> None:
    running = live(sqlite_address, open=True)
    for host in (f"127.0.0.1:{running.port}", "localhost", f"LOCALHOST:{running.port}", "[::1]:80"):
        assert running.client.get("/v1/policies", headers={"Host": host}).status_code == 200
    spoofed = running.client.get("/v1/policies", headers={"Host": "evil.example"})
    assert spoofed.status_code == 403 and spoofed.json()["error"]["code"] == "host_not_allowed"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"X-Forwarded-For": "203.0.113.7"},
        {"Forwarded": "for=x"},
    ],
)
def test_of_an_open_server_neither_pages_of_others_nor_proxies_may_ask(
    live: Start, sqlite_address: str, headers: dict[str, str]
) -> None:
    running = live(sqlite_address)
    refused = running.client.post("/v1/policies/shop/rank", json=rank_body(), headers=headers)
    assert refused.status_code == 403 and refused.json()["error"]["code"] == "host_not_allowed"
    own = running.client.post("/v1/policies/shop/rank", json=rank_body(), headers={"Origin": running.url})
    assert own.status_code == 200


def test_after_the_last_key_is_revoked_nobody_is_let_in(live: Start, address: str) -> None:
    store = open_store(address)
    store.open(serving=False)
    key, token = make_key(store, name="only", roles=["admin"])
    running = live(address, open=True, settings={"keys_refresh_seconds": 0.05})
    headers = {"X-API-Key": token}
    assert running.client.get("/v1/policies").status_code == 401, "a key in force closes what was to be open"
    assert running.client.get("/v1/policies", headers=headers).status_code == 200
    revoke_key(store, key.id)
    until(lambda: running.client.get("/v1/policies", headers=headers).status_code == 401)
    assert running.client.get("/v1/policies").status_code == 401
    _, new = make_key(store, name="next", roles=["admin"])
    store.close()
    until(lambda: running.client.get("/v1/policies", headers={"X-API-Key": new}).status_code == 200)


def test_a_new_key_closes_an_open_server(live: Start, sqlite_address: str) -> None:
    running = live(sqlite_address, open=True, settings={"keys_refresh_seconds": 0.05})
    assert running.client.get("/v1/policies").status_code == 200
    with_keys(sqlite_address, {"roles": ["read"]})
    until(lambda: running.client.get("/v1/policies").status_code == 401)


def test_a_server_that_was_not_opened_lets_nobody_in(live: Start, sqlite_address: str) -> None:
    """As nginx asks by default: for this machine, without a word about for whom."""
    running = live(sqlite_address, open=False)
    answer = running.client.post("/v1/policies/shop/rank", json=rank_body(), headers={"Host": "127.0.0.1:8000"})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_the_rate_of_a_key_is_limited(live: Start, sqlite_address: str) -> None:
    store = open_store(sqlite_address)
    store.open(serving=False)
    _, token = make_key(store, name="slow", roles=["read"], rate=5.0)
    _, other = make_key(store, name="fast", roles=["read"])
    store.close()
    running = live(sqlite_address, policies={}, open=False)
    now = 0.0
    running.service.access.clock = lambda: now
    assert [_status(running.client, token) for _ in range(12)] == [200] * 5 + [429] * 7
    assert _status(running.client, other) == 200
    now = 0.4  # two more by then
    assert [_status(running.client, token) for _ in range(3)] == [200, 200, 429]


def _status(client: httpx.Client, token: str) -> int:
    answer = client.get("/v1/policies", headers={"Authorization": f"Bearer {token}"})
    if answer.status_code == 429:
        assert int(answer.headers["Retry-After"]) >= 1
    return answer.status_code


def test_rates_refill_with_time() -> None:
    now = 0.0
    access = Access(open=False, default_rate=2.0, clock=lambda: now)
    secret = "0" * 48
    access.use([Key("0" * 12, "k", hashlib.sha256(secret.encode()).digest(), ("read",), 0.0)])

    def ask() -> Key | None:
        return access.check("read", token=f"fx_{'0' * 12}_{secret}", headers={"host": "x"})

    ask(), ask()
    with pytest.raises(ServiceError, match="at most 2 per second"):
        ask()
    now = 0.5
    ask()
    with pytest.raises(ServiceError):
        ask()


# Requests without a valid key


class Flood:
    """A server that is asked without a valid key, and what its log says of it; its clock stands still."""

    def __init__(self, running: Live, caplog: pytest.LogCaptureFixture) -> None:
        self.running, self._caplog, self.now = running, caplog, 0.0
        running.service.access.clock = lambda: self.now

    def ask(
        self, n: int, *, address: str = "203.0.113.7", path: str = "/v1/policies", token: str = "none"
    ) -> list[int]:
        headers = {"X-Forwarded-For": address, "Authorization": f"Bearer {token}"}
        return [self.running.client.get(path, headers=headers).status_code for _ in range(n)]

    def lines(self, message: str) -> list[dict[str, Any]]:
        return [record.facts for record in self._caplog.records if record.getMessage() == message]  # type: ignore[attr-defined]

    def told(self) -> list[dict[str, Any]]:
        return self.lines("requests without a valid key")


@pytest.fixture
def flooded(live: Start, sqlite_address: str, caplog: pytest.LogCaptureFixture) -> tuple[Flood, str]:
    (token,) = with_keys(sqlite_address, {"roles": ["read"]})
    return Flood(live(sqlite_address, policies={}, open=False), caplog), token


def test_requests_without_a_valid_key_are_limited_by_address(flooded: tuple[Flood, str]) -> None:
    flood, token = flooded
    assert flood.ask(15) == [401] * 10 + [429] * 5
    assert flood.ask(1, address="203.0.113.8") == [401], "another address has its own limit"
    assert flood.ask(20, token=token) == [200] * 20, "a valid key is let in from any address"
    assert flood.ask(20, path="/healthz") == [200] * 20
    flood.now = 0.25
    assert flood.ask(4, token="fx_000000000000_" + "0" * 48) == [401, 401, 429, 429]
    refused = flood.running.client.get("/v1/policies", headers={"X-Forwarded-For": "203.0.113.7"})
    assert refused.json()["error"]["code"] == "too_many_requests" and refused.headers["Retry-After"] == "1"
    assert "unauthenticated_per_second" in refused.json()["error"]["message"]


def test_addresses_of_one_network_of_ipv6_are_one(flooded: tuple[Flood, str]) -> None:
    flood, _ = flooded
    statuses = [flood.ask(1, address=f"2001:db8:0:1::{number}")[0] for number in range(1, 13)]
    assert statuses == [401] * 10 + [429] * 2
    assert flood.ask(1, address="2001:db8:0:2::1") == [401]
    assert flood.ask(11, address="::ffff:198.51.100.1") + flood.ask(1, address="198.51.100.1") == [401] * 10 + [429] * 2


def test_the_log_has_a_line_each_second_and_not_for_each_request_without_a_valid_key(
    flooded: tuple[Flood, str],
) -> None:
    flood, token = flooded
    for address in [*["203.0.113.7"] * 50, *[f"198.51.100.{number}" for number in range(30)]]:
        flood.ask(1, address=address)
    until(lambda: sum(line["requests"] for line in flood.told()) == 80)
    assert len(flood.told()) == 1, "the clock stands still: all that is later waits for the next second"
    (line,) = flood.told()
    assert line["addresses"] == 31 and len(line["most"]) == 5 and line["most"]["203.0.113.7"] == 50
    flood.ask(1)
    flood.now = 1.0
    until(lambda: len(flood.told()) == 2)
    assert flood.told()[1] == {"requests": 1, "addresses": 1, "most": {"203.0.113.7": 1}}
    flood.ask(1, token=token, path="/v1/policies/none")
    until(lambda: flood.lines("request"))
    assert [line["status"] for line in flood.lines("request")] == [404], "other refusals have a line each"
    text = flood.running.client.get("/metrics", headers={"Authorization": f"Bearer {token}"}).text
    assert 'fairexp_requests_total{route="/v1/policies",status="401"} 40.0' in text


def test_what_was_not_told_is_told_at_the_end(
    live: Start, sqlite_address: str, caplog: pytest.LogCaptureFixture
) -> None:
    running = live(sqlite_address, policies={}, open=False)
    flood = Flood(running, caplog)
    flood.ask(1)
    until(flood.told)
    flood.ask(3)
    running.stop()
    assert [line["requests"] for line in flood.told()] == [1, 3]


def test_addresses_take_bounded_memory() -> None:
    now = 0.0
    access = Access(open=False, default_rate=0.0, stranger_rate=1.0, clock=lambda: now)
    access.use([])
    for number in range(3 * MOST_ADDRESSES):
        with pytest.raises(StrangerError) as caught:
            access.check(
                "read", token=None, headers={}, address=f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
            )
        assert caught.value.status == 401
    assert len(access.strangers) == MOST_ADDRESSES
    with pytest.raises(StrangerError) as caught:
        access.check("read", token=None, headers={}, address=f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert caught.value.status == 429, "those that asked last are remembered"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"name": "x", "roles": []}, "role"),
        ({"name": "x", "roles": ["root"]}, "role"),
        ({"name": "", "roles": ["rank"]}, "name"),
        ({"name": "x", "roles": ["rank"], "rate": 0.0}, "rate"),
        ({"name": "x", "roles": ["rank"], "policies": ["Shop, other"]}, "policy"),
    ],
)
def test_keys_that_make_no_sense_are_refused(sqlite_address: str, arguments: dict[str, object], problem: str) -> None:
    store = open_store(sqlite_address)
    store.open(serving=False)
    with pytest.raises(ArgumentError) as caught:
        make_key(store, **arguments)  # type: ignore[arg-type]
    assert caught.value.argument == problem and store.keys() == []
    with pytest.raises(ArgumentError, match="a key that is in force"):
        revoke_key(store, "nothing")
    store.close()
