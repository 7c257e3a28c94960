"""Changes of policies as a client makes them: told beforehand, refused by name, undone, and on record."""

from __future__ import annotations

from collections.abc import Callable

import httpx

from tests.service.worlds import SPEC, rank_body

Serve = Callable[..., httpx.Client]
PLAIN = SPEC.model_dump(mode="json")
URL = "/v1/policies/shop"


def test_over_http(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address)
    for number in range(4):
        ranked = client.post(f"{URL}/rank", json=rank_body(number)).json()
        client.post("/v1/feedback", json={"ranking_id": ranked["ranking_id"], "events": [{"position": 2}]})
    before = client.get(URL).json()
    narrow = {**PLAIN, "features": ["relevance"]}
    told = client.put(URL, params={"dry_run": True}, json=narrow).json()
    assert told["dry_run"] and told["version"] == 2 and len(told["lost"]) == 2
    refused = client.put(URL, json=narrow)
    assert refused.status_code == 409 and refused.json()["error"]["code"] == "would_lose"
    assert client.get(URL).json() == before
    assert client.put(URL, params={"discard": True}, json=narrow).json()["lost"] == told["lost"]
    versions = client.get(URL).json()["versions"]
    assert [(each["action"], each["can_roll_back"]) for each in versions] == [("created", True), ("changed", False)]
    assert versions[1]["by"] == "open" and versions[1]["origin"] == "api"
    back = client.post(f"{URL}/rollback", params={"version": 1}).json()
    assert back["action"] == "rolled back to version 1"
    assert client.get(URL).json()["theta"] == before["theta"]
    assert client.post(f"{URL}/rollback", params={"version": 9}).status_code == 422
    assert client.post(f"{URL}/reset", params={"what": "everything"}).status_code == 422
    assert (
        client.post(f"{URL}/reset", params={"what": ["model", "ledger"]}).json()["action"] == "reset ledger and model"
    )
    assert client.get(f"{URL}/fairness").json()["largest_gap"] == 0.0
    assert client.delete(URL).status_code == 409
    assert client.delete(URL, params={"discard": True}).json()["action"] == "deleted"
    assert client.get(URL).status_code == 404
    actions = client.get("/v1/actions", params={"limit": 2}).json()
    assert [each["action"] for each in actions["actions"]] == ["deleted", "reset ledger and model"]
    rest = client.get("/v1/actions", params={"before": actions["before"]}).json()
    assert [each["action"] for each in rest["actions"]] == ["rolled back to version 1", "changed", "created"]


def test_history_goes_on_and_a_new_group_has_none(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address)
    for number in range(3):
        client.post(f"{URL}/rank", json=rank_body(number))
    client.put(URL, json={**PLAIN, "groups": {"small": 1.0, "large": 1.0, "new": 1.0}})
    client.post(f"{URL}/rank", json=rank_body(4))
    history = client.get(f"{URL}/fairness").json()["history"]
    assert history["round"] == [1, 2, 3, 4] and history["exposure"]["new"][:3] == [None] * 3
    assert None not in history["exposure"]["small"] and history["exposure"]["new"][3] > 0
    assert client.get(f"{URL}/charts").status_code == 200
