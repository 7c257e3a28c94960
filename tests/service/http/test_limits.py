"""Values above a policy's limits change no account: they are rejected, counted, and told to the log once a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest

from fairexp.service.policies.spec import FeedbackSpec, PolicySpec
from tests.service.live import Live
from tests.service.worlds import SPEC, rank_body
from tests.waiting import until

Start = Callable[..., Live]
RANK = "/v1/policies/shop/rank"
CURVE = 1.0 / np.arange(1, 5)


def policy(**changes: Any) -> dict[str, PolicySpec]:
    return {"shop": PolicySpec.model_validate({**SPEC.model_dump(), **changes})}


def booked(client: httpx.Client) -> float:
    """All exposure that was charged."""
    return sum(each["exposure"] for each in client.get("/v1/policies/shop/fairness").json()["groups"])


def view(client: httpx.Client, exposure: float, ranking_id: str | None = None) -> httpx.Response:
    """A click, and the exposure that was measured of the first position of a ranking, or of a new one."""
    ranking_id = ranking_id or client.post(RANK, json=rank_body()).json()["ranking_id"]
    events = [{"type": "click", "position": 1}, {"type": "viewed", "position": 1, "exposure": exposure}]
    return client.post("/v1/feedback", json={"ranking_id": ranking_id, "events": events})


def check_rejected(answer: httpx.Response, field: str, setting: str) -> None:
    error = answer.json()["error"]
    assert answer.status_code == 422, answer.text
    assert (error["code"], error["field"]) == ("above_limit", field) and setting in error["message"]


def test_measured_exposure_above_that_of_the_top_position_is_rejected(live: Start, sqlite_address: str) -> None:
    client = live(sqlite_address).client
    ranking_id = client.post(RANK, json=rank_body()).json()["ranking_id"]
    for exposure in (1e6, 1.01):
        check_rejected(view(client, exposure, ranking_id), "events[1].exposure", "feedback.max_exposure")
    assert booked(client) == pytest.approx(CURVE.sum()), "the account stays at what the curve says"
    assert client.get("/v1/policies/shop").json()["events"] == 0, "what is rejected is not half done"
    assert view(client, 1.0, ranking_id).json()["results"][0]["status"] == "learned"
    assert booked(client) == 1.0


@pytest.mark.parametrize(
    ("changes", "most"),
    [
        ({"feedback": {"max_exposure": 3.0}}, 3.0),
        ({"feedback": {"max_exposure": 0.5}}, 0.5),
        ({"exposure": [0.4, 0.8, 0.2, 0.1]}, 0.8),
        ({"exposure": [0.4, 0.8, 0.2, 0.1], "feedback": {"max_exposure": 2.0}}, 1.6),
        ({"exposure": "flat"}, 1.0),
    ],
)
def test_the_limit_is_a_multiple_of_the_largest_exposure_of_the_curve(
    live: Start, sqlite_address: str, changes: dict[str, Any], most: float
) -> None:
    client = live(sqlite_address, policies=policy(**changes)).client
    check_rejected(view(client, most * 1.001), "events[1].exposure", "feedback.max_exposure")
    assert view(client, most).status_code == 200


def test_a_batch_loses_only_the_ranking_whose_value_is_above_the_limit(live: Start, sqlite_address: str) -> None:
    client = live(sqlite_address).client
    ids = [client.post(RANK, json=rank_body()).json()["ranking_id"] for _ in range(2)]
    events = [[{"type": "viewed", "position": 1, "exposure": exposure}] for exposure in (5.0, 0.5)]
    batch = [{"ranking_id": name, "events": each} for name, each in zip(ids, events, strict=True)]
    refused, measured = client.post("/v1/feedback", json={"batch": batch}).json()["results"]
    assert (refused["status"], refused["error"]["code"]) == ("refused", "above_limit")
    assert measured["status"] == "measured"
    assert booked(client) == pytest.approx(CURVE.sum() + 0.5)


def test_a_weight_above_the_limit_is_rejected(live: Start, sqlite_address: str) -> None:
    client = live(sqlite_address).client
    for weight in (1e6, 100.01):
        check_rejected(client.post(RANK, json=rank_body(weight=weight)), "weight", "max_weight")
    assert booked(client) == 0.0 and client.get("/v1/policies/shop").json()["rounds"] == 0
    assert client.post(RANK, json=rank_body(weight=100.0)).status_code == 200
    assert booked(client) == pytest.approx(100.0 * CURVE.sum())


def test_a_policy_may_set_another_limit_of_weight(live: Start, sqlite_address: str) -> None:
    client = live(sqlite_address, policies=policy(max_weight=1000.0)).client
    assert client.post(RANK, json=rank_body(weight=999.0)).status_code == 200
    changed = {**client.get("/v1/policies/shop").json()["spec"], "max_weight": 2.0}
    told = client.put("/v1/policies/shop", json=changed).json()
    assert told["lost"] == [], "what was shown and learned stays"
    check_rejected(client.post(RANK, json=rank_body(weight=999.0)), "weight", "max_weight")


def test_a_repeated_request_gets_its_answer_also_when_the_limit_has_come_down(live: Start, sqlite_address: str) -> None:
    client = live(sqlite_address).client
    body = rank_body(weight=50.0, request_id="r")
    first = client.post(RANK, json=body)
    client.put("/v1/policies/shop", json={**client.get("/v1/policies/shop").json()["spec"], "max_weight": 2.0})
    again = client.post(RANK, json=body)
    assert again.headers["X-Repeated"] == "true" and again.json()["ranking_id"] == first.json()["ranking_id"]


def test_limits_that_bite_are_counted_and_told_once_a_second(
    live: Start, sqlite_address: str, caplog: pytest.LogCaptureFixture
) -> None:
    def told() -> list[Any]:
        about = "values above a limit of the policy"
        return [record.facts for record in caplog.records if record.getMessage() == about]  # type: ignore[attr-defined]

    running = live(sqlite_address)
    running.service.access.clock = lambda: now
    now = 0.0
    for _ in range(7):
        running.client.post(RANK, json=rank_body(weight=1e6))
    view(running.client, 2.0)
    until(told)
    running.client.post(RANK, json=rank_body(weight=1e6))
    now = 1.0
    until(lambda: sum(line["requests"] for line in told()) == 9)
    assert len(told()) == 2
    assert told()[-1]["most"].keys() <= {"shop: max_weight", "shop: feedback.max_exposure"}
    text = running.client.get("/metrics").text
    assert 'fairexp_above_limit_total{limit="max_weight",policy="shop"} 8.0' in text
    assert 'fairexp_above_limit_total{limit="feedback.max_exposure",policy="shop"} 1.0' in text


@pytest.mark.parametrize("changes", [{"max_weight": 0.0}, {"max_weight": 1e7}, {"feedback": {"max_exposure": 0.0}}])
def test_limits_that_make_no_sense_are_rejected(live: Start, sqlite_address: str, changes: dict[str, Any]) -> None:
    client = live(sqlite_address, policies={}).client
    spec = {**SPEC.model_dump(mode="json"), **changes}
    error = client.put("/v1/policies/shop", json=spec).json()["error"]
    assert error["field"] in ("max_weight", "feedback.max_exposure")
    assert FeedbackSpec().max_exposure == 1.0
