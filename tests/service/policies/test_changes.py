"""Nothing is lost by a change: by name, with its account, in other units; and every earlier version comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest

from fairexp.checks.comparison import first_difference
from fairexp.service.changes import ChangeRequest, Changes, latest_actions
from fairexp.service.engine.candidates import Candidates
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.events import GivenEvent
from fairexp.service.log.audit import audit
from fairexp.service.policies.spec import Feature, PolicySpec
from fairexp.service.problems import ServiceError
from tests.service.worlds import SPEC, play, rank
from tests.waiting import SECONDS, until

Start = Callable[..., Engine]
Serve = Callable[..., httpx.Client]
PLAIN = SPEC.model_dump(mode="json")
URL = "/v1/policies/shop"


def weights(engine: Engine) -> dict[str, float]:
    """What each feature weighs, in the units of requests."""
    runtime = engine.policy("shop").runtime
    theta = runtime.ranker.learner.model.theta / runtime.scale.scale  # type: ignore[attr-defined]
    return dict(zip(runtime.spec.feature_names, theta.tolist(), strict=True))


def account(engine: Engine) -> dict[str, float]:
    """The exposure of each group, by the ledger and by the totals."""
    runtime = engine.policy("shop").runtime
    spent: Any = runtime.ranker.ledger.exposure  # type: ignore[attr-defined]
    assert spent.tolist() == runtime.totals.exposure.tolist()
    return dict(zip(runtime.spec.group_names, spent.tolist(), strict=True))


@pytest.fixture
def engine(started: Start, address: str) -> Engine:
    """An engine whose policy has learned for a while."""
    engine = started(address)
    Changes(engine).put("shop", SPEC)
    play(engine, 40)
    return engine


def test_a_new_feature_costs_nothing(engine: Engine) -> None:
    before, spent = weights(engine), account(engine)
    changed = Changes(engine).put("shop", SPEC.model_copy(update={"features": ["new", *SPEC.feature_names]}))
    assert changed.effects.lost == () and "feature 'new' starts at weight 0" in changed.effects.new
    assert weights(engine) == pytest.approx({"new": 0.0, **before}) and any(before.values())
    assert account(engine) == spent
    confidence = engine.policy("shop").runtime.ranker.learner.confidence  # type: ignore[attr-defined]
    assert confidence.inverse[0, 0] == pytest.approx(1 / confidence.start[0])
    assert engine.policy("shop").runtime.totals.rounds == 40


def test_features_in_another_order_and_in_other_units_stay(engine: Engine) -> None:
    before = weights(engine)
    features = [Feature(name="price", shift=3.0, scale=20.0), "relevance", "freshness"]
    assert Changes(engine).put("shop", SPEC.model_copy(update={"features": features})).effects.lost == ()
    after = weights(engine)
    assert after.pop("price") == pytest.approx(20.0 * before.pop("price"))  # per unit of what is now declared
    assert after == pytest.approx(before)


def test_scores_are_the_same_whatever_way_features_are_scaled(engine: Engine) -> None:
    """From running to none and back, what was learned says the same of the same document."""
    rows = np.random.default_rng(0).random((5, 3)).astype(np.float32)

    def scores() -> Any:
        runtime = engine.policy("shop").runtime
        found = runtime.ranker.score(runtime.scale(runtime.scaling(rows)))
        return found - found.mean()

    before = scores()
    for scaling in ("none", "running"):
        changed = Changes(engine).put("shop", SPEC.model_copy(update={"scaling": scaling}))
        assert changed.effects.lost == () and scores() == pytest.approx(before)


@pytest.mark.parametrize("declared", [{"scale": 1.0}, {"shift": 0.0}, {"scale": 2.0}])
@pytest.mark.parametrize("ranker", ["fairexp-pairrank", "pdgd", "dbgd", "p-mgd", "nsgd", "dsp"])
def test_a_scale_of_ones_own_in_the_place_of_the_running_one(
    started: Start, sqlite_address: str, ranker: str, declared: dict[str, float]
) -> None:
    """Declared units that say the same as none do change units, where the running scale was another."""
    engine = started(sqlite_address)
    Changes(engine).put("shop", SPEC.model_copy(update={"ranker": ranker}))
    wide = np.array([1.0, 100.0, 0.01], dtype=np.float32)
    for number in range(40):
        rows = np.random.default_rng(number).random((8, 3)).astype(np.float32) * wide
        asked = Candidates([f"d{index}" for index in range(8)], np.arange(8) % 2, rows)
        engine.learn(engine.rank("shop", lambda runtime, asked=asked: asked).id, [GivenEvent(position=1)])

    def scores() -> Any:
        runtime = engine.policy("shop").runtime
        found = runtime.ranker.score(runtime.scale(runtime.scaling(rows)))
        return found - found.mean()

    before = scores()
    features = [SPEC.feature_names[0], Feature(name=SPEC.feature_names[1], **declared), SPEC.feature_names[2]]
    changed = Changes(engine).put("shop", SPEC.model_copy(update={"ranker": ranker, "features": features}))
    assert changed.effects.lost == () and before.any()
    assert scores() == pytest.approx(before, rel=1e-6, abs=1e-6)


def test_a_removed_feature_leaves_when_that_is_wanted(engine: Engine) -> None:
    before, spent = weights(engine), account(engine)
    spec = SPEC.model_copy(update={"features": ["price", "relevance"]})
    with pytest.raises(ServiceError, match="what was learned of feature 'freshness'") as refused:
        Changes(engine).put("shop", spec)
    assert (refused.value.code, refused.value.status) == ("would_lose", 409)
    assert weights(engine) == before and engine.policy("shop").runtime.version == 1
    Changes(engine).put("shop", spec, ChangeRequest(discard=True))
    assert weights(engine) == pytest.approx({name: before[name] for name in ("price", "relevance")})
    assert account(engine) == spent


def test_a_new_group_stands_where_its_share_says_and_the_others_where_they_stood(engine: Engine) -> None:
    spent = account(engine)
    groups = {"large": 1.0, "new": 0.5, "small": 1.0}
    update = {"groups": groups, "tolerance": 0.4}  # which the curve allows for three groups
    changed = Changes(engine).put("shop", SPEC.model_copy(update=update))
    assert changed.effects.lost == () and changed.warnings == []
    after = account(engine)
    assert after.pop("new") == pytest.approx(0.25 * sum(spent.values()))
    assert after == spent
    ids = [f"d{number}" for number in range(9)]
    asked = Candidates(ids, np.arange(9) % 3, np.random.default_rng(1).random((9, 3)).astype(np.float32))
    ranked = engine.rank("shop", lambda runtime: asked)
    assert ranked.shown.qualified


def test_other_shares_are_warned_of_because_the_past_counts(engine: Engine) -> None:
    spent = account(engine)
    changed = Changes(engine).put("shop", SPEC.model_copy(update={"groups": {"small": 3.0, "large": 1.0}}))
    assert account(engine) == spent and "Reset the ledger" in changed.warnings[0]


def test_a_group_that_goes_takes_its_account_with_it(engine: Engine) -> None:
    spent = account(engine)
    spec = SPEC.model_copy(update={"groups": {"large": 1.0, "tiny": 1.0}})
    with pytest.raises(ServiceError, match="the account of group 'small'"):
        Changes(engine).put("shop", spec)
    Changes(engine).put("shop", spec, ChangeRequest(discard=True))
    assert account(engine)["large"] == spent["large"]


@pytest.mark.parametrize(
    "change",
    [
        {"length": 2},
        {"length": 6, "exposure": "logarithmic"},
        {"tolerance": 0.9},
        {"exposure": [1.0, 0.9, 0.8, 0.7]},
        {"parameters": {"alpha": 0.5, "window": 8}},
        {"parameters": {"regularization": 2.0, "width": "diagonal"}},
    ],
)
def test_what_changes_freely(engine: Engine, change: dict[str, Any]) -> None:
    before, spent = weights(engine), account(engine)
    waiting = rank(engine, 99).id
    spent = account(engine)
    changed = Changes(engine).put("shop", SPEC.model_copy(update=change))
    assert changed.effects.lost == ()
    assert weights(engine) == pytest.approx(before) and account(engine) == spent
    assert engine.learn(waiting, [GivenEvent(position=1)]).status == "learned"
    rank(engine, 100)


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        ({"ranker": "pdgd"}, "what was learned in"),
        ({"scaling": "query"}, "what was learned in"),
        ({"ranker": "pairrank"}, "the account of group 'small'"),
    ],
)
def test_what_only_goes_on_request(engine: Engine, change: dict[str, Any], lost: str) -> None:
    state = engine.policy("shop").runtime.state()
    spec = SPEC.model_copy(update=change)
    told = Changes(engine).put("shop", spec, ChangeRequest(dry_run=True))
    assert told.dry_run and any(lost in each for each in told.effects.lost)
    with pytest.raises(ServiceError) as refused:
        Changes(engine).put("shop", spec)
    assert all(each in str(refused.value) for each in told.effects.lost) and "discard=true" in str(refused.value)
    assert first_difference(engine.policy("shop").runtime.state()[1], state[1]) is None
    done = Changes(engine).put("shop", spec, ChangeRequest(discard=True))
    assert done.effects == told.effects and engine.policy("shop").runtime.spec == spec


def test_fairness_can_be_put_around_a_ranker_that_has_learned(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    Changes(engine).put("shop", SPEC.model_copy(update={"ranker": "pairrank"}))
    ids = play(engine, 20)
    before = weights(engine)
    changed = Changes(engine).put("shop", SPEC)
    assert changed.effects.lost == () and weights(engine) == before
    assert set(account(engine).values()) == {0.0}
    assert engine.learn(ids[4], [GivenEvent(id="late", position=3)]).status in ("learned", "noted")


def test_late_feedback_teaches_the_version_in_force(started: Start, sqlite_address: str, tmp_path: object) -> None:
    """A click on a ranking from before a change teaches what it would have taught, had the change come first."""
    spec = SPEC.model_copy(update={"scaling": "none", "parameters": {"history": "full"}})
    wider = spec.model_copy(update={"features": ["price", "new", "relevance", "freshness"]})
    found = []
    for number, first in enumerate((True, False)):
        engine = started(f"{tmp_path}/{number}.db")
        Changes(engine).put("shop", spec)
        ranking_id = rank(engine).id
        if not first:
            engine.learn(ranking_id, [GivenEvent(position=2)]).kept.result(SECONDS)
        Changes(engine).put("shop", wider)
        if first:
            assert engine.learn(ranking_id, [GivenEvent(position=2)]).status == "learned"
        found.append(weights(engine))
    assert found[0] == pytest.approx(found[1], rel=1e-3) and found[0]["new"] == 0.0 and found[0]["price"] != 0.0


def test_any_earlier_version_comes_back_with_the_state_it_had(engine: Engine, started: Start, address: str) -> None:
    before = engine.policy("shop").runtime.state()
    spent, learned = account(engine), weights(engine)
    Changes(engine).put(
        "shop", SPEC.model_copy(update={"features": ["price"]}), ChangeRequest(discard=True, by="somebody")
    )
    rank_wide = {"features": np.ones((8, 1), dtype=np.float32)}
    asked = Candidates([f"d{n}" for n in range(8)], np.arange(8) % 2, **rank_wide)
    newer = engine.rank("shop", lambda runtime: asked)
    newer.kept.result(SECONDS)
    told = Changes(engine).rollback("shop", 1, ChangeRequest(dry_run=True))
    assert told.dry_run and engine.policy("shop").runtime.version == 2
    done = Changes(engine).rollback("shop", 1, ChangeRequest(by="somebody"))
    assert (done.version, done.action) == (3, "rolled back to version 1")
    for _ in range(2):
        runtime = engine.policy("shop").runtime
        assert (account(engine), weights(engine)) == (spent, learned)
        numbers = ("ranker.n_ranked", "ranker.host.n_ranked")
        kept = {key: value for key, value in before[1].items() if key not in numbers}
        assert first_difference(kept, {key: runtime.state()[1][key] for key in kept}) is None
        assert runtime.ranker.n_ranked == 41  # numbers of rankings are never used twice
        engine.close()
        engine = started(address)
    assert engine.learn(newer.id, [GivenEvent(position=1)]).status == "learned"
    forward = Changes(engine).rollback("shop", 2)
    assert forward.version == 4 and engine.policy("shop").runtime.spec.feature_names == ["price"]
    rank_again = engine.rank("shop", lambda runtime: asked)
    rank_again.kept.result(SECONDS)


def test_after_a_rollback_the_model_in_force_learns_from_its_own_rankings(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    Changes(engine).put("shop", SPEC)
    first, second = rank(engine, 0).id, rank(engine, 1).id
    Changes(engine).reset("shop", ["model"])
    between = rank(engine, 2).id
    assert engine.learn(first, [GivenEvent(position=1)]).status == "model_replaced"
    told = Changes(engine).rollback("shop", 1)
    assert "version 2" in told.warnings[0]
    assert engine.learn(second, [GivenEvent(position=1)]).status == "learned"
    assert engine.learn(between, [GivenEvent(position=1)]).status == "model_replaced"
    Changes(engine).reset("shop", ["model"])
    assert engine.policy("shop").runtime.generation == 3  # no number is used twice
    assert engine.learn(between, [GivenEvent(id="again", position=1)]).status == "model_replaced"


def test_a_state_that_is_not_kept_any_more(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address, settings={"kept_states": 1})
    for tolerance in (0.1, 0.2, 0.3):
        Changes(engine).put("shop", SPEC.model_copy(update={"tolerance": tolerance}))
    with pytest.raises(ServiceError, match="kept_states") as gone:
        Changes(engine).rollback("shop", 1)
    assert gone.value.status == 410
    for version in (0, 3, 4):
        with pytest.raises(ServiceError, match="an earlier version than 3"):
            Changes(engine).rollback("shop", version)
    assert Changes(engine).rollback("shop", 2).version == 4


@pytest.mark.parametrize("what", [["model"], ["ledger"], ["ledger", "model"]])
def test_reset_starts_anew_with_what_it_names_and_leaves_the_rest(engine: Engine, what: list[str]) -> None:
    spent, learned = account(engine), weights(engine)
    told = Changes(engine).reset("shop", what, ChangeRequest(dry_run=True))
    assert told.effects.lost and weights(engine) == learned
    done = Changes(engine).reset("shop", what)
    assert done.action == f"reset {' and '.join(sorted(what))}"
    assert any(weights(engine).values()) == ("model" not in what)
    assert account(engine) == ({"small": 0.0, "large": 0.0} if "ledger" in what else spent)
    rank(engine, 5)
    Changes(engine).rollback("shop", 1)
    assert (weights(engine), account(engine)) == (learned, spent)


def test_reset_of_something_else(engine: Engine) -> None:
    for what in ([], ["everything"]):
        with pytest.raises(ServiceError, match="model, ledger or both"):
            Changes(engine).reset("shop", what)


def test_a_deleted_policy_is_gone_for_good_and_its_number_is_not_used_again(
    engine: Engine, started: Start, address: str
) -> None:
    old = rank(engine, 7).id
    with pytest.raises(ServiceError, match="with all its 1 versions") as refused:
        Changes(engine).delete("shop")
    assert refused.value.code == "would_lose" and Changes(engine).delete("shop", ChangeRequest(dry_run=True)).dry_run
    assert engine.names() == ["shop"]
    policy = engine.policy("shop")
    Changes(engine).delete("shop", ChangeRequest(discard=True, by="somebody"))
    with pytest.raises(ServiceError, match="no policy is called 'shop'"):
        _ = policy.runtime
    assert engine.names() == []
    until(lambda: engine.store.bounds(policy.row.policy) == (0, 0))
    Changes(engine).put("shop", SPEC)
    newer = rank(engine, 7).id
    assert old.split("-")[0] != newer.split("-")[0]
    for _ in range(2):
        with pytest.raises(ServiceError, match="is not a ranking"):
            engine.learn(old, [GivenEvent(position=1)])
        engine.close()
        engine = started(address)
        assert engine.names() == ["shop"] and engine.policy("shop").runtime.totals.rounds == 1


def test_everything_that_was_done_is_on_record(engine: Engine) -> None:
    Changes(engine).put("shop", SPEC.model_copy(update={"tolerance": 0.5}), ChangeRequest(by="key 1"))
    Changes(engine).rollback("shop", 1, ChangeRequest(by="key 2"))
    Changes(engine).reset("shop", ["ledger"], ChangeRequest(by="key 3"))
    Changes(engine).delete("shop", ChangeRequest(by="key 4", discard=True))
    found = latest_actions(engine.store, limit=10)
    assert [(each["by"], each["action"], each["policy"]) for each in reversed(found)] == [
        ("unknown", "created", "shop"),
        ("key 1", "changed", "shop"),
        ("key 2", "rolled back to version 1", "shop"),
        ("key 3", "reset ledger", "shop"),
        ("key 4", "deleted", "shop"),
    ]
    assert found[3]["details"]["differences"] == ["tolerance: 0.3, now 0.5"]
    assert [each["number"] for each in latest_actions(engine.store, limit=2, before=4)] == [3, 2]
    (looked_at,) = audit(engine.store)
    assert (looked_at.name, looked_at.n_entries, looked_at.problems) == ("(administration)", 5, ())


def test_many_features_are_compared_once(started: Start, sqlite_address: str, monkeypatch: Any) -> None:
    engine = started(sqlite_address)
    names = [f"f{number}" for number in range(300)]
    Changes(engine).put("shop", SPEC.model_copy(update={"features": names, "ranker": "pdgd"}))
    n_calls = 0
    original = PolicySpec.feature_names.fget

    def counted(spec: PolicySpec) -> list[str]:
        nonlocal n_calls
        n_calls += 1
        return original(spec)  # type: ignore[misc, no-any-return]

    monkeypatch.setattr(PolicySpec, "feature_names", property(counted))
    Changes(engine).put("shop", SPEC.model_copy(update={"features": [*names, "new"], "ranker": "pdgd"}))
    assert n_calls < 50
