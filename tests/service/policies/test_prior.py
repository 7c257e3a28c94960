"""A policy that starts from what its caller has: weights in the features' own units, or the order of the request."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from pyarrow import csv
from typer.testing import CliRunner

from fairexp.checks.comparison import first_difference
from fairexp.cli.entry import app
from fairexp.errors import ArgumentError, FairexpError
from fairexp.prior import EVEN_SPREAD
from fairexp.service.changes import ChangeRequest, Changes
from fairexp.service.engine.candidates import Candidates
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.events import GivenEvent
from fairexp.service.engine.open_ranking import OpenRanking
from fairexp.service.engine.recovery import load_policy
from fairexp.service.engine.runtime import Runtime
from fairexp.service.log.feedback import Event
from fairexp.service.policies.rankers import ORDER_SPREAD, prior_of
from fairexp.service.policies.spec import CALLER_ORDER, PolicySpec, load_policies, parse_policy
from fairexp.service.problems import ServiceError
from fairexp.service.requests.candidates import candidates_of
from fairexp.service.requests.decode import read_ranking
from tests.lab.logs.worlds import as_table, logged
from tests.service.worlds import SPEC, base64_body, rank_body
from tests.waiting import SECONDS

Start = Callable[..., Engine]
UNITS = np.array([1000.0, 0.01, 5.0])
BELIEVED = np.array([3.0, -2.0, 0.0])
"""Per range of each feature."""

NAMES = ["price", "age", "stock"]


def spec_of(**more: Any) -> PolicySpec:
    weights = dict(zip(NAMES, (BELIEVED / UNITS).tolist(), strict=True))
    prior = {"weights": weights, "strength": 1e6}
    return parse_policy({"ranker": "pairrank", "features": NAMES, "length": 6, "seed": 3, "prior": prior, **more})


def wild(number: int, n: int = 12) -> Candidates:
    features = np.random.default_rng(number).random((n, 3)) * UNITS
    return Candidates([f"d{i}" for i in range(n)], None, features.astype(np.float32))


def body(n: int = 12, number: int = 0) -> bytes:
    rows = np.random.default_rng(number).random((n, 3)).tolist()
    return json.dumps({"candidates": [{"id": f"d{i}", "features": row} for i, row in enumerate(rows)]}).encode()


@pytest.mark.parametrize("scaling", ["running", "none"])
def test_the_first_rankings_are_those_of_the_weights_in_the_callers_units(scaling: str) -> None:
    more = {} if scaling == "running" else {"scaling": "none", "features": _declared()}
    runtime, _ = Runtime.new(spec_of(**more))
    for number in range(20):
        asked = wild(number)
        by_weight = np.argsort(-(asked.features @ (BELIEVED / UNITS)))[:6]
        seen = Candidates(asked.ids, None, runtime.scaling(asked.features))
        shown, _ = runtime.rank(seen, at=float(number))
        assert shown.shown.tolist() == by_weight.tolist()


def _declared() -> list[dict[str, Any]]:
    return [{"name": name, "shift": 1.0, "scale": unit} for name, unit in zip(NAMES, UNITS.tolist(), strict=True)]


def test_without_a_prior_the_first_ranking_is_a_draw() -> None:
    draws = {
        tuple(Runtime.new(spec_of(prior=None, seed=seed))[0].rank(wild(0), at=0.0)[0].shown.tolist())
        for seed in range(10)
    }
    assert len(draws) == 10


def test_the_prior_is_translated_into_the_units_of_the_ranker() -> None:
    spec = spec_of(
        features=[{"name": "price", "scale": 10.0}, "age", "stock"],
        prior={"weights": {"price": 2.0, "age": 3.0}, "spread": {"age": 8.0}, "strength": 7.0},
    )
    prior = prior_of(spec, np.array([1.0, 4.0, 5.0]))
    assert prior is not None
    assert prior.weights.tolist() == [20.0, 12.0, 0.0]
    assert prior.spread.tolist() == [EVEN_SPREAD, 0.5, EVEN_SPREAD]
    assert prior.strength == 7.0


def test_the_order_of_the_request_is_shown_and_then_unlearned() -> None:
    """The first rankings are the request's; when clicks say otherwise, they win."""
    spec = spec_of(prior={"caller_order": 1.0, "strength": 100_000.0})
    runtime, _ = Runtime.new(spec)
    asked = read_ranking(body(), columns=spec.requested, max_candidates=100)
    seen = candidates_of(asked, runtime, spec.requested)
    assert seen.features.shape == (12, 4)
    assert seen.features[:, 3] == pytest.approx(-np.log(np.arange(1, 13)), rel=1e-6)
    shown, _ = runtime.rank(seen, at=0.0)
    assert shown.shown.tolist() == [0, 1, 2, 3, 4, 5]
    assert spec.feature_names == [*NAMES, CALLER_ORDER]
    prior = prior_of(spec, np.ones(4))
    assert prior is not None and prior.weights.tolist() == [0.0, 0.0, 0.0, 1.0] and prior.spread[3] == ORDER_SPREAD


