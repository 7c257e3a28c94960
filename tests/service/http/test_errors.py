"""What is refused: 4xx, one shape, the field named, nothing internal, nothing changed."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest

from tests.service.live import Live
from tests.service.worlds import base64_body, rank_body

Serve = Callable[..., httpx.Client]
RANK = "/v1/policies/shop/rank"


def changed(body: dict[str, Any], index: int, **values: Any) -> dict[str, Any]:
    """The body with a candidate changed."""
    body["candidates"][index].update(values)
    return body


def spoiled(value: float) -> dict[str, Any]:
    """The base64 form with one number that is not finite."""
    body = base64_body()
    numbers = np.frombuffer(base64.b64decode(body["features"]), dtype="<f4").copy()
    numbers[7] = value
    return {**body, "features": base64.b64encode(numbers.tobytes()).decode()}


BAD = {
    "not JSON": (b"{", "body"),
    "not an object": (b"[]", "body"),
    "no candidates": ({"candidates": []}, "candidates"),
    "neither form": ({"query_id": "q"}, "candidates"),
    "both forms": ({**rank_body(), **base64_body()}, "candidates"),
    "duplicate id": (changed(rank_body(), 3, id="d1"), "candidates[3].id"),
    "empty id": (changed(rank_body(), 3, id=""), "candidates[3].id"),
    "unknown group": (changed(rank_body(), 2, group="huge"), "candidates[2].group"),
    "no group": (changed(rank_body(), 2, group=None), "candidates[2].group"),
    "too few features": (changed(rank_body(), 5, features=[1.0]), "candidates[5].features"),
    "text feature": (changed(rank_body(), 5, features=[1.0, "2", 3.0]), "candidates[5].features[1]"),
    "boolean feature": (changed(rank_body(), 5, features=[1.0, True, 3.0]), "candidates[5].features[1]"),
    "null feature": (changed(rank_body(), 5, features=[1.0, None, 3.0]), "candidates[5].features[1]"),
    "too large for float32": (changed(rank_body(), 5, features=[1.0, 1e39, 3.0]), "candidates[5].features[1]"),
    "k of 0": (rank_body(k=0), "k"),
    "k above the policy's length": (rank_body(k=5), "k"),
    "k as text": (rank_body(k="3"), "k"),
    "unknown field": (rank_body(pages=3), "pages"),
    "long user": (rank_body(user="u" * 300), "user"),
    "groups besides candidates": (rank_body(groups=["small"]), "groups"),
    "not base64": ({**base64_body(), "features": "%%%"}, "features"),
    "wrong width": ({**base64_body(), "features": base64.b64encode(b"1234" * 23).decode()}, "features"),
    "NaN": (spoiled(np.nan), "features"),
    "infinity": (spoiled(np.inf), "features"),
    "fewer groups than ids": ({**base64_body(), "groups": ["small"]}, "groups"),
    "unknown group by name": ({**base64_body(), "groups": ["small"] * 7 + ["huge"]}, "groups[7]"),
    "duplicate in ids": ({**base64_body(), "ids": ["a"] * 8}, "ids[1]"),
    "no ids": ({**base64_body(), "ids": None}, "ids"),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from fairexp.service.http.service import Service
    from fairexp.service.store import open_store
    from tests.service.worlds import SPEC

    store = open_store(str(tmp_path_factory.mktemp("errors") / "store.db"))
    running = Live(Service(store, policies={"shop": SPEC}, open=True))
    running.wait_ready()
    yield running.client
    running.stop()


@pytest.mark.parametrize("case", BAD)
def test_bad_requests_name_the_field_and_change_nothing(client: httpx.Client, case: str) -> None:
    body, field = BAD[case]
    before = client.get("/v1/policies/shop").json()
    sent = {"content": body} if isinstance(body, bytes) else {"json": body}
    answer = client.post(RANK, **sent)  # type: ignore[arg-type]
    assert answer.status_code == 422, answer.text
    error = answer.json()["error"]
    assert set(error) == {"code", "message", "field", "request_id"}
    assert error["field"] == field, error
    assert error["request_id"] == answer.headers["x-request-id"]
    assert client.get("/v1/policies/shop").json() == before


def test_nan_as_bare_json_is_refused(client: httpx.Client) -> None:
    text = client.build_request("POST", RANK, json=rank_body()).content.replace(b"0.", b"NaN,0.", 1)
    assert client.post(RANK, content=text).status_code == 422


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("PATCH", "/v1/policies/shop", 405, "method_not_allowed"),
        ("POST", "/v1/policies/none/rank", 404, "unknown_policy"),
        ("GET", "/v1/policies/none", 404, "unknown_policy"),
        ("GET", "/v1/policies/shop/rankings/none", 404, "unknown_ranking"),
        ("GET", "/v1/policies/shop/fairness?points=0", 422, "invalid"),
        ("GET", "/v1/policies/shop/fairness?points=many", 422, "invalid"),
        ("PUT", "/v1/policies/UPPER", 422, "invalid"),
    ],
)
def test_one_shape_for_all(client: httpx.Client, method: str, path: str, status: int, code: str) -> None:
    answer = client.request(method, path, json={"features": 2, "groups": {"a": 1, "b": 1}})
    assert answer.status_code == status
    assert answer.json()["error"]["code"] == code


def test_bodies_are_limited(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address, settings={"max_body_bytes": 1000})
    for sent in ({"content": b" " * 1001}, {"content": iter([b" " * 600, b" " * 600])}):
        answer = client.post(RANK, **sent)  # type: ignore[arg-type]
        assert answer.status_code == 413 and answer.json()["error"]["code"] == "body_too_large"


def test_sizes_are_limited(serve: Serve, sqlite_address: str) -> None:
    limits = {"max_candidates": 8, "max_features": 4, "max_length": 5, "max_batch": 2, "max_events": 3, "max_groups": 2}
    client = serve(sqlite_address, settings=limits)
    ranked = client.post(RANK, json=rank_body()).json()
    assert client.post(RANK, json=rank_body(n=9)).json()["error"]["field"] == "candidates"
    assert client.post(RANK, json=base64_body(n=9)).json()["error"]["field"] == "ids"
    for field, value in (("features", 5), ("length", 6), ("groups", {"a": 1, "b": 1, "c": 1})):
        spec = {"features": 2, "groups": {"a": 1, "b": 1}, "length": 3, field: value}
        assert client.put("/v1/policies/x", json=spec).json()["error"]["field"] == field
    one = {"ranking_id": ranked["ranking_id"], "events": []}
    assert client.post("/v1/feedback", json={"batch": [one] * 3}).json()["error"]["field"] == "batch"
    four = [{"id": str(number), "position": 1} for number in range(4)]
    answer = client.post("/v1/feedback", json={"ranking_id": ranked["ranking_id"], "events": four})
    assert answer.json()["error"]["field"] == "events"
    for each in four[:3]:
        client.post("/v1/feedback", json={"ranking_id": ranked["ranking_id"], "events": [each]})
    answer = client.post("/v1/feedback", json={"ranking_id": ranked["ranking_id"], "events": four[3:]})
    assert answer.json()["error"]["field"] == "events"


def test_request_ids_come_back_if_they_are_harmless(client: httpx.Client) -> None:
    assert client.get("/healthz", headers={"X-Request-ID": "abc-1"}).headers["x-request-id"] == "abc-1"
    assert client.get("/healthz", headers={"X-Request-ID": "a b<c>"}).headers["x-request-id"] != "a b<c>"


def test_nothing_internal_in_a_500(live: Callable[..., Live], sqlite_address: str, monkeypatch: Any) -> None:
    running = live(sqlite_address)
    runtime = running.service.engine.policy("shop").runtime
    running.client.post(RANK, json=rank_body(1))
    before = runtime.state()

    def burst(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret detail")

    with monkeypatch.context() as patch:
        patch.setattr(runtime.ranker, "replay", burst)
        answer = running.client.post(RANK, json=rank_body(2))
    assert answer.status_code == 500 and "secret" not in answer.text
    assert answer.json()["error"]["code"] == "internal"
    running.wait_ready()  # the policy is rebuilt from the log by itself
    again = running.client.post(RANK, json=rank_body(2)).json()
    assert len(again["items"]) == 4
    assert running.service.engine.policy("shop").runtime.seq == before[0]["seq"] + 1
