from __future__ import annotations

from collections.abc import Callable

import httpx
import numpy as np
import pytest

from fairexp.service.policies.spec import PolicySpec
from tests.service.worlds import SPEC, base64_body, matrix, rank_body

Serve = Callable[..., httpx.Client]
RANK = "/v1/policies/shop/rank"


def test_rank_learn_and_look_at_it(serve: Serve, address: str) -> None:
    client = serve(address)
    ranked = client.post(RANK, json=rank_body()).json()
    assert [item["position"] for item in ranked["items"]] == [1, 2, 3, 4]
    assert ranked["qualified"] is True
    clicked = ranked["items"][1]["id"]
    events = [{"id": "e1", "type": "click", "item": clicked}]
    answer = client.post("/v1/feedback", json={"ranking_id": ranked["ranking_id"], "events": events})
    assert answer.json()["results"] == [
        {"ranking_id": ranked["ranking_id"], "accepted": 1, "duplicates": 0, "status": "learned"}
    ]
    told = client.get(f"/v1/policies/shop/rankings/{ranked['ranking_id']}").json()
    assert [item["id"] for item in told["items"]] == [item["id"] for item in ranked["items"]]
    assert [item["clicked"] for item in told["items"]] == [False, True, False, False]
    assert told["feedback"][0]["events"][0]["item"] == clicked


def test_what_is_proven_is_told_recorded_and_explained(serve: Serve, sqlite_address: str) -> None:
    """Candidates of one group only, again and again: soon no list can be within the tolerance."""
    client, body = serve(sqlite_address), rank_body()
    for candidate in body["candidates"]:
        candidate["group"] = body["candidates"][0]["group"]
    ranked = [client.post(f"{RANK}?explain=true", json=body).json() for _ in range(4)]
    fair, last = client.post(RANK, json=rank_body(1)).json(), ranked[-1]
    assert last["qualified"] is False and last["proof"] == "least"
    assert last["gap_bound"] == pytest.approx(last["explanation"]["constraints"][0]["gap"])
    assert any("No ranking of these candidates could meet it" in line for line in last["explanation"]["summary"])
    assert all(each["proof"] == ("found" if each["qualified"] else "least") for each in [*ranked, fair])
    told = client.get(f"/v1/policies/shop/rankings/{last['ranking_id']}").json()
    assert (told["proof"], told["gap_bound"]) == ("least", last["gap_bound"])


def test_both_forms_rank_the_same(serve: Serve, tmp_path: object) -> None:
    one = serve(f"{tmp_path}/one.db")
    two = serve(f"{tmp_path}/two.db")
    for number in range(5):
        first = one.post(RANK, json=rank_body(number)).json()
        second = two.post(RANK, json=base64_body(number)).json()
        assert first["items"] == second["items"]


def test_read_your_writes(serve: Serve, sqlite_address: str) -> None:
    """Scores of the very next ranking have moved by what was acknowledged."""
    client = serve(sqlite_address)
    first = client.post(RANK, json=rank_body(3)).json()
    assert {item["score"] for item in first["items"]} == {0.0}
    winner = first["items"][2]["id"]
    client.post("/v1/feedback", json={"ranking_id": first["ranking_id"], "events": [{"item": winner}]})
    again = client.post(RANK, json=rank_body(3)).json()
    scores = {item["id"]: item["score"] for item in again["items"]}
    assert max(scores.values()) > 0.0
    best = np.argmax(matrix(3) @ np.array([w["weight"] for w in _weights(client)]))
    assert winner == f"d{best}" or scores.get(winner, 0.0) > 0.0


def _weights(client: httpx.Client) -> list[dict[str, float]]:
    theta = client.get("/v1/policies/shop").json()["theta"]["largest"]
    order = ["relevance", "freshness", "price"]
    return sorted(theta, key=lambda each: order.index(each["feature"]))


def test_shorter_lists_on_request(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address)
    assert len(client.post(RANK, json=rank_body(k=2)).json()["items"]) == 2
    assert len(client.post(RANK, json=rank_body()).json()["items"]) == 4
    exposure = client.get("/v1/policies/shop/fairness").json()["groups"]
    assert sum(group["exposure"] for group in exposure) == pytest.approx(1.5 + 1 + 1 / 2 + 1 / 3 + 1 / 4)


def test_the_tolerance_holds_in_the_order_of_charges(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address)
    for number in range(60):
        ranked = client.post(RANK, json=rank_body(number)).json()
        client.post("/v1/feedback", json={"ranking_id": ranked["ranking_id"], "events": [{"position": 1}]})
    told = client.get("/v1/policies/shop/fairness", params={"points": 512}).json()
    assert told["qualified_share"] == 1.0
    assert 0 < max(told["history"]["largest_gap"]) <= SPEC.tolerance + 1e-9
    assert told["history"]["round"] == list(range(1, 61))


def test_the_explanation_accounts_for_the_added_regret(serve: Serve, sqlite_address: str) -> None:
    """Every certain order that was reversed is named, and their number is the added regret."""
    spec = PolicySpec(
        ranker="fairexp-fixed",
        parameters={"weights": [1.0, 0.0, 0.0]},
        features=3,
        groups={"small": 1.0, "large": 1.0},
        length=4,
        tolerance=0.3,
        seed=1,
    )
    client = serve(sqlite_address, policies={"shop": spec})
    regrets = 0
    for number in range(30):
        told = client.post(RANK, params={"explain": "true"}, json=rank_body(number)).json()
        why = told["explanation"]
        named = sum(len(move["against_certain_orders"]) for move in why["moved"])
        assert named == told["added_regret"] == why["added_regret"]
        assert why["ledger"]["after"]["largest_gap"] <= 0.3 + 1e-9
        before, charged, after = (why["ledger"][part] for part in ("before", "charged", "after"))
        for group in ("small", "large"):
            total = before["exposure"][group] + charged[group]
            assert after["exposure"][group] == pytest.approx(total)
        assert any("tolerance of 0.3" in line for line in why["summary"])
        regrets += told["added_regret"]
    assert regrets > 0


SERVED = ["pairrank", "pdgd", "dbgd", "fairco", "random", "fairexp-random"]
SERVED += ["mcfair", "fara", "offr", "p-mmf", "mmf", "xquad", "ears", "offr-pairrank", "offr-c3-ucb"]


@pytest.mark.parametrize("ranker", SERVED)
def test_every_ranker_serves_and_learns(serve: Serve, sqlite_address: str, ranker: str) -> None:
    groups = {"small": 1.0, "large": 1.0}
    client = serve(sqlite_address, policies={"shop": PolicySpec(ranker=ranker, features=3, groups=groups, length=4)})
    for number in range(5):
        ranked = client.post(RANK, params={"explain": "true"}, json=rank_body(number)).json()
        assert ranked["explanation"]["summary"]
        events = [{"position": 2}]
        answer = client.post("/v1/feedback", json={"ranking_id": ranked["ranking_id"], "events": events})
        assert answer.json()["results"][0]["status"] == "learned"
    assert client.get("/v1/policies/shop/fairness").json()["rounds"] == 5
