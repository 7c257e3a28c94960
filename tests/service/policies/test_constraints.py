"""Policies with several constraints: declared, ranked, kept, explained, reported and changed, each by its name."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest

from fairexp.checks.comparison import first_difference
from fairexp.fairness.ledger import Ledger, amounts_by_group
from fairexp.service.changes import ChangeRequest, Changes
from fairexp.service.engine.candidates import Candidates
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.events import GivenEvent
from fairexp.service.engine.open_ranking import OpenRanking
from fairexp.service.engine.recovery import load_policy
from fairexp.service.engine.runtime import Runtime
from fairexp.service.log.audit import audit
from fairexp.service.log.feedback import Event
from fairexp.service.log.shown import Shown, groups_of
from fairexp.service.policies.spec import PolicySpec, parse_policy
from fairexp.service.problems import ServiceError
from fairexp.service.views.explain import explain
from tests.service.live import Live
from tests.service.worlds import matrix, rank_body
from tests.waiting import SECONDS

Start = Callable[..., Engine]
Serve = Callable[..., httpx.Client]
PROVIDER, TYPE = {"provider": ["small", "large"]}, {"type": ["news", "video"]}
TWO = [
    {"labels": PROVIDER, "tolerance": 0.6},
    {"labels": TYPE, "shares": {"news": 2.0, "video": 1.0}, "tolerance": 1.0},
]
EVERY_KIND = [
    *TWO,
    {"name": "both", "labels": {**PROVIDER, **TYPE}, "shares": "size", "tolerance": 5.0},
    {"name": "by merit", "labels": TYPE, "shares": "merit", "window": 20, "tolerance": 5.0},
    {"name": "by segment", "labels": PROVIDER, "per": "segment", "half_life": 20.0, "tolerance": 2.0},
    {"name": "by query", "labels": PROVIDER, "per": "query", "tolerance": 2.0},
]


def policy(constraints: list[dict[str, Any]] = TWO, **more: Any) -> PolicySpec:
    return parse_policy({"features": 3, "length": 4, "seed": 7, "constraints": constraints, **more})


def body(number: int, n: int = 12, **more: Any) -> dict[str, Any]:
    """A request whose candidates have all combinations of labels."""
    asked = rank_body(number, n, **more)
    for place, candidate in enumerate(asked["candidates"]):
        candidate["group"] = {"provider": PROVIDER["provider"][place % 2], "type": TYPE["type"][place // 2 % 2]}
    return asked


def in_columns(number: int, n: int = 12, **more: Any) -> dict[str, Any]:
    """The same request by columns."""
    rows = body(number, n)["candidates"]
    groups = {name: [row["group"][name] for row in rows] for name in ("provider", "type")}
    features = base64.b64encode(matrix(number, n).astype("<f4").tobytes()).decode()
    return {
        "query_id": f"q{number}",
        "ids": [row["id"] for row in rows],
        "groups": groups,
        "features": features,
        **more,
    }


def candidates(number: int, n: int = 12, **more: Any) -> Candidates:
    labels = {"provider": np.arange(n) % 2, "type": np.arange(n) // 2 % 2}
    context = {"query_id": f"q{number % 3}"}
    ids = [f"d{place}" for place in range(n)]
    return Candidates(ids, None, matrix(number, n), context=context, **{"labels": labels, **more})


REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"groups": {"a": 1.0, "b": 1.0}}, "constraints: expected these, or groups and tolerance"),
    ({"tolerance": 0.2}, "tolerance: expected none beside constraints"),
    ({"ranker": "pairrank"}, "constraints: expected a ranker fairexp-HOST"),
    ({"ranker": "fairco"}, "constraints: expected a ranker fairexp-HOST"),
    ({"constraints": [TWO[0], TWO[0]]}, "constraints: expected names that differ, got provider, provider"),
    ({"constraints": [{"labels": {"provider": ["a"]}}]}, "constraints[0].labels.provider: expected list "),
    ({"constraints": [{"labels": {"provider": ["a", "a"]}}]}, "constraints[0].labels.provider: expected labels that"),
    ({"constraints": [{"labels": PROVIDER, "shares": {"small": 1.0}}]}, "constraints[0].shares: expected a number"),
    ({"constraints": [{"labels": PROVIDER, "shares": "even"}]}, "constraints[0].shares: expected 'equal'"),
    (
        {"constraints": [{"labels": PROVIDER, "window": 5, "half_life": 5.0}]},
        "constraints[0].window: expected a window",
    ),
    (
        {"constraints": [{"labels": {name: [str(n) for n in range(100)] for name in "abcd"}}]},
        "constraints[0].labels: expected at most 1000 groups in all, got 100000000",
    ),
    (
        {"constraints": [{"labels": PROVIDER, "per": "query", "window": 251}]},
        "constraints[0].window: expected at most 5,000,000 numbers in all (groups x window x max_ledgers), got 5,020",
    ),
    ({"constraints": [{"labels": {"groups": ["a", "b"]}}]}, "constraints[0].name: expected another word"),
    (
        {"constraints": [TWO[0], {"name": "other", "labels": {"provider": ["a", "b"]}}]},
        "constraints: expected the same labels of 'provider' everywhere",
    ),
)


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_what_makes_no_sense_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ServiceError) as refused:
        policy(**{"constraints": TWO, **change})
    assert str(refused.value).startswith(message)


def test_a_server_limits_groups_of_intersections_too(started: Start, sqlite_address: str) -> None:
    labels = {"provider": ["a", "b", "c", "d", "e"], "type": ["v", "w", "x", "y", "z"]}
    with pytest.raises(ServiceError, match="groups: expected at most 20, got 25"):
        Changes(started(sqlite_address)).put("shop", policy([{"labels": labels}]))


def test_the_short_form_is_one_constraint() -> None:
    spec = PolicySpec(features=3, groups={"small": 1.0, "large": 2.0}, tolerance=0.3)
    (one,) = spec.accounts
    assert (one.title, one.tolerance, one.group_names) == ("groups", 0.3, ["small", "large"])
    assert one.fixed_shares is not None and one.fixed_shares.tolist() == [1.0, 2.0]


def test_over_http_with_a_restart(live: Callable[..., Live], sqlite_address: str) -> None:
    """Each constraint is kept along the sequence of charges; both forms of a request rank the same."""
    running = live(sqlite_address, policies={"shop": policy()}, settings={"snapshot_every": 20})
    told = []
    for number in range(30):
        asked = body(number) if number % 2 else in_columns(number)
        answer = running.client.post("/v1/policies/shop/rank", json=asked).json()
        told.append(answer)
        event = {"ranking_id": answer["ranking_id"], "events": [{"position": 1 + number % 4}]}
        assert running.client.post("/v1/feedback", json=event).json()["results"][0]["status"] == "learned"
    assert all(answer["met"] == {"provider": True, "type": True} and answer["qualified"] for answer in told)
    exposures = _summed(running, told)
    fairness = running.client.get("/v1/policies/shop/fairness").json()
    assert [each["constraint"] for each in fairness["constraints"]] == ["provider", "type"]
    for each, exposure in zip(fairness["constraints"], exposures, strict=True):
        assert [group["exposure"] for group in each["groups"]] == exposure.tolist()
        assert each["met_share"] == 1.0 and max(each["history"]["largest_gap"]) <= each["tolerance"] + 1e-9
        assert len(each["history"]["largest_gap"]) == 30
    assert fairness["groups"] == fairness["constraints"][0]["groups"]
    text = running.client.get("/metrics").text
    assert 'fairexp_tolerance{constraint="type",policy="shop"} 1.0' in text
    assert 'fairexp_met_share{constraint="provider",policy="shop"} 1.0' in text
    before = running.service.engine.policy("shop").runtime.state()
    (audited, _) = audit(running.service.engine.store)
    assert audited.met == {"provider": (30, 30), "type": (30, 30)} and audited.problems == ()
    running.stop()
    again = live(sqlite_address, policies={"shop": policy()})
    after = again.service.engine.policy("shop").runtime.state()
    assert before[0] == after[0] and first_difference(before[1], after[1]) is None
    assert again.client.get("/v1/policies/shop/fairness").json() == fairness
    recorded = again.client.get(f"/v1/policies/shop/rankings/{told[3]['ranking_id']}").json()
    assert [item["group"] for item in recorded["items"]] == [item["group"] for item in told[3]["items"]]
    assert set(recorded["items"][0]["group"]) == {"provider", "type"} and recorded["met"]["type"]


def _summed(running: Live, told: list[dict[str, Any]]) -> list[Any]:
    """The exposure of each group, from the answers alone; the gaps are within the tolerance after each."""
    curve, exposures = 1.0 / np.arange(1, 5), [np.zeros(2), np.zeros(2)]
    for answer in told:
        for number, (name, labels) in enumerate([*PROVIDER.items(), *TYPE.items()]):
            groups = np.array([labels.index(item["group"][name]) for item in answer["items"]])
            exposures[number] = exposures[number] + amounts_by_group(groups, curve, 2)
            shares, tolerance = (np.ones(2), 0.6) if number == 0 else (np.array([2.0, 1.0]), 1.0)
            assert Ledger(shares, exposures[number]).largest_gap <= tolerance + 1e-9
    return exposures


@pytest.mark.parametrize("ranker", ["fairexp-pairrank", "fairexp-toprank", "fairexp-pdgd", "fairexp-recurrank"])
def test_constraints_of_every_kind_are_replayed_bit_for_bit(started: Start, sqlite_address: str, ranker: str) -> None:
    """With pins, weights and segments; with snapshots and from the log alone."""
    engine = started(sqlite_address, settings={"snapshot_every": 17})
    Changes(engine).put("shop", policy(EVERY_KIND, ranker=ranker))
    for number in range(40):
        n, special = 4 + number % 5, {"segment": f"s{number % 3}", "weight": 1.0 if number % 4 else 2.5}
        pinned = {number % 4: 2} if number % 3 == 0 else {}
        ranked = engine.rank("shop", lambda _, n=n, s=special, p=pinned: candidates(number, n, **s, pinned=p))  # noqa: B023
        engine.learn(ranked.id, [GivenEvent(position=number % 4)], final=True).kept.result(SECONDS)
        assert not pinned or (ranked.shown.pinned is not None and ranked.shown.ids[number % 4] == "d2")
    meta, arrays = engine.policy("shop").runtime.state()
    engine.writer.submit([]).result(SECONDS)
    for use_snapshots in (True, False):
        loaded = load_policy(engine.store, engine.policy("shop").row, use_snapshots=use_snapshots)
        assert loaded.runtime.state()[0] == meta
        assert first_difference(loaded.runtime.state()[1], arrays) is None


def test_learned_shares_are_told_with_their_errors(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address, policies={"shop": policy(EVERY_KIND)})
    for number in range(60):
        answer = client.post("/v1/policies/shop/rank", json=body(number, segment=f"s{number % 2}")).json()
        client.post("/v1/feedback", json={"ranking_id": answer["ranking_id"], "events": [{"position": 1}]})
    told = {each["constraint"]: each for each in client.get("/v1/policies/shop/fairness").json()["constraints"]}
    size = [group["share"] for group in told["both"]["groups"]]
    assert size == pytest.approx([0.25] * 4) and [g["share_error"] for g in told["both"]["groups"]] == [0.0] * 4
    merit = told["by merit"]["groups"]
    assert sum(group["share"] for group in merit) == pytest.approx(1.0)
    assert any(group["share_error"] for group in merit)
    assert told["by segment"]["pairs"] == [] and told["provider"]["pairs"]


WRONG: tuple[tuple[dict[str, Any], str, str], ...] = (
    ({"pinned": {"nobody": 1}}, "pinned", "expected ids of candidates"),
    ({"pinned": {"d1": 5}}, "pinned.d1", "expected positions from 1 to 4, each once, got 5"),
    ({"pinned": {"d1": 3}, "k": 2}, "pinned.d1", "from 1 to 2"),
    ({"pinned": {"d1": 2, "d2": 2}}, "pinned.d2", "got 2 again"),
    ({"pinned": {"d1": 0}}, "pinned[...]", ">= 1"),
    ({"weight": 0.0}, "weight", "> 0"),
    ({"segment": None}, "segment", "which a constraint goes by"),
    ({"query_id": None}, "query_id", "Send the same id with the same query"),
)


@pytest.mark.parametrize(("change", "field", "message"), WRONG)
def test_requests_that_lack_something_are_refused_by_field(
    serve: Serve, sqlite_address: str, change: dict[str, Any], field: str, message: str
) -> None:
    client = serve(sqlite_address, policies={"shop": policy(EVERY_KIND)})
    asked = {**body(0, segment="s"), **change}
    told = client.post("/v1/policies/shop/rank", json=asked)
    assert told.status_code == 422
    assert told.json()["error"]["field"] == field and message in told.json()["error"]["message"]


def test_a_candidate_without_a_label_is_refused(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address, policies={"shop": policy()})
    wrong, short, plain = body(0), in_columns(0), rank_body(0)
    wrong["candidates"][2]["group"] = {"provider": "small"}
    short["groups"]["type"][5] = "radio"
    for asked, field, given in (
        (wrong, "candidates[2].group.type", "got nothing"),
        (short, "groups.type[5]", "got 'radio'"),
        (plain, "candidates[0].group.provider", "got nothing"),
    ):
        told = client.post("/v1/policies/shop/rank", json=asked).json()["error"]
        assert told["field"] == field and given in told["message"]
    short["groups"]["type"].pop()
    assert client.post("/v1/policies/shop/rank", json=short).json()["error"]["field"] == "groups.type"
    by_attribute = client.put("/v1/policies/plain", json={"features": 3, "groups": {"small": 1.0, "large": 1.0}})
    assert by_attribute.status_code == 201 or by_attribute.status_code == 200
    told = client.post("/v1/policies/plain/rank", json=body(0)).json()["error"]
    assert told["field"] == "candidates[0].group" and "one of small, large" in told["message"]


def test_pins_stand_where_they_are_pinned_and_say_so(serve: Serve, sqlite_address: str) -> None:
    client = serve(sqlite_address, policies={"shop": policy(), "news": policy([TWO[0]], ranker="fairexp-toprank")})
    for name in ("shop", "news"):
        url, pinned = f"/v1/policies/{name}/rank", {"d9": 1, "d3": 4}
        asked = body(1, pinned=pinned, request_id=f"r-{name}")
        told = client.post(url, params={"explain": True}, json=asked).json()
        assert (told["items"][0]["id"], told["items"][3]["id"]) == ("d9", "d3")
        assert any(
            "d9 (large" in line and "was pinned to position 1" in line for line in told["explanation"]["summary"]
        )
        assert told["explanation"]["pinned"] == ["d9", "d3"]
        assert client.post(url, json={**asked, "pinned": {"d9": 1}}).status_code == 409
        assert client.post(url, json=asked).headers["x-repeated"] == "true"
    plain = {"features": 3, "ranker": "pairrank"}
    client.put("/v1/policies/plain", json=plain)
    refused = client.post("/v1/policies/plain/rank", json=rank_body(0, pinned={"d1": 1}))
    assert refused.status_code == 422 and refused.json()["error"]["field"] == "pinned"


def rankings(spec: PolicySpec, rounds: int, seed: int) -> Any:
    runtime, _ = Runtime.new(spec)
    rng = np.random.default_rng(seed)
    for number in range(rounds):
        n = int(rng.integers(3, 14))
        labels = {"provider": rng.integers(0, 2, n), "type": rng.integers(0, 2, n)}
        features = rng.random((n, 3)).astype(np.float32)
        pinned = {0: int(rng.integers(n))} if number % 6 == 0 else {}
        asked = Candidates([f"d{i}" for i in range(n)], None, features, labels=labels, pinned=pinned)
        shown, _ = runtime.rank(asked, at=float(number))
        yield Shown.read(shown.payload(), seq=shown.seq, at=shown.at)
        best = int(np.argmax(shown.features[:, 0]))
        runtime.learn(OpenRanking.of(shown), [Event(f"e{number}", "click", best, 1.0)], at=float(number), final=True)


def test_explanations_say_what_moved_because_of_which() -> None:
    """What is told of a constraint is what its sums say, and a move that is told to be for it would break it undone."""
    spec, seen = policy(), set()
    for shown in rankings(spec, 250, seed=1):
        told = explain(shown, spec)
        for each, account, about in zip(spec.accounts, shown.accounts, told["constraints"], strict=True):
            shares, groups = each.fixed_shares, groups_of(shown, each.attributes)
            assert shares is not None and shown.exposure is not None
            after = account.spent + amounts_by_group(groups, shown.exposure, 2)
            assert about["gap"] == pytest.approx(Ledger(shares, after).largest_gap)
            assert about["met"] == (about["gap"] <= each.tolerance + 1e-9)
            fair = shares / shares.sum() * account.spent.sum()
            lacking = dict(zip(each.group_names, fair - account.spent, strict=True))
            assert about["lacking"] == pytest.approx({name: short for name, short in lacking.items() if short > 1e-9})
            assert sum(line.startswith(f"Constraint {each.title}: ") for line in told["summary"]) == 1
        for move in told["moved"]:
            seen.add((tuple(move["constraints"]), move["pinned"]))
            for title in move["constraints"]:
                assert any(gap > limit + 1e-9 for gap, limit in _undone(shown, spec, title, move))
    assert {(("provider",), False), (("type",), False), (("provider", "type"), False)} <= seen
    assert any(pinned for _, pinned in seen)


def _undone(shown: Shown, spec: PolicySpec, title: str, move: dict[str, Any]) -> Any:
    """The gap of a constraint with the moved candidate and one that it passed exchanged, and its limit: by the ids."""
    (number,) = [number for number, each in enumerate(spec.accounts) if each.title == title]
    each, account, known = spec.accounts[number], shown.accounts[number], shown.considered
    group = dict(zip(known.ids, groups_of(known, each.attributes).tolist(), strict=True))
    for other in move["past"]:
        order = [move["item"] if name == other else other if name == move["item"] else name for name in shown.ids]
        sums = account.spent.copy()
        for name, amount in zip(order, shown.exposure, strict=True):  # type: ignore[arg-type]
            sums[group[name]] += amount
        limit = each.tolerance if account.met else account.gap
        yield Ledger(each.fixed_shares, sums).largest_gap, limit  # type: ignore[arg-type]


THREE = [*TWO, {"name": "both", "labels": {**PROVIDER, **TYPE}, "tolerance": 5.0}]
WIDER = [{**TWO[0], "labels": {"provider": ["small", "large", "own"]}}, TWO[1]]
TURNED = [{**TWO[0], "labels": {"provider": ["large", "small"]}}, TWO[1]]
CHANGES: tuple[tuple[list[dict[str, Any]], bool, str], ...] = (
    (THREE, True, "the account of group 'small' of 'provider'"),
    ([TWO[1], TWO[0]], True, "the account of group 'news' of 'type'"),
    ([{**TWO[0], "tolerance": 0.9}, TWO[1]], True, "the account of group 'small' of 'provider'"),
    (WIDER, True, "the account of group 'large' of 'provider'"),
    ([TWO[0]], False, "the account of group 'video' of 'type'"),
    (TURNED, False, "the account of group 'news' of 'type'"),
)


@pytest.mark.parametrize(("constraints", "keeps", "told"), CHANGES)
def test_changes_keep_accounts_by_the_constraint_s_name(
    started: Start, sqlite_address: str, constraints: list[dict[str, Any]], keeps: bool, told: str
) -> None:
    """Or say what they lose; either way the log leads through the change, and late feedback is taken."""
    engine = started(sqlite_address)
    Changes(engine).put("shop", policy())
    early = [engine.rank("shop", lambda _, n=number: candidates(n)).id for number in range(12)]  # type: ignore[misc]
    before = dict(zip(("provider", "type"), engine.policy("shop").runtime.totals.exposures, strict=True))
    after = policy(constraints)
    effects = Changes(engine).put("shop", after, ChangeRequest(dry_run=True)).effects
    assert (effects.lost == ()) == keeps
    assert any(line.startswith(told) for line in (effects.kept if keeps else effects.lost))
    Changes(engine).put("shop", after, ChangeRequest(discard=not keeps))
    runtime = engine.policy("shop").runtime
    for number, each in enumerate(runtime.accounts):
        if keeps and each.title in before:
            standing = runtime.account(number)
            assert standing.spent is not None and standing.spent[:2].tolist() == before[each.title].tolist()
            assert runtime.totals.exposures[number][:2].tolist() == before[each.title].tolist()
    for ranking_id in early:
        assert engine.learn(ranking_id, [GivenEvent(position=1)]).status == "learned"
    for number in range(20, 26):
        ranked = engine.rank("shop", lambda _, n=number: candidates(n))  # type: ignore[misc]
        engine.learn(ranked.id, [GivenEvent(position=0)]).kept.result(SECONDS)
    meta, arrays = engine.policy("shop").runtime.state()
    engine.writer.submit([]).result(SECONDS)
    loaded = load_policy(engine.store, engine.policy("shop").row, use_snapshots=False)
    assert loaded.runtime.state()[0] == meta and first_difference(loaded.runtime.state()[1], arrays) is None


def test_from_groups_to_constraints_and_back(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    plain = parse_policy({"features": 3, "length": 4, "groups": {"small": 1.0, "large": 1.0}})
    Changes(engine).put("shop", plain)
    engine.rank("shop", lambda _: Candidates(["a", "b"], np.array([0, 1]), matrix(0, 2))).kept.result(SECONDS)
    with pytest.raises(ServiceError, match="the account of group 'small'"):
        Changes(engine).put("shop", policy())
    Changes(engine).put("shop", policy(), ChangeRequest(discard=True))
    shown = engine.rank("shop", lambda _: candidates(1)).shown
    assert [account.spent.tolist() for account in shown.accounts] == [[0.0, 0.0], [0.0, 0.0]]
    Changes(engine).rollback("shop", 1)
    assert engine.policy("shop").runtime.totals.exposures[0].sum() == pytest.approx(1.5)
