"""Keys and roles: every route has a decision, and it is enforced."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import httpx
import pytest
from fastapi.routing import APIRoute

from fairexp.errors import ArgumentError
from fairexp.service.access import PUBLIC, ROLES, Access, make_key, revoke_key
from fairexp.service.app import create_app
from fairexp.service.problems import ServiceError
from fairexp.service.service import Service
from fairexp.service.store import Key, open_store
from tests.service.live import Live
from tests.service.worlds import rank_body

Start = Callable[..., Live]
DECISIONS = {
    ("POST", "/v1/policies/{policy}/rank"): "rank",
    ("POST", "/v1/feedback"): "feedback",
    ("GET", "/v1/policies"): "read",
    ("PUT", "/v1/policies/{policy}"): "admin",
    ("DELETE", "/v1/users/{user}"): "admin",
    ("GET", "/v1/policies/{policy}"): "read",
    ("GET", "/v1/policies/{policy}/fairness"): "read",
    ("GET", "/v1/policies/{policy}/rankings"): "read",
    ("GET", "/v1/policies/{policy}/rankings/{ranking_id}"): "read",
    ("POST", "/rank/{model}"): "rank",
    ("POST", "/feedback"): "feedback",
    ("GET", "/healthz"): PUBLIC,
    ("GET", "/readyz"): PUBLIC,
    ("GET", "/metrics"): "read",
    ("GET", "/openapi.json"): PUBLIC,
    ("GET", "/"): PUBLIC,
    ("GET", "/static/{name}"): PUBLIC,
    ("GET", "/v1/policies/{policy}/charts"): "read",
}


def decisions(address: str) -> dict[tuple[str, str], list[str]]:
    """What the application decided about each of its routes."""
    app = create_app(Service(open_store(address)))
    found = {}
    for route in app.routes:
        assert isinstance(route, APIRoute), f"{route} is not a route that we decided on"
        roles = [getattr(each.dependency, "decision", None) for each in route.dependencies]
        for method in route.methods:
            found[method, route.path_format] = [role for role in roles if role is not None]
    return found


def test_every_route_has_exactly_the_decision_that_is_written_here(sqlite_address: str) -> None:
    assert decisions(sqlite_address) == {route: [role] for route, role in DECISIONS.items()}


def test_without_a_key_only_public_routes_answer_and_each_role_opens_its_own(live: Start, address: str) -> None:
    store = open_store(address)
    store.open(serving=False)
    tokens = {role: make_key(store, name=role, roles=[role])[1] for role in ROLES}
    store.close()
    running = live(address, policies={}, loopback=False)
    for (method, path), decided in DECISIONS.items():
        url = path.format(policy="shop", ranking_id="1-1-0123456789abcdef", model="shop", name="page.js", user="u")
        for role, token in [(None, None), (None, "fx_000000000000_" + "0" * 48), *tokens.items()]:
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            status = running.client.request(method, url, headers=headers, content=b"{}").status_code
            if decided == PUBLIC or role in (decided, "admin"):
                assert status not in (401, 403), f"{method} {path} with {role}: {status}"
            else:
                assert status == (401 if role is None else 403), f"{method} {path} with {role}: {status}"


def test_a_revoked_key_is_refused_while_the_server_runs(live: Start, sqlite_address: str) -> None:
    store = open_store(sqlite_address)
    store.open(serving=False)
    key, token = make_key(store, name="page", roles=["read"])
    make_key(store, name="other", roles=["admin"])
    running = live(sqlite_address, policies={}, loopback=False, settings={"keys_refresh_seconds": 0.05})
    headers = {"X-API-Key": token}
    assert running.client.get("/v1/policies", headers=headers).status_code == 200
    revoke_key(store, key.id)
    store.close()
    _until(lambda: running.client.get("/v1/policies", headers=headers).status_code == 401)


def _until(done: Callable[[], bool]) -> None:
    import time

    until = time.monotonic() + 10
    while not done():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_only_hashes_are_stored(sqlite_address: str) -> None:
    store = open_store(sqlite_address)
    store.open(serving=False)
    key, token = make_key(store, name="x", roles=["rank"])
    secret = token.rpartition("_")[2]
    assert store.keys()[0].digest == hashlib.sha256(secret.encode()).digest() == key.digest
    store.close()
    with open(sqlite_address, "rb") as file:  # noqa: PTH123
        assert secret.encode() not in file.read()


def test_without_keys_it_serves_this_machine_only(live: Start, sqlite_address: str) -> None:
    running = live(sqlite_address)
    assert running.client.get("/v1/policies").status_code == 200
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
def test_without_keys_neither_pages_of_others_nor_proxies_may_ask(
    live: Start, sqlite_address: str, headers: dict[str, str]
) -> None:
    running = live(sqlite_address)
    refused = running.client.post("/v1/policies/shop/rank", json=rank_body(), headers=headers)
    assert refused.status_code == 403 and refused.json()["error"]["code"] == "host_not_allowed"
    own = running.client.post("/v1/policies/shop/rank", json=rank_body(), headers={"Origin": running.url})
    assert own.status_code == 200


def test_revoking_the_last_key_closes_the_service_and_does_not_open_it(live: Start, sqlite_address: str) -> None:
    store = open_store(sqlite_address)
    store.open(serving=False)
    key, token = make_key(store, name="only", roles=["admin"])
    running = live(sqlite_address, settings={"keys_refresh_seconds": 0.05})
    headers = {"X-API-Key": token}
    assert running.client.get("/v1/policies", headers=headers).status_code == 200
    revoke_key(store, key.id)
    store.close()
    _until(lambda: running.client.get("/v1/policies", headers=headers).status_code == 401)
    assert running.client.get("/v1/policies").status_code == 401


def test_without_keys_a_public_address_gets_nothing(live: Start, sqlite_address: str) -> None:
    running = live(sqlite_address, loopback=False)
    answer = running.client.post("/v1/policies/shop/rank", json=rank_body())
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_the_rate_of_a_key_is_limited(live: Start, sqlite_address: str) -> None:
    store = open_store(sqlite_address)
    store.open(serving=False)
    _, token = make_key(store, name="slow", roles=["read"], rate=5.0)
    _, other = make_key(store, name="fast", roles=["read"])
    store.close()
    running = live(sqlite_address, policies={})
    statuses = [_status(running.client, token) for _ in range(12)]
    assert 5 <= statuses.count(200) <= 8 and 429 in statuses
    assert _status(running.client, other) == 200


def _status(client: httpx.Client, token: str) -> int:
    answer = client.get("/v1/policies", headers={"Authorization": f"Bearer {token}"})
    if answer.status_code == 429:
        assert int(answer.headers["Retry-After"]) >= 1
    return answer.status_code


def test_rates_refill_with_time() -> None:
    now = 0.0
    access = Access(loopback=False, default_rate=2.0, clock=lambda: now)
    secret = "0" * 48
    access.use([Key("0" * 12, "k", hashlib.sha256(secret.encode()).digest(), ("read",), 0.0)])

    def ask() -> str:
        return access.check("read", token=f"fx_{'0' * 12}_{secret}", headers={"host": "x"})

    ask(), ask()
    with pytest.raises(ServiceError, match="at most 2 per second"):
        ask()
    now = 0.5
    ask()
    with pytest.raises(ServiceError):
        ask()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"name": "x", "roles": []}, "role"),
        ({"name": "x", "roles": ["root"]}, "role"),
        ({"name": "", "roles": ["rank"]}, "name"),
        ({"name": "x", "roles": ["rank"], "rate": 0.0}, "rate"),
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
