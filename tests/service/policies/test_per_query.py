"""Policies whose rankers learn of each query by itself: known by ids, kept, replayed and changed like the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import httpx
import numpy as np
import pytest

from fairexp.checks.comparison import first_difference
from fairexp.registry import classes_of
from fairexp.service.changes import ChangeRequest, Changes
from fairexp.service.engine.candidates import query_key
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.events import GivenEvent
from fairexp.service.engine.recovery import load_policy
from fairexp.service.policies.rankers import RANKERS, build_ranker, resolve_parameters
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.problems import ServiceError
from fairexp.service.store.sql import SqlStore
from fairexp.types import Query
from tests.service.http.test_metarank import ranking as metarank_ranking
from tests.service.live import Live
from tests.service.store.test_erasure import everything, in_files
from tests.service.worlds import SPEC, candidates, matrix, rank, rank_body
from tests.waiting import SECONDS

Start = Callable[..., Engine]
Serve = Callable[..., httpx.Client]
PER_QUERY = tuple(name for name in RANKERS if any(each.needs_query_id for each in classes_of(name)))
BANDITS = (*PER_QUERY, "c3-ucb", "cascade-linucb", "fairexp-c3-ucb", "fairexp-cascade-linucb")
N_QUERIES = 3


def policy(ranker: str, **more: Any) -> PolicySpec:
    return SPEC.model_copy(update={"ranker": ranker, **more})


def request(number: int, **more: Any) -> dict[str, Any]:
    """The same few queries again and again, with one candidate more from the sixth round on."""
    return rank_body(number % N_QUERIES, 8 if number < 6 else 9, **more)


def play(engine: Engine, rounds: int, *, start: int = 0) -> list[str]:
    """Each of a few queries in turn; feedback for every second ranking comes three rounds late."""
    told: list[str] = []
    for number in range(start, start + rounds):
        which = number % N_QUERIES
        told.append(rank(engine, which, n=8 if number < 6 else 9, query_id=f"q{which}").id)
        late = told[-4] if number % 2 and len(told) > 3 else told[-1]
        engine.learn(late, [GivenEvent(position=number % 3)], final=True).kept.result(SECONDS)
    return told


def test_the_names_are_those_of_the_registry() -> None:
    plain = {"recurrank", "toprank", "batchrank", "bubblerank", "unirank"}
    plain |= {"cascade-ucb1", "cascade-kl-ucb", "dcm-kl-ucb"}
    assert set(PER_QUERY) >= {*plain, *(f"fairexp-{name}" for name in plain), "rba"}
    assert not {"oracle", "fairexp-oracle"} & set(RANKERS)


@pytest.mark.parametrize("ranker", BANDITS)
def test_over_http_with_a_restart(live: Callable[..., Live], sqlite_address: str, ranker: str) -> None:
    """After it, everything stands at the same bits, and goes on as a ranker of the library that never stopped."""
    first = live(sqlite_address, policies={"shop": policy(ranker)}, settings={"snapshot_every": 7})
    twin, _ = build_ranker(policy(ranker), resolve_parameters(policy(ranker)))
    shown = [_round(first.client, number, twin, ranker) for number in range(12)]
    before = first.service.engine.policy("shop").runtime.state()
    first.stop()
    second = live(sqlite_address, policies={"shop": policy(ranker)})
    after = second.service.engine.policy("shop").runtime.state()
    assert before[0] == after[0] and first_difference(before[1], after[1]) is None
    shown += [_round(second.client, number, twin, ranker) for number in range(12, 18)]
    late = {"ranking_id": shown[0], "events": [{"id": "late", "position": 4}]}
    assert second.client.post("/v1/feedback", json=late).json()["results"][0]["accepted"] == 1
    asked = second.client.get(f"/v1/policies/shop/rankings/{shown[0]}").json()
    assert asked["query_id"] == "q0" and asked["explanation"]["summary"]


def _round(client: httpx.Client, number: int, twin: Any, ranker: str) -> str:
    body = request(number)
    told = client.post("/v1/policies/shop/rank", json=body)
    assert told.status_code == 200, told.text
    answer = told.json()
    clicks = np.zeros(len(answer["items"]), dtype=bool)
    clicks[number % 3] = True
    event = {"ranking_id": answer["ranking_id"], "events": [{"position": number % 3 + 1}]}
    assert client.post("/v1/feedback", json=event).json()["results"][0]["status"] == "learned"
    if ranker in PER_QUERY:
        ids = [each["id"] for each in body["candidates"]]
        features = matrix(number % N_QUERIES, len(ids)).astype(np.float64)
        known = {"query_id": query_key(body["query_id"]), "document_ids": ids}
        ranking = twin.rank(Query(features=features, groups=np.arange(len(ids)) % 2, **known))
        assert [item["id"] for item in answer["items"]] == ranking.document_ids.tolist()
        twin.update(ranking, clicks)
    return str(answer["ranking_id"])


@pytest.mark.parametrize("ranker", PER_QUERY)
def test_the_log_alone_rebuilds_the_state_bit_for_bit(started: Start, sqlite_address: str, ranker: str) -> None:
    engine = started(sqlite_address, settings={"snapshot_every": 9})
    Changes(engine).put("shop", policy(ranker, parameters={"max_queries": 2, "max_documents": 10}))
    play(engine, 25)
    live = engine.policy("shop")
    meta, arrays = live.runtime.state()
    (known,) = [value for key, value in arrays.items() if key.endswith(".queries.queries")]
    assert known.shape == (2,)
    engine.writer.submit([]).result(SECONDS)
    for use_snapshots in (True, False):
        loaded = load_policy(engine.store, live.row, use_snapshots=use_snapshots)
        assert loaded.runtime.state()[0] == meta
        assert first_difference(loaded.runtime.state()[1], arrays) is None


def test_queries_and_documents_are_known_apart(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    Changes(engine).put("shop", policy("toprank", parameters={"horizon": 200}))
    for _ in range(150):
        for query, liked in (("one", "d3"), ("two", "d6")):
            told = rank(engine, query_id=query)
            engine.learn(told.id, [GivenEvent(item=liked)] if liked in told.shown.ids else [], final=True)
    assert [rank(engine, query_id=query).shown.ids[0] for query in ("one", "two")] == ["d3", "d6"]


def test_a_request_without_a_query_id_is_refused_with_the_remedy(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address, policies={"shop": policy("fairexp-toprank")})
    body = rank_body()
    del body["query_id"]
    told = client.post("/v1/policies/shop/rank", json=body)
    assert told.status_code == 422 and told.json()["error"]["field"] == "query_id"
    assert "fairexp-toprank knows what it has learned" in told.json()["error"]["message"]
    assert "Send the same id with the same query every time" in told.json()["error"]["message"]
    theirs = client.post("/rank/shop", json=metarank_ranking())
    assert theirs.status_code == 422 and "ask /v1/policies/POLICY/rank" in theirs.json()["error"]["message"]
    assert client.get("/v1/policies/shop").json()["rounds"] == 0


def test_more_candidates_than_it_can_hold_are_refused(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address, policies={"shop": policy("rba", parameters={"max_documents": 8})})
    assert client.post("/v1/policies/shop/rank", json=rank_body()).status_code == 200
    told = client.post("/v1/policies/shop/rank", json=rank_body(n=9))
    assert (
        told.status_code == 422 and "at most 8, the parameter max_documents of rba" in told.json()["error"]["message"]
    )


def test_a_policy_that_could_outgrow_the_store_is_refused_and_a_large_one_warns(started: Start, tmp_path: Any) -> None:
    changes = Changes(started(f"{tmp_path}/store.db"))
    with pytest.raises(ServiceError, match="which may come to 17,150 MB"):
        changes.put("shop", policy("toprank", parameters={"max_queries": 1000, "max_documents": 1000}))
    large = changes.put("shop", policy("toprank"))
    assert any("1000 queries of 200 documents may come to 710 MB" in each for each in large.warnings)
    assert changes.put("news", policy("cascade-ucb1")).warnings == []


def test_an_erased_user_leaves_what_was_learned_and_no_query(started: Start, sqlite_address: str) -> None:
    """The query's text goes; what it is known by stays, so the log alone still leads to the same bits."""
    engine = started(sqlite_address, settings={"snapshot_every": 10})
    Changes(engine).put("shop", policy("fairexp-toprank"))
    for number in range(12):
        told = rank(engine, user="user-a", query_id=f"private words {number % 2}")
        engine.learn(told.id, [GivenEvent(position=0)]).kept.result(SECONDS)
    meta, arrays = engine.policy("shop").runtime.state()
    assert b"private words" in everything(cast(SqlStore, engine.store))
    assert engine.erase("user-a") == 12
    assert b"private words" not in everything(cast(SqlStore, engine.store))
    loaded = load_policy(engine.store, engine.policy("shop").row, use_snapshots=False)
    assert loaded.runtime.state()[0] == meta and first_difference(loaded.runtime.state()[1], arrays) is None
    assert rank(engine, query_id="private words 1").shown.number == 12
    known = engine.policy("shop").runtime.ranker.learner.queries.records  # type: ignore[attr-defined]
    assert set(known) == {query_key("private words 0"), query_key("private words 1")}
    engine.close()
    assert not in_files(sqlite_address, "private words 0")