def test_by_query_scaling_leaves_the_order_alone() -> None:
    spec = spec_of(scaling="query", prior={"caller_order": 1.0, "strength": 10.0})
    runtime, _ = Runtime.new(spec)
    seen = runtime.scaling(wild(0).features)
    assert seen[:, :3].max(axis=0).tolist() == [1.0, 1.0, 1.0] and seen[:, :3].min() == 0.0
    assert seen[:, 3] == pytest.approx(-np.log(np.arange(1, 13)), rel=1e-6)


def test_clicks_earn_a_departure_from_the_callers_order() -> None:
    spec = spec_of(prior={"caller_order": 1.0, "strength": 60.0})
    runtime, _ = Runtime.new(spec)
    for number in range(300):
        asked = read_ranking(body(number=number), columns=spec.requested, max_candidates=100)
        shown, _ = runtime.rank(candidates_of(asked, runtime, spec.requested), at=float(number))
        best = int(np.argmax(shown.features[:, 0]))
        runtime.learn(OpenRanking.of(shown), [Event(str(number), "click", best, 1.0)], at=float(number))
    weights = runtime.ranker.linear_model()
    assert weights is not None and weights[0] > 4 * abs(weights[3])


@pytest.mark.parametrize("ranker", ["pairrank", "fairexp-pairrank"])
@pytest.mark.parametrize(
    "prior", [{"caller_order": 2.0, "strength": 40.0}, {"weights": {"age": 90.0}, "strength": 9.0}]
)
def test_the_log_replays_to_the_same_bits(
    started: Start, sqlite_address: str, prior: dict[str, Any], ranker: str
) -> None:
    engine = started(sqlite_address)
    Changes(engine).put("market", spec_of(prior=prior, ranker=ranker, groups={"small": 1.0, "large": 1.0}))
    for number in range(60):
        serve(engine, number, clicked=number % 6)
    live = engine.policy("market")
    _, expected = live.runtime.state()
    for snapshots in (True, False):
        again = load_policy(engine.store, live.row, use_snapshots=snapshots).runtime
        assert first_difference(again.state()[1], expected) is None


def test_a_reset_of_the_model_goes_back_to_the_prior(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    changes = Changes(engine)
    changes.put("market", spec_of(prior={"weights": {"age": 300.0}, "strength": 9.0}))
    for number in range(20):
        serve(engine, number, clicked=0)
    runtime = engine.policy("market").runtime
    learned = runtime.ranker.linear_model()
    assert learned is not None and np.abs(learned / runtime.scale.scale - [0.0, 300.0, 0.0]).max() > 1.0
    changes.reset("market", ["model"])
    engine.rank("market", lambda runtime: wild(50)).kept.result(SECONDS)
    runtime = engine.policy("market").runtime
    weights = runtime.ranker.linear_model()
    assert weights is not None and weights / runtime.scale.scale == pytest.approx([0.0, 300.0, 0.0])


def serve(engine: Engine, number: int, *, clicked: int) -> None:
    asked = wild(number)

    def seen(runtime: Runtime) -> Candidates:
        groups = np.arange(len(asked.ids)) % 2 if runtime.spec.groups else None
        return Candidates(asked.ids, groups, runtime.scaling(asked.features))

    ranked = engine.rank("market", seen)
    engine.learn(ranked.id, [GivenEvent(position=clicked)]).kept.result(SECONDS)


def test_a_later_prior_takes_effect_at_once(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    changes = Changes(engine)
    changes.put("market", spec_of(prior=None))
    engine.rank("market", lambda runtime: wild(0)).kept.result(SECONDS)
    changed = changes.put("market", spec_of())
    assert changed.effects.lost == () and any(line.startswith("prior") for line in changed.differences)
    runtime = engine.policy("market").runtime
    weights = runtime.ranker.linear_model()
    assert weights is not None
    assert weights / runtime.scale.scale == pytest.approx(BELIEVED / UNITS, rel=1e-3)


def test_what_was_learned_of_the_callers_order_is_not_lost_by_accident(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    changes = Changes(engine)
    changes.put("market", spec_of(prior={"caller_order": 1.0, "strength": 9.0}))
    serve(engine, 1, clicked=2)
    with pytest.raises(ServiceError, match=CALLER_ORDER):
        changes.put("market", spec_of())
    assert changes.put("market", spec_of(), ChangeRequest(discard=True)).changed


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"prior": {"weights": {"colour": 1.0}, "strength": 1.0}}, "prior.weights: expected names of features"),
        ({"prior": {"spread": {"colour": 1.0}, "strength": 1.0}}, "prior.spread: expected names of features"),
        ({"prior": {"weights": {"age": 1.0}}}, "prior.strength"),
        ({"prior": {"strength": -1.0}}, "prior.strength"),
        ({"prior": {"strength": 1.0, "caller_order": -1.0}}, "prior.caller_order"),
        ({"prior": {"strength": 1.0, "file": "learned.json"}}, "prior.file"),
        ({"ranker": "pdgd"}, "prior: expected a ranker that can start from one"),
        ({"features": [*NAMES, CALLER_ORDER], "prior": {"caller_order": 1.0, "strength": 1.0}}, "names that differ"),
    ],
)
def test_what_is_wrong_with_a_prior_is_said(more: dict[str, Any], words: str) -> None:
    with pytest.raises(ServiceError) as error:
        spec_of(**more)
    assert words in str(error.value)


