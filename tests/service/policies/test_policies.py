"""Policies: declared in YAML or over the API, versioned, changed while they serve."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from fairexp.checks.comparison import first_difference
from fairexp.errors import ArgumentError
from fairexp.rankers.pairrank.ranker import PairRank
from fairexp.service.changes import Changes
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.open_ranking import OpenRanking
from fairexp.service.engine.recovery import load_policy
from fairexp.service.engine.runtime import Runtime
from fairexp.service.log.feedback import Event
from fairexp.service.log.shown import Shown
from fairexp.service.policies.rankers import try_out
from fairexp.service.policies.scaling import DeclaredScale
from fairexp.service.policies.spec import Feature, PolicySpec, load_policies, parse_policy
from fairexp.service.problems import ServiceError
from fairexp.service.store.base import Kind
from fairexp.service.views.reports import policy_report
from fairexp.validation import whole_signature
from tests.service.worlds import SPEC, candidates, play, rank_body

Serve = Callable[..., httpx.Client]
PLAIN = SPEC.model_dump(mode="json")
YAML = """
policies:
  shop:
    ranker: fairexp-pairrank
    parameters: {alpha: 0.2, regularization: 0.5}
    features: [bm25, {name: age, shift: 30, scale: 10}]
    groups: {small: 1.0, large: 2}
    tolerance: 0.2
    exposure: [1.0, 0.6, 0.4]
    length: 3
    feedback: {events: {click: 1, purchase: 3}, window_seconds: 3600}
    retention: {rankings_seconds: 86400}
  plain:
    ranker: pdgd
    features: 4
