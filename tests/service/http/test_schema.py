"""Thousands of requests made from the OpenAPI document, good and bad: never a 5xx, never a hang, known shapes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import hypothesis
import pytest
import schemathesis
from schemathesis import GenerationMode

from fairexp.service.http.service import Service
from fairexp.service.policies.spec import ItemsSpec
from fairexp.service.settings import ServerSettings
from fairexp.service.store import open_store
from tests.service.live import Live
from tests.service.worlds import SPEC, rank_body

N_CASES = 3000
LIMITS = {"max_features": 20, "max_length": 20, "max_policies": 20}
CASES = {
    "POST /v1/policies/{policy}/rank": 300,
    "POST /v1/feedback": 260,
    "PUT /v1/policies/{policy}": 500,
    "POST /rank/{model}": 140,
    "POST /feedback": 80,
    "POST /v1/ubi": 60,
    "POST /v1/policies/{policy}/items": 100,
    "GET /v1/policies/{policy}/items/{item}": 60,
    "GET /v1/policies/{policy}/items": 60,
    "DELETE /v1/policies/{policy}/items": 60,
    "GET /v1/policies": 240,
    "GET /v1/policies/{policy}": 320,
    "GET /v1/policies/{policy}/fairness": 320,
    "GET /v1/policies/{policy}/rankings": 160,
    "GET /v1/policies/{policy}/rankings/{ranking_id}": 200,
    "GET /v1/policies/{policy}/charts": 40,
    "DELETE /v1/policies/{policy}": 60,
    "POST /v1/policies/{policy}/rollback": 60,
    "POST /v1/policies/{policy}/reset": 60,
    "GET /v1/policies/{policy}/export": 20,
    "GET /v1/actions": 60,
    "GET /v1/users": 60,
    "DELETE /v1/users": 60,
    "DELETE /v1/users/{user}": 60,
    "GET /healthz": 200,
    "GET /readyz": 200,
    "GET /metrics": 80,
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    store = open_store(str(tmp_path_factory.mktemp("schema") / "store.db"))
    declared = {"shop": SPEC.model_copy(update={"items": ItemsSpec()})}
    live = Live(Service(store, settings=ServerSettings().changed(LIMITS), policies=declared, open=True))
    live.wait_ready()
    live.client.post("/v1/policies/shop/items", json={"items": [{"id": "a", "fields": {"price": 1.0}}]})
    yield live
    live.stop()


@pytest.fixture(scope="module")
def operations(running: Live) -> dict[str, Any]:
    schema: Any = schemathesis.openapi.from_dict(running.client.get("/openapi.json").json())
    found = [each.ok() for each in schema.get_all_operations()]
    return {f"{each.method.upper()} {each.path}": each for each in found}


def test_every_operation_is_asked_and_often_enough(operations: dict[str, Any]) -> None:
    assert operations.keys() == CASES.keys()
    assert sum(CASES.values()) >= N_CASES


@pytest.mark.parametrize("name", CASES)
def test_whatever_is_asked_it_answers_properly(running: Live, operations: dict[str, Any], name: str) -> None:
    statuses: Counter[int] = Counter()
    ranking_id = running.client.post("/v1/policies/shop/rank", json=rank_body()).json()["ranking_id"]
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE, GenerationMode.POSITIVE):
        wanted = CASES[name] - statuses.total() if statuses else CASES[name] // 2
        try:
            strategy = operations[name].as_strategy(generation_mode=mode)
            _ask(running, strategy, wanted, ranking_id, statuses)
        except hypothesis.errors.Unsatisfiable:
            continue  # nothing can be wrong about a request without parameters
    while statuses.total() < CASES[name]:  # few different ones there are: ask them again
        _ask(running, strategy, CASES[name] - statuses.total(), ranking_id, statuses)
    assert statuses[200] > 0, statuses
    assert running.client.post("/v1/policies/shop/rank", json=rank_body()).status_code == 200


def _ask(running: Live, strategy: Any, n_cases: int, ranking_id: str, statuses: Counter[int]) -> None:
    @hypothesis.given(case=strategy)
    @hypothesis.settings(
        max_examples=max(n_cases, 1),
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    def ask(case: Any) -> None:
        if statuses.total() % 2:
            _aim(running, case, ranking_id, statuses.total())
        worked = time.process_time()
        answer = _send(running, case)
        if answer is None:
            return
        statuses[answer.status_code] += 1
        assert answer.status_code < 500, (answer.text, case)
        assert time.process_time() - worked < 10  # server and client are this process; what others do takes no part
        if answer.status_code >= 400:
            assert set(answer.json()["error"]) == {"code", "message", "field", "request_id"}
        elif answer.headers["content-type"] == "application/json":
            case.operation.validate_response(schemathesis.Response.from_any(answer))

    ask()


def _aim(running: Live, case: Any, ranking_id: str, number: int) -> None:
    """Make a request about something that exists; otherwise nearly all would end at a 404."""
    policy = f"p{number % 7}" if case.method in ("PUT", "DELETE") else "shop"
    known = {"policy": policy, "model": "shop", "ranking_id": ranking_id, "user": f"u{number % 3}", "item": "a"}
    if case.method == "DELETE" and "policy" in (case.path_parameters or {}):
        running.client.put(f"/v1/policies/{policy}", json={"ranker": "pdgd", "features": 2})
    if case.method == "GET" and case.path.endswith("/items"):
        running.client.post("/v1/policies/shop/items", json={"items": [{"id": "a", "fields": {"price": 1.0}}]})
        case.query = {"item": "a"}
    if case.path.endswith("/rollback"):
        running.client.post("/v1/policies/shop/reset", params={"what": "ledger"})
        case.query = {**(case.query or {}), "version": 1 + number % 3}
    case.path_parameters = {name: known[name] for name in case.path_parameters or {}}
    if case.path.endswith("/rank") and isinstance(case.body, dict):
        case.body = {
            **rank_body(number),
            **{key: case.body[key] for key in ("k", "user", "session") if key in case.body},
        }
    if case.method == "PUT" and isinstance(case.body, dict) and number % 4 == 1:
        case.body = {
            "ranker": "pdgd",
            "features": 2,
            **{key: case.body[key] for key in ("length",) if key in case.body},
        }
    if case.path == "/rank/{model}" and isinstance(case.body, dict) and number % 4 == 1:
        names = ("relevance", "freshness", "price")
        fields = [{"name": name, "value": 0.5} for name in names] + [{"name": "seller", "value": "small"}]
        case.body = {**case.body, "items": [{"id": "a", "fields": fields}]}


def _send(running: Live, case: Any) -> httpx.Response | None:
    """The answer, or None if this is not a request that can be put on the wire."""
    kwargs = {
        name: value for name, value in case.as_transport_kwargs(base_url=running.url).items() if value is not None
    }
    headers = {**kwargs.pop("headers", {}), "Host": f"127.0.0.1:{running.port}"}
    kwargs.pop("cookies", None)
    if "data" in kwargs:
        kwargs["content"] = kwargs.pop("data")
    try:
        return running.client.request(headers=headers, **kwargs)
    except (httpx.InvalidURL, httpx.LocalProtocolError, UnicodeEncodeError, TypeError):
        return None
