"""Late, repeated, partial and out-of-order feedback; the window; what is refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest

from fairexp.checks.comparison import first_difference
from fairexp.service.changes import ChangeRequest, Changes
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.events import GivenEvent
from fairexp.service.policies.spec import FeedbackSpec, RetentionSpec
from fairexp.service.problems import ServiceError
from tests.service.worlds import SPEC, rank, rank_body
from tests.waiting import SECONDS

Serve = Callable[..., httpx.Client]
Start = Callable[..., Engine]
RANK = "/v1/policies/shop/rank"


def post(client: httpx.Client, ranking_id: str, *events: dict[str, Any], **more: Any) -> dict[str, Any]:
    answer = client.post("/v1/feedback", json={"ranking_id": ranking_id, "events": list(events), **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["results"][0])


def test_repeated_events_count_once(serve: Serve, address: str) -> None:
    client = serve(address)
    ranking_id = client.post(RANK, json=rank_body()).json()["ranking_id"]
    click = {"id": "e1", "position": 1}
    assert post(client, ranking_id, click)["accepted"] == 1
    theta = client.get("/v1/policies/shop").json()["theta"]
    again = post(client, ranking_id, click, click)
    assert (again["accepted"], again["duplicates"], again["status"]) == (0, 2, "duplicate")
    after = client.get("/v1/policies/shop").json()
    assert after["theta"] == theta and after["events"] == after["updates"] == 1


def test_the_same_event_twice_in_one_request_counts_once(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address)
    ranking_id = client.post(RANK, json=rank_body()).json()["ranking_id"]
    answer = post(client, ranking_id, {"id": "a", "position": 1}, {"id": "a", "position": 1})
    assert (answer["accepted"], answer["duplicates"]) == (1, 1)


def test_repeats_are_known_after_a_restart(started: Start, address: str) -> None:
    engine = started(address)
    Changes(engine).put("shop", SPEC)
    ranking_id = rank(engine).id
    engine.learn(ranking_id, [GivenEvent(id="e", position=1)]).kept.result(SECONDS)
    engine.close()
    engine = started(address)
    assert engine.learn(ranking_id, [GivenEvent(id="e", position=1)]).duplicates == 1
    assert engine.policy("shop").runtime.totals.events == 1


def test_clicks_in_parts_teach_each_preference_once(started: Start, tmp_path: object) -> None:
    """A second click adds what it says about the rest; what the first said is not counted again."""
    whole, parts = started(f"{tmp_path}/whole.db"), started(f"{tmp_path}/parts.db")
    ids = []
    for engine in (whole, parts):
        Changes(engine).put("shop", SPEC.model_copy(update={"parameters": {"pairs": "all"}}))
        ids.append(rank(engine).id)
    whole.learn(ids[0], [GivenEvent(position=0), GivenEvent(position=1)]).kept.result(SECONDS)
    for position in (1, 0):
        parts.learn(ids[1], [GivenEvent(position=position)]).kept.result(SECONDS)
    counts = [_pairs(engine) for engine in (whole, parts)]
    # Together: 0 and 1 over 2. In parts: 1 over 0 and 2 when only it was clicked, then 0 over 2.
    assert counts == [2, 3]
    repeated = parts.learn(ids[1], [GivenEvent(id="again", position=1)])
    assert repeated.status == "noted" and _pairs(parts) == 3


def _pairs(engine: Engine) -> int:
    return len(engine.policy("shop").runtime.ranker.state()["host.model.rows"])


def test_weights_add_up_to_a_click(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address)
    ranking_id = client.post(RANK, json=rank_body()).json()["ranking_id"]
    half = {"type": "half", "position": 2}
    assert post(client, ranking_id, {"id": "1", **half})["status"] == "noted"
    assert post(client, ranking_id, {"id": "2", "type": "view", "position": 1})["status"] == "noted"
    assert post(client, ranking_id, {"id": "3", **half})["status"] == "learned"
    told = client.get(f"/v1/policies/shop/rankings/{ranking_id}").json()
    assert [item["clicked"] for item in told["items"]] == [False, True, False, False]
    assert post(client, ranking_id, {"id": "4", "position": 3, "weight": 0.25})["status"] == "noted"


def test_order_of_arrival_does_not_matter_for_what_is_kept(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    Changes(engine).put("shop", SPEC)
    ids = [rank(engine, number).id for number in range(6)]
    for ranking_id in reversed(ids):
        learned = engine.learn(ranking_id, [GivenEvent(position=2)])
        learned.kept.result(SECONDS)
        assert learned.status == "learned"
    assert engine.policy("shop").runtime.totals.clicked_at.tolist() == [0, 0, 6, 0]


def test_the_window_closes_a_ranking_for_learning(started: Start, sqlite_address: str) -> None:
    now = 1_000_000.0
    engine = started(sqlite_address, clock=lambda: now)
    spec = SPEC.model_copy(
        update={"feedback": FeedbackSpec(window_seconds=60), "retention": RetentionSpec(rankings_seconds=600)}
    )
    Changes(engine).put("shop", spec)
    early, late = rank(engine).id, rank(engine).id
    now += 59
    assert engine.learn(early, [GivenEvent(position=1)]).status == "learned"
    now += 2
    before = engine.policy("shop").runtime.ranker.state()
    assert engine.learn(late, [GivenEvent(position=1)]).status == "window_closed"
    assert first_difference(engine.policy("shop").runtime.ranker.state(), before) is None
    assert engine.policy("shop").runtime.totals.events == 2


def test_feedback_for_a_replaced_model_is_noted_only(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    Changes(engine).put("shop", SPEC)
    ranking_id = rank(engine).id
    changed = Changes(engine).put("shop", SPEC.model_copy(update={"ranker": "pdgd"}), ChangeRequest(discard=True))
    assert "feedback that is still to come" in changed.effects.lost[0]
    assert engine.learn(ranking_id, [GivenEvent(position=1)]).status == "model_replaced"


def test_a_ranker_that_learns_from_whole_lists_learns_once(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    Changes(engine).put("shop", SPEC.model_copy(update={"ranker": "fairco"}))
    one, two = rank(engine).id, rank(engine).id
    assert engine.learn(one, [GivenEvent(position=1)]).status == "learned"
    assert engine.learn(one, [GivenEvent(position=2)]).status == "already_learned"
    assert engine.learn(two, [], final=True).status == "learned"
    assert engine.learn(two, [], final=True).status == "duplicate"


def test_batches_answer_one_by_one(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address)
    ids = [client.post(RANK, json=rank_body(number)).json()["ranking_id"] for number in range(3)]
    batch = [{"ranking_id": each, "events": [{"position": 1}]} for each in [*ids, "1-1-0123456789abcdef", ids[0]]]
    batch.append({"ranking_id": ids[1], "events": [{"item": "nobody"}]})
    results = client.post("/v1/feedback", json={"batch": batch}).json()["results"]
    assert [each["status"] for each in results] == ["learned"] * 3 + ["refused", "duplicate", "refused"]
    assert results[3]["error"]["code"] == "unknown_ranking"
    assert results[5]["error"]["field"] == "events[0].item"


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({"item": "d99"}, "events[0].item"),
        ({"position": 5}, "events[0].position"),
        ({"position": 0}, "events[0].position"),
        ({}, "events[0]"),
        ({"position": 1, "type": "teleport"}, "events[0].type"),
        ({"position": 1, "weight": "much"}, "events[0].weight"),
        ({"position": 1, "colour": "red"}, "events[0].colour"),
    ],
)
def test_bad_events_are_refused_by_name(serve: Serve, sqlite_address: str, event: dict[str, Any], field: str) -> None:
    client = serve(sqlite_address)
    ranking_id = client.post(RANK, json=rank_body()).json()["ranking_id"]
    answer = client.post("/v1/feedback", json={"ranking_id": ranking_id, "events": [event]})
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == field
    assert client.get("/v1/policies/shop").json()["events"] == 0


def test_unknown_and_forged_rankings_are_refused(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    Changes(engine).put("shop", SPEC)
    good = rank(engine).id
    policy, seq, tag = good.split("-")
    for bad in ("", "nonsense", f"{policy}-{int(seq) + 1}-{tag}", f"{policy}-{seq}-{'0' * 16}"):
        with pytest.raises(ServiceError, match="not a ranking that this service has shown") as caught:
            engine.learn(bad, [GivenEvent(position=0)])
        assert caught.value.status == 404


def test_rankings_that_are_not_at_hand_are_read_from_the_store(started: Start, address: str) -> None:
    engine = started(address, settings={"cached_bytes": 15_000})
    Changes(engine).put("shop", SPEC)
    ids = [rank(engine, number).id for number in range(12)]
    engine.writer.submit([]).result(SECONDS)
    assert int(ids[0].split("-")[1]) not in engine.policy("shop").opened
    assert engine.learn(ids[0], [GivenEvent(id="a", position=1)]).status == "learned"
    for number in range(12, 20):
        rank(engine, number)
    assert int(ids[0].split("-")[1]) not in engine.policy("shop").opened
    assert engine.learn(ids[0], [GivenEvent(id="a", position=1)]).status == "duplicate"
    assert 2 <= len(engine.policy("shop").opened) <= 4 and engine.policy("shop").opened.n_bytes <= 15_000
    assert np.array_equal(engine.policy("shop").runtime.totals.clicked_at, [0, 1, 0, 0])


def test_an_expired_ranking_is_gone_by_the_clock(started: Start, address: str) -> None:
    """For feedback as for reading, at hand or not, whether or not what expired has been dropped yet."""
    now = [1_000_000.0]
    engine = started(address, clock=lambda: now[0], settings={"snapshot_every": 2})
    times = {"feedback": FeedbackSpec(window_seconds=50), "retention": RetentionSpec(rankings_seconds=100)}
    Changes(engine).put("shop", SPEC.model_copy(update=times))
    ids = [rank(engine, number, request_id=f"r{number}").id for number in range(5)]
    policy, seqs = engine.policy("shop"), [engine.ids.read(ranking_id)[1] for ranking_id in ids]

    def learns(number: int) -> str:
        return engine.learn(ids[number], [GivenEvent(id=str(now[0]), position=0)]).status

    now[0] += 100
    assert learns(0) == "window_closed" and engine.archive.ranking(policy, seqs[0])[0].seq == seqs[0]
    assert (
        engine.rankings_named("r0") == [ids[0]]
        and len(engine.archive.latest(policy, limit=9, most_bytes=10**6)[0]) == 5
    )
    now[0] += 1
    for prepare in (lambda: None, policy.opened.clear, lambda: engine.background.compact(policy)):
        prepare()
        for number, act in itertools.product((0, 1), (learns, lambda n: engine.archive.ranking(policy, seqs[n]))):
            with pytest.raises(ServiceError, match="expired") as refused:
                act(number)
            assert (refused.value.status, refused.value.code) == (410, "ranking_expired")
        assert engine.rankings_named("r0") == [] == engine.archive.latest(policy, limit=9, most_bytes=10**6)[0]
    kept = [engine.store.entry(1, seq) is not None for seq in seqs[:2]]
    assert kept == [True, False]  # the first is needed by feedback that a snapshot does not hold yet