"""


def test_policies_from_yaml(tmp_path: Path) -> None:
    path = tmp_path / "policies.yaml"
    path.write_text(YAML, encoding="utf-8")
    found = load_policies(path)
    assert list(found) == ["shop", "plain"]
    assert found["shop"].columns == [Feature(name="bm25"), Feature(name="age", shift=30, scale=10)]
    assert found["plain"].feature_names == ["1", "2", "3", "4"]


def test_a_ranker_whose_extra_is_missing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ServiceError, match=r"ranker: .*pip install 'fairexp\[lp\]'") as caught:
        try_out(SPEC.model_copy(update={"ranker": "lp-fair"}))
    assert (caught.value.status, caught.value.field) == (422, "ranker")


def test_fairness_by_item_goes_by_ids_and_is_replayed_bit_for_bit() -> None:
    runtime, _ = Runtime.new(SPEC.model_copy(update={"ranker": "mcfair", "parameters": {"level": "item"}}))
    assert runtime.needs_query_id
    twin = Runtime.restored(runtime.spec, *runtime.state())
    for number in range(12):
        shown, _ = runtime.rank(candidates(number, query_id=f"q{number % 2}"), at=float(number))
        back = Shown.read(shown.payload(), seq=shown.seq, at=shown.at)
        twin.show_again(back)
        clicks = [Event(str(number), "click", 0, 1.0)]
        twin.learn_again(back, runtime.learn(OpenRanking.of(shown), clicks, at=float(number)))
    assert first_difference(runtime.state()[1], twin.state()[1]) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("policies: [", "policies: expected a YAML file, got .*policies.yaml, which does not parse"),
        ("shop: {}", "expected one mapping `policies:` .* got .*policies.yaml with shop"),
        (
            "policies: {Shop!: {features: 2}}",
            r"policies \(.*line 1\): expected names of small letters.* got 'Shop!'",
        ),
        (
            "policies:\n  shop:\n    features: 2\n    groups: {a: 1}\n",
            r"policies\.shop\.groups \(.*policies.yaml, line 4\): expected at least two, .*, got 1$",
        ),
        ("policies: {shop: {ranker: magic, features: 2}}", r"policies\.shop\.ranker \(.*line 1\): .* got 'magic'"),
        ("policies: {shop: {featurs: 2}}", r"policies\.shop\.featurs .* Did you mean 'features'\?"),
        (
            "policies: {a: {features: 2}}\npolicies: {}",
            r"policies \(.*line 1\): expected each key once, got it again on line 2",
        ),
    ],
)
def test_files_that_make_no_sense(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "policies.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ArgumentError, match=problem):
        load_policies(path)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"ranker": "magic"}, "ranker"),
        ({"ranker": "os:system"}, "ranker"),
        ({"features": 0}, "features"),
        ({"features": []}, "features"),
        ({"features": ["a", "a"]}, "features"),
        ({"features": [{"name": "a", "scale": 0}]}, "features[0].scale"),
        ({"groups": {"a": 1}}, "groups"),
        ({"groups": {"a": 1, "b": -1}}, "groups.b"),
        ({"groups": {}}, "groups"),
        ({"tolerance": -1}, "tolerance"),
        ({"tolerance": "0.1"}, "tolerance"),
        ({"exposure": "steep"}, "exposure"),
        ({"exposure": [1.0, 0.5]}, "exposure"),
        ({"exposure": "/etc/passwd"}, "exposure"),
        ({"length": 0}, "length"),
        ({"parameters": {"alpha": -1}}, "parameters.alpha"),
        ({"parameters": {"alpah": 1}}, "parameters.alpah"),
        ({"parameters": {"seed": 1}}, "parameters.seed"),
        ({"parameters": {"alpha": {"deep": 1}}}, "parameters.alpha"),
        ({"parameters": {"window": 10**12}}, "parameters"),
        ({"parameters": {"window": 10**14}}, "parameters.window"),
        ({"parameters": {"window": 10**30}}, "parameters.window"),
        ({"parameters": {"alpha": 1e300}}, "parameters.alpha"),
        ({"ranker": "fixed", "parameters": {"weights": [1.0, True, 2.0]}}, "parameters.weights"),
        ({"ranker": "fixed", "parameters": {"weights": [1.0, 10**30, 2.0]}}, "parameters.weights"),
        ({"ranker": "fixed"}, "parameters.weights"),
        ({"ranker": "fixed", "parameters": {"weights": [1.0]}}, "parameters.weights"),
        ({"feedback": {"window_seconds": 1e9}}, "retention.rankings_seconds"),
        ({"feedback": {"events": {}}}, "feedback.events"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_bad_policies_name_the_field(client: httpx.Client, change: dict[str, Any], field: str) -> None:
    answer = client.put("/v1/policies/new", json={**PLAIN, **change})
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["field"] == field, answer.text
    assert client.get("/v1/policies/new").status_code == 404


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from fairexp.service.http.service import Service
    from fairexp.service.store import open_store
    from tests.service.live import Live

    running = Live(Service(open_store(str(tmp_path_factory.mktemp("policies") / "store.db")), open=True))
    running.wait_ready()
    yield running.client
    running.stop()


def test_a_policy_is_created_changed_and_left_alone(serve: Serve, address: str) -> None:
    client = serve(address, policies={})
    url = "/v1/policies/shop"
    created = client.put(url, json=PLAIN).json()
    assert (created["version"], created["changed"], created["action"]) == (1, True, "created")
    assert client.put(url, json=PLAIN).json()["changed"] is False
    first = client.post(f"{url}/rank", json=rank_body()).json()
    changed = client.put(url, json={**PLAIN, "tolerance": 0.5}).json()
    assert (changed["version"], changed["action"], changed["lost"]) == (2, "changed", [])
    assert changed["differences"] == ["tolerance: 0.3, now 0.5"]
    events = [{"position": 1}]
    learned = client.post("/v1/feedback", json={"ranking_id": first["ranking_id"], "events": events}).json()
    assert learned["results"][0]["status"] == "learned"
    told = client.get(url).json()
    assert [version["spec"]["tolerance"] for version in told["versions"]] == [0.3, 0.5]
    assert told["rounds"] == 1 and told["version"] == 2
    assert client.post(f"{url}/rank", json=rank_body()).json()["version"] == 2


def test_a_policy_keeps_its_parameters_when_defaults_change(
    started: Callable[..., Engine], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later version with another default serves what was declared as it was, with and without snapshots."""
    engine = started(address)
    Changes(engine).put("shop", SPEC.model_copy(update={"parameters": {"regularization": 2.0}}))
    alpha = engine.policy("shop").runtime.parameters["alpha"]
    play(engine, 5)
    state = engine.policy("shop").runtime.state()
    engine.close()
    defaults = PairRank.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "alpha", 7.0)
    monkeypatch.setitem(defaults, "regularization", 9.0)
    monkeypatch.setattr(PairRank, "__signature__", whole_signature(PairRank))  # a class tells it when it is made
    engine = started(address)
    again = Changes(engine).put("shop", SPEC.model_copy(update={"parameters": {"regularization": 2.0}}))
    assert not again.changed
    policy = engine.policy("shop")
    for runtime in (policy.runtime, load_policy(engine.store, policy.row, use_snapshots=False).runtime):
        assert (runtime.ranker.host.alpha, runtime.ranker.host.regularization) == (alpha, 2.0)  # type: ignore[attr-defined]
        assert runtime.state()[0] == state[0]
    Changes(engine).put("shop", SPEC)
    changed = policy_report(policy, kept=[])
    assert (changed["parameters"]["alpha"], changed["parameters"]["regularization"]) == (alpha, 9.0)
    assert [version["parameters"]["regularization"] for version in changed["versions"]] == [2.0, 9.0]
    Changes(engine).put("new", SPEC)
    assert engine.policy("new").runtime.parameters["alpha"] == 7.0


