"""Paging: a next page continues where the one before ended, and is charged for its own positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fairexp import PDGD, FairExp, PairRank, Query
from fairexp.checks.comparison import first_difference
from fairexp.client import Client
from fairexp.errors import ArgumentError
from fairexp.fairness.ledger import within
from fairexp.service.changes import Changes
from fairexp.service.engine.engine import Engine, Ranked
from fairexp.service.engine.events import GivenEvent
from fairexp.service.engine.recovery import load_policy
from tests.service.live import Live
from tests.service.worlds import SPEC, candidates, matrix, rank_body
from tests.waiting import SECONDS

Start = Callable[..., Engine]
PAGED = SPEC.model_copy(update={"pages": 3})
RANK = "/v1/policies/shop/rank"


def rank(engine: Engine, number: int, after: str | None = None, n: int = 14) -> Ranked:
    ranked = engine.rank("shop", lambda runtime: candidates(number, n), after=after)
    ranked.kept.result(SECONDS)
    return ranked


@pytest.mark.parametrize("ranker", ["fairexp-pairrank", "fairco", "pdgd"])
@pytest.mark.parametrize("snapshots", [True, False])
def test_pages_go_on_are_charged_for_their_positions_and_come_back_from_the_log(
    started: Start, sqlite_address: str, ranker: str, snapshots: bool
) -> None:
    engine = started(sqlite_address, settings={"snapshot_every": 5 if snapshots else 1000, "cached_bytes": 9000})
    Changes(engine).put("shop", PAGED.model_copy(update={"ranker": ranker}))
    live = engine.policy("shop")
    curve, expected = 1.0 / np.arange(1, 13), np.zeros(2)
    for number in range(8):
        pages = [rank(engine, number)]
        pages += [rank(engine, number, pages[0].id)]
        pages += [rank(engine, number, pages[1].id)]
        ids = [name for page in pages for name in page.shown.ids]
        assert len(set(ids)) == 12
        for place, page in enumerate(pages):
            assert page.shown.first == 4 * place
            amounts = curve[4 * place : 4 * place + 4]
            expected += np.bincount(page.shown.groups, weights=amounts, minlength=2)  # type: ignore[arg-type]
            if ranker != "pdgd":
                assert page.shown.exposure is not None and page.shown.exposure.tolist() == amounts.tolist()
        assert live.runtime.totals.exposure == pytest.approx(expected)
        if ranker == "fairexp-pairrank" and pages[2].shown.qualified:
            assert within(live.runtime.totals.gaps()[0], SPEC.tolerance)
        engine.learn(pages[1].id, [GivenEvent(position=5)]).kept.result(SECONDS)
    assert live.runtime.totals.shown_at.tolist() == [8] * 12
    assert live.runtime.totals.clicked_at.tolist() == [0] * 5 + [8] + [0] * 6
    again, now = load_policy(engine.store, live.row, use_snapshots=snapshots).runtime.state(), live.runtime.state()
    assert again[0] == now[0] and first_difference(again[1], now[1]) is None


def test_over_http_positions_count_through_the_pages(live: Callable[..., Live], address: str) -> None:
    running = live(address, policies={"shop": PAGED, "other": PAGED})
    client = running.client
    first = client.post(RANK, json=rank_body(0, 10)).json()
    asked = rank_body(0, 10, after=first["ranking_id"], request_id="p2")
    second = client.post(RANK, json=asked).json()
    assert [item["position"] for item in second["items"]] == [5, 6, 7, 8]
    assert client.post(RANK, json=asked).json() == second  # asked again, and charged once
    other = rank_body(0, 10, after=second["ranking_id"], request_id="p2")
    assert client.post(RANK, json=other).json()["error"]["code"] == "request_id_reused"
    third = client.post(RANK, json=rank_body(0, 10, after=second["ranking_id"])).json()
    assert [item["position"] for item in third["items"]] == [9, 10]
    event = {"ranking_id": second["ranking_id"], "events": [{"position": 6}], "seen": 7}
    assert client.post("/v1/feedback", json=event).json()["results"][0]["status"] == "learned"
    record = client.get(f"/v1/policies/shop/rankings/{second['ranking_id']}").json()
    assert [(item["position"], item["clicked"]) for item in record["items"]][:2] == [(5, False), (6, True)]
    assert record["feedback"][0]["measured"] == pytest.approx([1 / 5, 1 / 6, 1 / 7, 0.0])
    event["events"] = [{"position": 2}]
    refused = client.post("/v1/feedback", json=event).json()["error"]
    assert "from 5 to 8" in refused["message"] and refused["field"] == "events[0].position"
    for body, status in (
        (rank_body(0, 10, after=third["ranking_id"]), 422),  # all were shown
        (rank_body(0, 10, after="1-2-0011223344556677"), 404),
    ):
        answer = client.post(RANK, json=body)
        assert answer.status_code == status and answer.json()["error"]["field"] == "after", answer.text
    elsewhere = client.post("/v1/policies/other/rank", json=rank_body(0, 10, after=first["ranking_id"]))
    assert elsewhere.status_code == 404
    with Client(running.url, timeout_seconds=SECONDS) as python:
        page = python.rank("shop", [f"d{i}" for i in range(8)], matrix(0), groups=["small", "large"] * 4)
        after = python.rank(
            "shop", [f"d{i}" for i in range(8)], matrix(0), groups=["small", "large"] * 4, after=page.ranking_id
        )
    assert {item.id for item in page.items}.isdisjoint(item.id for item in after.items)


def test_there_are_so_many_pages_and_no_more(live: Callable[..., Live], sqlite_address: str) -> None:
    client = live(sqlite_address, policies={"shop": SPEC}).client
    first = client.post(RANK, json=rank_body(0)).json()["ranking_id"]
    refused = client.post(RANK, json=rank_body(0, after=first))
    assert refused.status_code == 422 and refused.json()["error"]["field"] == "after"
    spec: dict[str, Any] = {"features": 2, "ranker": "pdgd", "length": 4, "pages": 2, "exposure": [1.0] * 7}
    assert "8 positions" in client.put("/v1/policies/new", json=spec).text
    assert client.put("/v1/policies/new", json={**spec, "exposure": "flat", "pages": 26}).status_code == 422
    assert client.put("/v1/policies/new", json={**spec, "exposure": [1.0] * 8}).status_code == 200


def test_a_ranker_fills_positions_of_a_given_exposure() -> None:
    query = Query(features=np.eye(4), groups=[0, 0, 1, 1])
    ranker = FairExp(PairRank(n_features=4, length=3), tolerance=10.0, seed=1)
    assert ranker.rank(query, length=2, exposure=[0.25, 0.125]).exposure.tolist() == [0.25, 0.125]  # type: ignore[union-attr]
    assert ranker.ledger.exposure.sum() == 0.375
    assert ranker.exposure.tolist() == [1.0, 0.5, 1 / 3]
    with pytest.raises(ArgumentError, match="exposure: expected 3 numbers"):
        ranker.rank(query, exposure=[0.25, 0.125])
    assert len(PDGD(n_features=4, length=2, seed=1).rank(query, exposure=[0.5, 0.25])) == 2
