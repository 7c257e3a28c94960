"""A damaged policy is out of service alone: others serve, and it can be saved, reset or deleted over the API."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from fairexp.client import Client
from fairexp.service.changes import latest_actions
from fairexp.service.engine.engine import Engine
from fairexp.service.http.keys import make_key
from fairexp.service.policies.spec import ItemsSpec
from fairexp.service.store import open_store
from fairexp.service.store.migrations import Execute
from tests.service.live import Live
from tests.service.tampering import delete, flip, tampering
from tests.service.worlds import SPEC, rank_body
from tests.waiting import SECONDS

Start = Callable[..., Live]
DECLARED = {"bad": SPEC.model_copy(update={"items": ItemsSpec()}), "good": SPEC}
ITEMS = {"items": [{"id": "a", "fields": {"price": 1.0}}]}


def filled(live: Start, address: str) -> list[str]:
    """A store with two policies that have ranked and learned; the ids of what the first has shown."""
    running = live(address, policies=DECLARED)
    shown = {
        name: [play(running.client, name, first + number, f"r{number}") for number in range(6)]
        for first, name in ((0, "bad"), (100, "good"))
    }
    assert running.client.post("/v1/policies/bad/items", json=ITEMS).status_code == 200
    running.stop()
    return shown["bad"]


def play(client: httpx.Client, policy: str, number: int, request_id: str | None = None) -> str:
    """A ranking with a click; its id."""
    own = {"request_id": request_id or f"r{number}", "user": "u"}
    answer = client.post(f"/v1/policies/{policy}/rank", json=rank_body(number, **own))
    ranking_id: str = answer.json()["ranking_id"]
    told = client.post("/v1/feedback", json={"ranking_id": ranking_id, "events": [{"position": 1}]}).json()
    assert told["results"][0]["status"] == "learned"
    return ranking_id


def flipped_record(execute: Execute) -> None:
    execute("DELETE FROM snapshots WHERE policy = 1", ())
    flip(execute, "payload", 4)


def flipped_snapshot_and_record(execute: Execute) -> None:
    """The only snapshot cannot be used, and what it stood for cannot be replayed."""
    (seq, payload) = execute("SELECT seq, payload FROM snapshots WHERE policy = 1", ())[0]
    changed = bytearray(payload)
    changed[len(changed) // 2] ^= 1
    execute("UPDATE snapshots SET payload = ? WHERE policy = 1 AND seq = ?", (bytes(changed), seq))
    flip(execute, "payload", 2)


def end_is_gone(execute: Execute) -> None:
    execute("DELETE FROM snapshots WHERE policy = 1", ())
    delete(execute, 12, 13)


def one_too_many(execute: Execute) -> None:
    columns = "kind, at, payload, ranking, commitment, previous, digest"
    execute(
        f"INSERT INTO log (policy, seq, {columns}) SELECT 1, 20, {columns} FROM log WHERE policy = 1 AND seq = 3", ()
    )


def end_is_forgotten(execute: Execute) -> None:
    execute("DELETE FROM snapshots WHERE policy = 1", ())
    execute("UPDATE heads SET seq = 5 WHERE policy = 1", ())


DAMAGES: list[Callable[[Execute], None]] = [
    *(flipped_record, flipped_snapshot_and_record, end_is_gone, one_too_many, end_is_forgotten)
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_others_serve_and_a_reset_serves_it_again(live: Start, address: str, damage: Any) -> None:
    shown = filled(live, address)
    with tampering(address) as execute:
        damage(execute)
    running = live(address, policies=DECLARED)  # its file declares the damaged one too
    client = running.client
    assert client.get("/readyz").json() == {"status": "ready", "damaged": 1}
    play(client, "good", 7)
    url = "/v1/policies/bad"
    refusals = {
        "rank": client.post(f"{url}/rank", json=rank_body()),
        "feedback": client.post("/v1/feedback", json={"ranking_id": shown[0], "events": [{"position": 1}]}),
        "declare": client.put(url, json=SPEC.model_copy(update={"length": 3}).model_dump(mode="json")),
        "roll back": client.post(f"{url}/rollback", params={"version": 1}),
        **{path: client.get(url + path) for path in ("", "/fairness", "/rankings", f"/rankings/{shown[0]}", "/charts")},
    }
    for what, answer in refusals.items():
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "policy_damaged"), (what, answer.text)
        told = answer.json()["error"]["message"]
        assert "bad" in told and all(word in told for word in ("from a backup", "/export", "/reset", "DELETE"))
    listed = {each["policy"]: each for each in client.get("/v1/policies").json()["policies"]}
    assert listed["bad"]["state"] == "damaged" and "/reset" in listed["bad"]["problem"]
    metrics = client.get("/metrics").text
    assert (
        'fairexp_policy_serving{policy="bad"} 0.0' in metrics and 'fairexp_policy_serving{policy="good"} 1.0' in metrics
    )
    assert "fairexp_ready 1.0" in metrics

    partly = client.post(f"{url}/reset", params={"what": "ledger"})
    assert partly.status_code == 422 and "Neither can be read" in partly.json()["error"]["message"]
    everything: dict[str, Any] = {"what": ["model", "ledger"]}
    dry = client.post(f"{url}/reset", params={**everything, "dry_run": True}).json()
    assert dry["dry_run"] and client.get(url).status_code == 503
    done = client.post(f"{url}/reset", params=everything).json()
    assert done["version"] == dry["version"] == 2 and "what was learned" in done["lost"]
    assert client.get("/readyz").json()["damaged"] == 0
    _starts_over(client, shown)
    running.stop()
    running = live(address, policies=DECLARED)
    assert running.client.get("/readyz").json()["damaged"] == 0, "the damage is back after a restart"
    assert running.client.get(url).json()["rounds"] == 1
    play(running.client, "bad", 9)
    assert latest_actions(running.service.engine.store, limit=1)[0]["action"].startswith("reset")


def _starts_over(client: httpx.Client, shown: list[str]) -> None:
    """Nothing learned, an account at zero, parameters and items as they were; earlier rankings teach no more."""
    policy = client.get("/v1/policies/bad").json()
    assert (policy["state"], policy["rounds"], policy["updates"], policy["version"]) == ("serving", 0, 0, 2)
    assert policy["parameters"] == client.get("/v1/policies/good").json()["parameters"]
    assert client.get("/v1/policies/bad/fairness").json()["largest_gap"] == 0.0
    assert client.get("/v1/policies/bad/items", params={"item": "a"}).json()["fields"] == {"price": 1.0}
    told = client.post("/v1/feedback", json={"ranking_id": shown[5], "events": [{"id": "x", "position": 2}]})
    if told.status_code == 200:  # of the damaged entry itself nothing can be said
        assert told.json()["results"][0]["status"] == "model_replaced"
    assert play(client, "bad", 8) not in shown


def test_it_can_be_exported_and_deleted(live: Start, address: str) -> None:
    shown = filled(live, address)
    with tampering(address) as execute:
        flipped_record(execute)
    client = live(address, policies=DECLARED).client
    whole, damaged = _exported(client, "good"), _exported(client, "bad")
    assert whole["problems"] == {} and whole["kinds"] == ["policy", *["shown", "feedback"] * 6] == damaged["kinds"]
    assert list(damaged["problems"]) == [4] and "was changed since it was written" in damaged["problems"][4]
    ranking = damaged["entries"][int(shown[0].split("-")[1]) - 1]
    assert ranking["context"] == {"user": "u", "query_id": "q0", "request_id": "r0"}
    assert len(ranking["arrays"]["features"]) == 4 and ranking["content"]["ids"]
    assert {"item": "a", "fields": {"price": [[pytest.approx(1e9, rel=9), None, 1.0]]}} in damaged["lines"]
    assert json.loads(damaged["lines"][1]["spec"])["features"] == SPEC.model_dump(mode="json")["features"]
    asked = {"discard": True}
    assert client.delete("/v1/policies/bad").json()["error"]["code"] == "would_lose"
    assert client.delete("/v1/policies/bad", params=asked).json()["lost"][0].endswith("damaged as it is")
    assert client.get("/readyz").json()["damaged"] == 0 and client.get("/v1/policies/bad").status_code == 404
    assert client.put("/v1/policies/bad", json=SPEC.model_dump(mode="json")).json()["version"] == 1
    play(client, "bad", 0)


def _exported(client: httpx.Client, policy: str) -> dict[str, Any]:
    lines = [json.loads(line) for line in client.get(f"/v1/policies/{policy}/export").text.splitlines()]
    assert lines[-1] == {"end": len(lines) - 1}
    entries = [line for line in lines if "entry" in line]
    return {
        "lines": lines,
        "entries": entries,
        "kinds": [entry["kind"] for entry in entries],
        "problems": {entry["entry"]: entry["problem"] for entry in entries if "problem" in entry},
    }


def test_only_admins_of_the_policy_may_export_it(live: Start, sqlite_address: str) -> None:
    store = open_store(sqlite_address)
    store.open(serving=False)
    tokens = [
        make_key(store, name="key", roles=[role], policies=policies)[1]
        for role, policies in (("read", ()), ("admin", ("good",)), ("admin", ("bad",)))
    ]
    store.close()
    client = live(sqlite_address, policies=DECLARED, open=False).client
    answers = [client.get("/v1/policies/bad/export", headers={"X-API-Key": token}) for token in tokens]
    assert [answer.status_code for answer in answers] == [403, 403, 200]


def test_events_of_others_are_not_held_up(live: Start, address: str) -> None:
    """Both policies have a ranking `r0`; items of a batch go to those that serve."""
    filled(live, address)
    with tampering(address) as execute:
        flipped_record(execute)
    client = live(address, policies={**DECLARED, "films": DECLARED["bad"]}).client
    item = client.get("/v1/policies/good/rankings", params={"limit": 1}).json()["rankings"][0]["items"][2]["id"]
    events = [
        {"event": "item", "id": "1", "item": "b", "timestamp": "1", "fields": [{"name": "price", "value": 2.0}]},
        {"event": "interaction", "id": "2", "ranking": "r5", "type": "click", "item": item, "timestamp": "1"},
    ]
    told = client.post("/feedback", json=events)
    assert told.status_code == 200
    assert [each["verdict"] for each in told.json()["results"]] == ["stored", "learned"]
    assert client.get("/v1/policies/films/items", params={"item": "b"}).json()["fields"] == {"price": 2.0}


def test_a_declaration_that_is_damaged_too_cannot_be_reset_and_that_is_said(live: Start, address: str) -> None:
    filled(live, address)
    with tampering(address) as execute:
        execute("UPDATE versions SET spec = ? WHERE policy = 1", ('{"features": [',))
    client = live(address, policies=DECLARED).client
    answer = client.post("/v1/policies/bad/reset", params={"what": ["model", "ledger"]})
    assert answer.status_code == 409 and "declare it again" in answer.json()["error"]["message"]
    assert client.get("/readyz").json() == {"status": "ready", "damaged": 1}
    assert client.delete("/v1/policies/bad", params={"discard": True}).status_code == 200


def test_a_byte_flipped_in_the_file_itself(live: Start, sqlite_address: str) -> None:
    """What a bad disk does: in the bytes of a record, and in those of a page that the database goes by."""
    filled(live, sqlite_address)
    with tampering(sqlite_address) as execute:
        execute("DELETE FROM snapshots WHERE policy = 1", ())
        (payload,) = execute("SELECT payload FROM log WHERE policy = 1 AND seq = 4", ())[0]
    file = Path(sqlite_address)
    data = bytearray(file.read_bytes())
    place = data.index(payload[:100])
    assert data.count(payload[:100]) == 1
    data[place + 50] ^= 1
    file.write_bytes(data)
    running = live(sqlite_address, policies=DECLARED)
    assert running.client.get("/readyz").json() == {"status": "ready", "damaged": 1}
    play(running.client, "good", 7)
    assert running.client.post("/v1/policies/bad/reset", params={"what": ["model", "ledger"]}).status_code == 200
    play(running.client, "bad", 8)


def test_pages_that_the_database_cannot_read_cost_their_policy_only(
    started: Callable[..., Engine], live: Start, sqlite_address: str
) -> None:
    filled(live, sqlite_address)
    with tampering(sqlite_address) as execute:
        execute("DELETE FROM snapshots WHERE policy = 1", ())
        (payload,) = execute("SELECT payload FROM log WHERE policy = 1 AND seq = 6", ())[0]
        size = execute("PRAGMA page_size", ())[0][0]
    file = Path(sqlite_address)
    data = bytearray(file.read_bytes())
    start = data.index(payload[:100]) // size * size
    data[start : start + 8] = b"\xff" * 8
    file.write_bytes(data)
    engine = started(sqlite_address)
    assert engine.damaged == ["bad"] and "malformed" in str(engine.policy("bad").problem) and engine.healthy


def test_the_client_tells_of_it(live: Start, address: str) -> None:
    filled(live, address)
    with tampering(address) as execute:
        flipped_record(execute)
    running = live(address, policies=DECLARED)
    with Client(running.url, timeout_seconds=SECONDS) as client:
        bad, good = client.policies()
        assert client.ready() and bad.state == "damaged" and "/export" in str(bad.problem) and good.problem is None
        assert client.reset("bad", ["model", "ledger"]).version == 2
        assert client.policy("bad").state == "serving"
