"""Counters by item: against plain counting, in bounded memory, and the same after a restart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from fairexp.checks.comparison import first_difference
from fairexp.service.changes import Changes
from fairexp.service.engine.candidates import Candidates
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.events import GivenEvent
from fairexp.service.engine.recovery import load_policy
from fairexp.service.items import STRENGTH, ItemCounters
from fairexp.service.policies.spec import Feature
from tests.service.worlds import SPEC, matrix
from tests.waiting import SECONDS

COUNTED = SPEC.model_copy(
    update={
        "features": [
            Feature(name="n", counter="shown"),
            "relevance",
            Feature(name="rate", counter="rate"),
            "freshness",
            Feature(name="clicks", counter="clicked"),
            "price",
        ]
    }
)


def test_counts_are_plain_counts_and_rates_are_drawn_to_the_mean() -> None:
    rng, counters = np.random.default_rng(3), ItemCounters()
    shown: Counter[str] = Counter()
    clicked: Counter[str] = Counter()
    for _ in range(200):
        ids = [f"d{number}" for number in rng.choice(30, size=5, replace=False)]
        counters.show(ids)
        shown.update(ids)
        clicks = [name for name in ids if rng.random() < 0.3]
        counters.click(clicks)
        clicked.update(clicks)
    mean = clicked.total() / shown.total()
    names = [*shown, "new"]
    expected = [
        [shown[name], clicked[name], (clicked[name] + STRENGTH * mean) / (shown[name] + STRENGTH)] for name in names
    ]
    found = counters.columns(names, ["shown", "clicked", "rate"])
    assert found.tolist() == np.array(expected, dtype=np.float32).tolist()


def test_items_shown_longest_ago_are_forgotten() -> None:
    counters = ItemCounters(most=3)
    counters.show(["a", "b", "c"])
    counters.show(["a", "d"])
    assert "b" not in counters and len(counters) == 3
    counters.click(["b"])
    assert counters.of("b")["clicked"] == 0 and counters.n_clicked == 1


def rank(engine: Engine, number: int) -> str:
    ids, n = [f"d{(number + place) % 12}" for place in range(8)], 8
    groups = np.arange(n) % 2
    ask = lambda runtime: Candidates(ids, groups, runtime.scaling(runtime.counted(ids, matrix(number))))  # noqa: E731
    ranked = engine.rank("shop", ask)
    ranked.kept.result(SECONDS)
    return ranked.id


@pytest.mark.parametrize("snapshots", [True, False])
def test_a_ranking_sees_the_counts_of_its_time_and_a_restart_comes_to_the_same(
    started: Callable[..., Engine], address: str, snapshots: bool
) -> None:
    engine = started(address, settings={"snapshot_every": 7 if snapshots else 1000})
    Changes(engine).put("shop", COUNTED)
    live = engine.policy("shop")
    shown: Counter[str] = Counter()
    clicked: Counter[str] = Counter()
    for number in range(20):
        record, _ = engine.archive.ranking(live, engine.ids.read(rank(engine, number))[1])
        ids = record.ids
        assert record.features[:, 0].tolist() == [shown[name] for name in ids]
        assert record.features[:, 4].tolist() == [clicked[name] for name in ids]
        shown.update(ids)
        if number % 3 == 0:
            engine.learn(engine.ids.make(1, record.seq), [GivenEvent(position=1)]).kept.result(SECONDS)
            clicked[ids[1]] += 1
    Changes(engine).put("shop", COUNTED.model_copy(update={"tolerance": 0.5}))
    assert live.runtime.counters.of("d1")["shown"] == shown["d1"] > 0
    before = live.runtime.state()
    again = load_policy(engine.store, live.row, use_snapshots=snapshots).runtime.state()
    assert before[0] == again[0] and first_difference(before[1], again[1]) is None
    assert "counters.names" in before[1]