def test_a_version_is_in_force_from_its_own_entry_on(started: Callable[..., Engine], address: str) -> None:
    engine = started(address)
    Changes(engine).put("shop", SPEC)
    play(engine, 3)
    Changes(engine).put("shop", SPEC.model_copy(update={"tolerance": 0.5}))
    for version in engine.store.versions(1):
        entry = engine.store.entry(1, version.seq)
        assert entry is not None and entry.kind == Kind.POLICY


def test_several_policies_side_by_side(serve: Serve, sqlite_address: str) -> None:
    other = SPEC.model_copy(update={"ranker": "pdgd", "groups": {}, "group_field": None})
    client = serve(sqlite_address, policies={"shop": SPEC, "other": other})
    for _ in range(3):
        client.post("/v1/policies/shop/rank", json=rank_body())
    assert client.post("/v1/policies/other/rank", json=rank_body()).json()["items"][0]["group"] is None
    listed = client.get("/v1/policies").json()["policies"]
    assert [(each["policy"], each["rounds"]) for each in listed] == [("other", 1), ("shop", 3)]


def test_a_coarse_tolerance_warns(client: httpx.Client) -> None:
    spec = {"features": 2, "groups": {"a": 1, "b": 1.22}, "exposure": "flat", "tolerance": 0.1}
    assert "below half the grid" in client.put("/v1/policies/coarse", json=spec).json()["warnings"][0]


def test_a_coarse_tolerance_of_several_groups_and_constraints_warns_once_each(client: httpx.Client) -> None:
    spec: dict[str, Any] = {"features": 2, "groups": dict.fromkeys("abcd", 1), "tolerance": 0.1}
    (told,) = client.put("/v1/policies/four", json=spec).json()["warnings"]
    assert told.startswith("tolerance: 0.1 is below what the fairest lists keep (0.358)")
    (told,) = client.put("/v1/policies/four", json={**spec, "tolerance": 0.2}).json()["warnings"]
    assert told.startswith("tolerance: 0.2 is below")
    assert client.put("/v1/policies/four", json={**spec, "tolerance": 0.5}).json()["warnings"] == []
    both = [
        {"labels": {"provider": ["a", "b"]}, "tolerance": 0.1},
        {"labels": {"type": ["c", "d", "e", "f"]}, "tolerance": 0.1},
        {"labels": {"type": ["c", "d", "e", "f"]}, "name": "learned", "shares": "size", "tolerance": 0.1},
    ]
    (told,) = client.put("/v1/policies/both", json={"features": 2, "constraints": both}).json()["warnings"]
    assert told.startswith("constraints.type.tolerance: 0.1 is below")


def test_unbounded_memory_warns(client: httpx.Client) -> None:
    spec = {"ranker": "pairrank", "features": 2, "parameters": {"history": "full"}}
    assert "grows without bound" in client.put("/v1/policies/full", json=spec).json()["warnings"][0]


def test_scaling() -> None:
    features = np.array([[1.0, 40.0], [3.0, 20.0], [2.0, 30.0]], dtype=np.float32)
    columns = [Feature(name="a"), Feature(name="b", shift=30.0, scale=10.0)]
    affine = DeclaredScale(PolicySpec(ranker="pdgd", features=columns))(features)
    assert affine.tolist() == [[1.0, 1.0], [3.0, -1.0], [2.0, 0.0]]
    by_query = DeclaredScale(PolicySpec(ranker="pdgd", features=2, scaling="query"))(features)
    assert by_query.tolist() == [[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]
    assert features[0, 0] == 1.0


def test_the_first_problem_is_told_with_its_path() -> None:
    with pytest.raises(ServiceError, match=r"groups\.a"):
        parse_policy({"features": 2, "groups": {"a": 0, "b": 1}})


def test_a_file_that_is_declared_again_changes_nothing(live: Callable[..., Any], address: str, tmp_path: Path) -> None:
    path = tmp_path / "policies.yaml"
    path.write_text(YAML, encoding="utf-8")
    for _ in range(2):
        running = live(address, policies=load_policies(path))
        listed = running.client.get("/v1/policies").json()["policies"]
        assert [(each["policy"], each["version"]) for each in listed] == [("plain", 1), ("shop", 1)]
        running.stop()
