"""Rankings at hand take as much memory as they may, however large they are."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.checks.comparison import first_difference
from fairexp.service.changes import Changes
from fairexp.service.engine.cache import Cache
from fairexp.service.engine.candidates import Candidates
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.events import GivenEvent
from fairexp.service.engine.open_ranking import OpenRanking
from fairexp.service.engine.recovery import load_policy
from fairexp.service.policies.spec import PolicySpec
from tests.service.live import Live, Standstill
from tests.service.worlds import SPEC, candidates, play, rank, rank_body
from tests.waiting import SECONDS

Start = Callable[..., Engine]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 40)), max_size=40), st.sets(st.integers(0, 9)))
@settings(deadline=None, derandomize=True, max_examples=200)
def test_a_cache_against_its_slow_twin(puts: list[tuple[int, int]], held: set[int]) -> None:
    cache = Cache[int](50, may_go=lambda value: value not in held)
    twin: list[tuple[int, int]] = []
    for number, size in puts:
        cache.put(number, number, n_bytes=size)
        twin = [each for each in twin if each[0] != number] + [(number, size)]
        for each in twin[:-1]:
            if sum(size for _, size in twin) > 50 and each[0] not in held:
                twin.remove(each)
        assert [each for each in range(10) if each in cache] == sorted(each for each, _ in twin)
        assert cache.n_bytes == sum(size for _, size in twin) and len(cache) == len(twin)
        assert cache.get(number) == number
    cache.clear()
    assert len(cache) == cache.n_bytes == 0 and cache.get(0) is None


WIDE = PolicySpec(features=40, groups={"a": 1.0, "b": 1.0}, length=10, tolerance=0.5, seed=3)


def many(n: int, number: int) -> Candidates:
    features = np.random.default_rng(number).random((n, 40)).astype(np.float32)
    return Candidates([f"document-{index}" for index in range(n)], np.arange(n) % 2, features)


@pytest.mark.parametrize("n", [20, 1000])
def test_a_ranking_takes_the_memory_that_is_counted(started: Start, sqlite_address: str, n: int) -> None:
    """Also one that was read from the store, where it was a part of a longer record."""
    engine = started(sqlite_address)
    Changes(engine).put("shop", WIDE)
    for number in range(10):  # so that some orders are certain, and much is remembered for explanations
        ranked = engine.rank("shop", lambda runtime, number=number: many(n, number))  # type: ignore[misc]
        engine.learn(ranked.id, [GivenEvent(position=3)]).kept.result(SECONDS)
    policy = engine.policy("shop")
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    opened = [OpenRanking.of(*engine.archive.ranking(policy, ranked.shown.seq)) for _ in range(20)]
    gc.collect()
    taken = (tracemalloc.get_traced_memory()[0] - before) / len(opened)
    tracemalloc.stop()
    assert 0.8 * taken < opened[0].n_bytes < 1.2 * taken
    assert opened[0].n_bytes < 8000, "the number of candidates does not matter"
    read, _ = engine.archive.ranking(policy, ranked.shown.seq)
    trimmed = read.trimmed()
    assert trimmed.ids == read.ids
    for place, of_read in ((trimmed.place, read.place), (trimmed.drawn, read.drawn)):
        assert (trimmed.considered.block[place] == read.considered.block[of_read]).all()
        assert trimmed.considered.at(place).ids == read.considered.at(of_read).ids
    one, two = (vars_of(each.ranking(1)) for each in (read, trimmed))
    assert first_difference(one, two) is None


def vars_of(ranking: object) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    names = ("shown", "features", "scores", "groups", "exposure")
    arrays = {name: np.asarray(getattr(ranking, name)) for name in names}
    return {**arrays, **ranking.memory}  # type: ignore[attr-defined]


def test_the_budget_holds_whatever_comes(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address, settings={"cached_bytes": 60_000})
    Changes(engine).put("shop", WIDE)
    policy = engine.policy("shop")
    ids = []
    for number in range(40):
        ranked = engine.rank("shop", lambda runtime, number=number: many(20, number))  # type: ignore[misc]
        ranked.kept.result(SECONDS)
        ids.append(ranked.id)
        assert policy.opened.n_bytes <= 60_000
    assert 5 < len(policy.opened) < 20
    before = policy.opened.n_bytes
    events = [GivenEvent(id=f"{number}-" + "x" * 200, type="click", position=0) for number in range(100)]
    engine.learn(ids[-1], events).kept.result(SECONDS)
    assert policy.opened.n_bytes <= 60_000 and len(policy.opened) < 12, "a ranking that grows takes others' room"
    assert before > 40_000
    assert engine.learn(ids[-1], events).status == "duplicate"
    for number, each in enumerate(ids):
        assert engine.learn(each, [GivenEvent(id="late", position=2)]).status == "learned", number
    state = policy.runtime.state()[1]
    engine.writer.submit([]).result(SECONDS)
    assert first_difference(load_policy(engine.store, policy.row).runtime.state()[1], state) is None


def test_a_budget_below_one_ranking_serves_all_the_same(started: Start, address: str) -> None:
    engine = started(address, settings={"cached_bytes": 1})
    Changes(engine).put("shop", SPEC)
    ids = play(engine, 10)
    assert len(engine.policy("shop").opened) == 1
    assert engine.learn(ids[2], [GivenEvent(id="late", position=2)]).status == "learned"


def test_what_is_not_on_disk_stays_at_hand(started: Start, sqlite_address: str) -> None:
    """A ranking that the store does not have yet cannot be read back from it."""
    engine = started(sqlite_address, settings={"cached_bytes": 8000})
    Changes(engine).put("shop", SPEC)
    policy = engine.policy("shop")
    with Standstill(engine.store, "commit"):
        waiting = [engine.rank("shop", lambda runtime, number=number: candidates(number)) for number in range(6)]
        assert len(policy.opened) == 6 and policy.opened.n_bytes > 8000
    for ranked in waiting:
        ranked.kept.result(SECONDS)
    rank(engine, 6)
    assert policy.opened.n_bytes <= 8000


def test_metrics_tell_what_is_held(live: Callable[..., Live], sqlite_address: str) -> None:
    running = live(sqlite_address)
    for number in range(3):
        running.client.post("/v1/policies/shop/rank", json=rank_body(number))
    text = running.client.get("/metrics").text
    held = running.service.engine.policy("shop").opened
    assert 'fairexp_cached_rankings{policy="shop"} 3.0' in text
    assert f'fairexp_cached_bytes{{policy="shop"}} {float(held.n_bytes)}' in text and held.n_bytes > 3000
