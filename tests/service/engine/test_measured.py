"""Exposure follows what was seen: views and last positions replace what was projected, and the ledger stays exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fairexp.checks.comparison import first_difference
from fairexp.fairness.ledger import within
from fairexp.service.changes import Changes
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.events import GivenEvent
from fairexp.service.engine.recovery import load_policy
from fairexp.service.policies.spec import FeedbackSpec
from tests.service.live import Live
from tests.service.worlds import SPEC, rank, rank_body
from tests.waiting import SECONDS

Start = Callable[..., Engine]
CURVE = 1.0 / np.arange(1, 5)


def booked(engine: Engine) -> list[float]:
    runtime = engine.policy("shop").runtime
    account = runtime.ranker.account()
    assert account is None or account.tobytes() == runtime.totals.exposure.tobytes()
    return runtime.totals.exposure.tolist()


def by_group(groups: Any, amounts: Any) -> list[float]:
    return np.bincount(groups, weights=amounts, minlength=2).tolist()


def learn(engine: Engine, ranking_id: str, *events: GivenEvent, **more: Any) -> str:
    learned = engine.learn(ranking_id, list(events), **more)
    learned.kept.result(SECONDS)
    return learned.status


@pytest.mark.parametrize("ranker", ["fairexp-pairrank", "fairco", "pdgd"])
def test_the_last_position_seen_and_views_replace_what_was_projected(
    started: Start, sqlite_address: str, ranker: str
) -> None:
    engine = started(sqlite_address)
    Changes(engine).put("shop", SPEC.model_copy(update={"ranker": ranker}))
    ranked = rank(engine)
    groups = ranked.shown.groups
    assert booked(engine) == by_group(groups, CURVE)
    assert learn(engine, ranked.id, seen=2) == "measured"
    assert booked(engine) == pytest.approx(by_group(groups, [1.0, 0.5, 0.0, 0.0]), abs=1e-12)
    assert learn(engine, ranked.id, seen=1) == "duplicate"
    assert learn(engine, ranked.id, GivenEvent(type="viewed", position=3)) == "measured"
    assert booked(engine) == pytest.approx(by_group(groups, [1.0, 0.5, 0.0, 0.25]), abs=1e-12)
    assert learn(engine, ranked.id, GivenEvent("v", "viewed", position=3, exposure=0.75)) == "measured"
    assert booked(engine) == pytest.approx(by_group(groups, [1.0, 0.5, 0.0, 0.75]), abs=1e-12)
    assert learn(engine, ranked.id, GivenEvent(position=2)) == "learned"  # clicked, so it was seen
    assert booked(engine) == pytest.approx(by_group(groups, [1.0, 0.5, CURVE[2], 0.75]), abs=1e-12)


def test_a_ranking_that_nobody_opened_is_given_back_within_its_window(started: Start, address: str) -> None:
    now = [1000.0]
    engine = started(address, clock=lambda: now[0])
    Changes(engine).put("shop", SPEC.model_copy(update={"feedback": FeedbackSpec(window_seconds=60.0)}))
    first, second = rank(engine, 1), rank(engine, 2)
    now[0] = 1060.0
    assert learn(engine, first.id, seen=0) == "measured"
    assert booked(engine) == pytest.approx(by_group(second.shown.groups, CURVE), abs=1e-12)
    now[0] = 1060.5
    entries = engine.policy("shop").runtime.seq
    assert learn(engine, second.id, seen=0) == "window_closed"
    assert learn(engine, second.id, GivenEvent(type="viewed", position=0)) == "window_closed"
    assert engine.policy("shop").runtime.seq == entries + 1  # the event is on record
    assert booked(engine) == pytest.approx(by_group(second.shown.groups, CURVE), abs=1e-12)


def test_rankings_of_an_earlier_version_stay_as_they_were_charged(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    Changes(engine).put("shop", SPEC)
    ranked = rank(engine)
    Changes(engine).reset("shop", ["ledger"])
    assert booked(engine) == [0.0, 0.0]
    assert learn(engine, ranked.id, seen=0) == "duplicate"
    assert learn(engine, ranked.id, GivenEvent(type="viewed", position=0)) == "noted"
    assert booked(engine) == [0.0, 0.0]


@pytest.mark.parametrize("snapshots", [True, False])
def test_the_ledger_is_what_was_measured_and_each_ranking_keeps_the_tolerance_on_it(
    started: Start, address: str, snapshots: bool
) -> None:
    """Against a sum over the rankings as they stand, made anew at every round; then from the log."""
    engine = started(address, settings={"snapshot_every": 11 if snapshots else 1000, "cached_bytes": 20_000})
    Changes(engine).put("shop", SPEC)
    rng, live = np.random.default_rng(5), engine.policy("shop")
    shown: dict[str, tuple[Any, Any]] = {}
    gaps = []
    for number in range(60):
        ranked = rank(engine, number)
        gap = live.runtime.totals.gaps()[0]
        assert not ranked.shown.qualified or within(gap, SPEC.tolerance)
        gaps.append(bool(ranked.shown.qualified))
        shown[ranked.id] = (ranked.shown.groups, CURVE)
        which = list(shown)[int(rng.integers(max(number - 5, 0), number + 1))]
        groups, amounts = shown[which]
        before = np.zeros(4) if amounts is CURVE else amounts
        if rng.random() < 0.5:
            depth = int(rng.integers(0, 5))
            learn(engine, which, seen=depth)
            shown[which] = (groups, np.where((np.arange(4) < depth) | (before > 0), CURVE, 0.0))
        else:
            position = int(rng.integers(4))
            learn(engine, which, GivenEvent(type="viewed", position=position))
            shown[which] = (groups, np.where((np.arange(4) == position) | (before > 0), CURVE, 0.0))
        expected = np.sum([by_group(*each) for each in shown.values()], axis=0)
        assert np.abs(np.array(booked(engine)) - expected).max() < 1e-9
    assert np.mean(gaps) > 0.8
    again = load_policy(engine.store, live.row, use_snapshots=snapshots).runtime.state()
    before_state = live.runtime.state()
    assert again[0] == before_state[0] and first_difference(again[1], before_state[1]) is None


def test_over_http_it_is_told_and_recorded(live: Callable[..., Live], sqlite_address: str) -> None:
    viewing = FeedbackSpec(events={"click": 1.0}, viewed=["impression"])
    client = live(sqlite_address, policies={"shop": SPEC.model_copy(update={"feedback": viewing})}).client
    ranking_id = client.post("/v1/policies/shop/rank", json=rank_body(request_id="q1")).json()["ranking_id"]
    told = client.post("/v1/feedback", json={"ranking_id": ranking_id, "events": [], "seen": 1}).json()
    assert told["results"][0]["status"] == "measured"
    event = {
        "action_name": "impression",
        "timestamp": "2018-11-13T20:20:39Z",
        "query_id": "q1",
        "event_attributes": {"position": {"ordinal": 2}},
    }
    assert client.post("/v1/ubi", json=event).json()["results"][0]["verdict"] == "measured"
    record = client.get(f"/v1/policies/shop/rankings/{ranking_id}").json()
    assert [each["measured"] for each in record["feedback"]] == [[1.0, 0.0, 0.0, 0.0], [1.0, 0.5, 0.0, 0.0]]
    assert sum(each["exposure"] for each in client.get("/v1/policies/shop/fairness").json()["groups"]) == 1.5
    batch = {"batch": [{"ranking_id": ranking_id, "events": [], "seen": 3}]}
    assert client.post("/v1/feedback", json=batch).json()["results"][0]["status"] == "measured"
    bad = client.post("/v1/feedback", json={"ranking_id": ranking_id, "events": [], "seen": -1})
    assert bad.status_code == 422 and bad.json()["error"]["field"] == "seen"
