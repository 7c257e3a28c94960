"""Clicks of different worth over the service: weights become grades, also when they come one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fairexp.checks.comparison import first_difference
from fairexp.service.changes import ChangeRequest, Changes
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.events import GivenEvent
from fairexp.service.engine.recovery import load_policy
from fairexp.service.policies.rankers import build_ranker
from fairexp.service.policies.spec import FeedbackSpec
from tests.service.worlds import SPEC, candidates, rank
from tests.waiting import SECONDS

Start = Callable[..., Engine]
RULES = {"events": {"click": 1.0, "purchase": 2.0}, "window_seconds": 100.0}
ALL = {"pairs": "all", "history": "full"}
GRADED = SPEC.model_copy(
    update={"feedback": FeedbackSpec(grades=3, **RULES), "parameters": ALL, "scaling": "none"}  # type: ignore[arg-type]
)


def learned_rows(engine: Engine) -> set[tuple[float, ...]]:
    """The preferences that the model has, each as a row of differences."""
    model = engine.policy("shop").runtime.ranker.learner.model  # type: ignore[attr-defined]
    return {tuple(np.round(row, 5)) for row in np.asarray(model.state()["rows"])}


def differences(features: Any, pairs: list[tuple[int, int]]) -> set[tuple[float, ...]]:
    rows = features.astype(np.float64)
    return {tuple(np.round(rows[one] - rows[two], 5)) for one, two in pairs}


def learn(engine: Engine, ranking_id: str, *events: GivenEvent) -> str:
    learned = engine.learn(ranking_id, list(events))
    learned.kept.result(SECONDS)
    return learned.status


def test_a_purchase_is_preferred_to_a_click_at_once_and_when_it_comes_later(started: Start, tmp_path: Any) -> None:
    at_once, later = started(f"{tmp_path}/one.db"), started(f"{tmp_path}/two.db")
    for engine in (at_once, later):
        Changes(engine).put("shop", GRADED)
    one, two = rank(at_once), rank(later)
    assert one.shown.ids == two.shown.ids
    pairs = [(0, 1), (0, 3), (2, 0), (2, 1), (2, 3)]
    learn(at_once, one.id, GivenEvent(position=0), GivenEvent("b", "purchase", position=2))
    assert learned_rows(at_once) == differences(one.shown.features, pairs)
    learn(later, two.id, GivenEvent(position=0), GivenEvent(position=2))
    assert learned_rows(later) == differences(two.shown.features, [*pairs[:2], *pairs[3:]])
    assert learn(later, two.id, GivenEvent("b", "purchase", position=2)) == "learned"
    assert learned_rows(later) == differences(two.shown.features, pairs)
    assert learn(later, two.id, GivenEvent("c", "purchase", position=2)) == "noted"  # the highest grade has no equals


def test_without_grades_a_purchase_is_a_click(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    Changes(engine).put("shop", GRADED.model_copy(update={"feedback": FeedbackSpec(**RULES)}))  # type: ignore[arg-type]
    ranked = rank(engine)
    learn(engine, ranked.id, GivenEvent(position=0), GivenEvent("b", "purchase", position=2))
    expected = differences(ranked.shown.features, [(0, 1), (0, 3), (2, 1), (2, 3)])
    assert learned_rows(engine) == expected


@pytest.mark.parametrize("ranker", ["fairexp-pairrank", "pairrank", "pdgd", "dbgd", "fairco", "fairexp-c3-ucb"])
@pytest.mark.parametrize("snapshots", [True, False])
def test_grades_come_back_from_the_log(started: Start, address: str, ranker: str, snapshots: bool) -> None:
    engine = started(address, settings={"snapshot_every": 6 if snapshots else 1000, "cached_bytes": 9000})
    rules = {"ranker": ranker, "parameters": {}, "scaling": "running"}
    Changes(engine).put("shop", GRADED.model_copy(update=rules))
    rng, ids = np.random.default_rng(2), []
    for number in range(25):
        ids.append(rank(engine, number).id)
        for part in range(3):
            kind = str(rng.choice(["click", "purchase"]))
            which = ids[int(rng.integers(max(number - 2, 0), number + 1))]
            learn(engine, which, GivenEvent(f"{number}-{part}", kind, position=int(rng.integers(4))))
    live = engine.policy("shop")
    again, now = load_policy(engine.store, live.row, use_snapshots=snapshots).runtime.state(), live.runtime.state()
    assert again[0] == now[0] and first_difference(again[1], now[1]) is None


def test_a_ranker_that_has_no_use_for_grades_says_so(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    spec = GRADED.model_copy(update={"ranker": "random", "parameters": {}})
    assert any("feedback.grades" in each for each in Changes(engine).put("shop", spec).warnings)


def by_query(engine: Engine) -> Any:
    """A ranking of a query that has an id."""
    ranked = engine.rank("shop", lambda runtime: candidates(0, query_id="q"))
    ranked.kept.result(SECONDS)
    return ranked


@pytest.mark.parametrize("ranker", ["cascade-ucb1", "fairexp-cascade-kl-ucb", "offr-dcm-kl-ucb"])
def test_grades_are_rewards_and_a_change_of_them_loses_the_model(
    started: Start, sqlite_address: str, ranker: str
) -> None:
    engine = started(sqlite_address)
    spec = GRADED.model_copy(update={"ranker": ranker, "parameters": {}, "tolerance": 5.0})
    assert not any("feedback.grades" in each for each in Changes(engine).put("shop", spec).warnings)
    ranked = by_query(engine)
    learn(engine, ranked.id, GivenEvent("b", "purchase", position=1))
    learner: Any = engine.policy("shop").runtime.ranker.learner
    (record,) = learner.queries.records.values()
    assert learner.top_grade == 3 and record.tables["clicks"].sum() == 2 / 3 and record.tables["views"].sum() == 2.0
    assert Changes(engine).put("shop", spec.model_copy(update={"length": 3})).effects.lost == ()
    fewer = spec.model_copy(update={"feedback": FeedbackSpec(grades=2, **RULES)})  # type: ignore[arg-type]
    changed = Changes(engine).put("shop", fewer, ChangeRequest(discard=True))
    assert any("what was learned in 1 updates" in each for each in changed.effects.lost)
    assert engine.policy("shop").runtime.ranker.learner.top_grade == 2  # type: ignore[attr-defined]


def test_what_was_declared_before_there_were_rewards_goes_on_with_clicks() -> None:
    spec = GRADED.model_copy(update={"ranker": "cascade-ucb1", "parameters": {}})
    ranker: Any = build_ranker(spec, {"max_queries": 10, "max_documents": 10})[0]
    assert ranker.top_grade == 1