CHANGES: tuple[tuple[str, dict[str, Any], bool], ...] = (
    ("toprank", {"features": ["price", "new"]}, True),
    ("toprank", {"ranker": "fairexp-toprank"}, True),
    ("fairexp-batchrank", {"groups": {"new": 1.0, "large": 1.0, "small": 2.0}}, True),
    ("rba", {"length": 6}, True),
    ("rba", {"length": 2}, True),
    ("cascade-ucb1", {"parameters": {"max_queries": 1}}, True),
    ("bubblerank", {"length": 2}, True),
    ("batchrank", {"length": 2}, True),
    ("unirank", {"length": 7}, True),
    ("recurrank", {"features": ["price", "relevance", "freshness"]}, True),
    ("recurrank", {"features": ["relevance", "freshness", "price", "new"]}, False),
    ("recurrank", {"length": 3}, False),
    ("toprank", {"ranker": "bubblerank"}, False),
)


@pytest.mark.parametrize(("ranker", "change", "keeps"), CHANGES)
def test_changes_keep_what_is_known_of_queries(
    started: Start, sqlite_address: str, ranker: str, change: dict[str, Any], keeps: bool
) -> None:
    """Or say that they do not; either way the log leads through the change, and late feedback is taken."""
    engine = started(sqlite_address)
    Changes(engine).put("shop", policy(ranker))
    early = play(engine, 12)
    after = policy(ranker).model_copy(update=change)
    told = Changes(engine).put("shop", after, ChangeRequest(dry_run=True))
    assert (told.effects.lost == ()) == keeps
    assert keeps == any("what was learned" in each for each in told.effects.kept)
    Changes(engine).put("shop", after, ChangeRequest(discard=not keeps))
    late = engine.learn(early[10], [GivenEvent(id="late", position=0)])
    assert late.status in ({"learned", "already_learned"} if keeps else {"model_replaced"})
    width = after.n_features
    for number in range(12, 24):
        asked = candidates(number, query_id=f"q{number % N_QUERIES}")
        object.__setattr__(asked, "features", matrix(number % N_QUERIES, d=width))
        ranked = engine.rank("shop", lambda runtime, asked=asked: asked)  # type: ignore[misc]
        engine.learn(ranked.id, [GivenEvent(position=number % 2)]).kept.result(SECONDS)
    meta, arrays = engine.policy("shop").runtime.state()
    engine.writer.submit([]).result(SECONDS)
    loaded = load_policy(engine.store, engine.policy("shop").row, use_snapshots=False)
    assert loaded.runtime.state()[0] == meta and first_difference(loaded.runtime.state()[1], arrays) is None