def test_a_parameter_cannot_name_a_file_of_the_server() -> None:
    with pytest.raises(ServiceError, match=r"parameters\.prior"):
        Runtime.new(spec_of(parameters={"prior": "/etc/passwd"}))


def learned_file(folder: Path, **more: Any) -> Path:
    path = folder / "learned.json"
    record = {"features": NAMES, "weights": [1.0, 2.0, 0.0], "spread": [4.0, 0.5, 0.0], "strength": 321.0}
    record["scaling"] = "none"
    path.write_text(json.dumps({**record, "exposure": [1.0, 0.4, 0.2], **more}))
    return path


def declared(folder: Path, prior: str, more: str = "") -> PolicySpec:
    path = folder / "policies.yaml"
    path.write_text(
        "policies:\n  market:\n    ranker: pairrank\n    features: [price, age, stock]\n    length: 3\n"
        f"    prior: {prior}\n{more}"
    )
    return load_policies(path)["market"]


def test_a_policy_file_names_what_was_learned(tmp_path: Path) -> None:
    learned_file(tmp_path)
    spec = declared(tmp_path, "{file: learned.json}")
    assert spec.prior is not None
    assert spec.prior.weights == {"price": 1.0, "age": 2.0, "stock": 0.0}
    assert spec.prior.spread == {"price": 4.0, "age": 0.5}
    assert spec.prior.strength == 321.0 and spec.exposure == [1.0, 0.4, 0.2]
    own = declared(tmp_path, "{file: learned.json, strength: 5}", "    exposure: flat\n")
    assert own.prior is not None and own.prior.strength == 5.0 and own.exposure == "flat"


def test_a_file_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="does not exist"):
        declared(tmp_path, "{file: learned.json}")
    learned_file(tmp_path, features=["price", "age", "colour"])
    with pytest.raises(FairexpError, match=r"market.prior .*line 6.*expected names of features, got 'colour'"):
        declared(tmp_path, "{file: learned.json}")


@pytest.mark.parametrize(("learned", "declares"), [("query", "running"), ("query", "none"), ("none", "query")])
def test_weights_in_other_units_than_the_policys_are_refused(tmp_path: Path, learned: str, declares: str) -> None:
    learned_file(tmp_path, scaling=learned)
    with pytest.raises(ArgumentError, match=f"prior: expected .*got weights learned with scaling '{learned}'"):
        declared(tmp_path, "{file: learned.json}", f"    scaling: {declares}\n")
    fits = "query" if learned == "query" else "running"
    spec = declared(tmp_path, "{file: learned.json}", f"    scaling: {fits}\n")
    assert spec.prior is not None and spec.prior.weights["age"] == 2.0


def test_the_page_works_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its policies load and serve, one of them from what its command learns."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "service" / "starting.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names = ("bm25", "freshness", "price")
    csv.write_csv(as_table(replace(logged(0), features=logged(0).features[:, :3], names=names)), "log.csv")
    (command,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    program, *arguments = shlex.split(command)
    assert program == "fairexp"
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    policies = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert len(policies) == 3
    for text in policies:
        Path("policies.yaml").write_text(text)
        spec = load_policies(Path("policies.yaml"))["shop"]
        runtime, _ = Runtime.new(spec)
        asked = read_ranking(body(), columns=spec.requested, max_candidates=100)
        shown, _ = runtime.rank(candidates_of(asked, runtime, spec.requested), at=0.0)
        assert len(shown.shown) == 10
        if spec.sees_order:
            assert shown.shown.tolist()[:3] == [0, 1, 2]
    assert spec.prior is not None and spec.prior.weights["bm25"] > 1.0 and len(spec.exposure) == 10


@pytest.mark.parametrize("form", ["candidates", "base64"])
def test_over_http_the_callers_order_is_the_first_ranking(
    serve: Callable[..., httpx.Client], sqlite_address: str, form: str
) -> None:
    prior = {"caller_order": 1.0, "strength": 1e6}
    shop = parse_policy({**SPEC.model_dump(mode="json"), "ranker": "pairrank", "prior": prior})
    client = serve(sqlite_address, policies={"shop": shop})
    asked = rank_body() if form == "candidates" else base64_body()
    items = client.post("/v1/policies/shop/rank", json=asked).json()["items"]
    assert [item["id"] for item in items] == ["d0", "d1", "d2", "d3"]
    told = client.get("/v1/policies/shop").json()
    assert told["spec"]["prior"]["caller_order"] == 1.0
