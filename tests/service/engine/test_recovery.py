"""The model is a fold over the log: with and without snapshots, after a restart, after anything."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fairexp.checks.comparison import first_difference
from fairexp.service.changes import ChangeRequest, Changes
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.events import GivenEvent
from fairexp.service.engine.recovery import load_policy
from fairexp.service.policies.spec import Feature, PolicySpec
from tests.service.tampering import seal_anew, tampering
from tests.service.worlds import SPEC, play, rank
from tests.waiting import SECONDS

Start = Callable[..., Engine]
RANKERS = (
    *(
        "fairexp-pairrank",
        "pairrank",
        "pdgd",
        "fairco",
        "fairexp-random",
        "pdgd-neural",
        "fara",
        "p-mmf",
        "offr-pairrank",
    ),
    *("dbgd", "dp-dbgd", "mp-dgd", "mgd", "p-mgd", "cps", "sim-mgd", "c-mgd", "nsgd", "dsp"),
)


def same(one: Engine, other: Engine) -> None:
    """Both engines stand at the same bits."""
    for name in one.names():
        (meta, arrays), (other_meta, other_arrays) = (engine.policy(name).runtime.state() for engine in (one, other))
        assert meta == other_meta
        assert first_difference(arrays, other_arrays) is None


@pytest.mark.parametrize("ranker", RANKERS)
def test_the_log_alone_rebuilds_the_state_bit_for_bit(started: Start, sqlite_address: str, ranker: str) -> None:
    engine = started(sqlite_address, settings={"snapshot_every": 17})
    Changes(engine).put("shop", SPEC.model_copy(update={"ranker": ranker}))
    play(engine, 40)
    policy = engine.policy("shop")
    meta, arrays = policy.runtime.state()
    engine.writer.submit([]).result(SECONDS)
    for use_snapshots in (True, False):
        loaded = load_policy(engine.store, policy.row, use_snapshots=use_snapshots)
        assert (loaded.snapshot_seq > 0) == use_snapshots
        assert loaded.runtime.state()[0] == meta
        assert first_difference(loaded.runtime.state()[1], arrays) is None


def test_a_restart_continues_as_if_nothing_had_been(started: Start, address: str, tmp_path: object) -> None:
    interrupted = started(address, settings={"snapshot_every": 25})
    Changes(interrupted).put("shop", SPEC)
    first = play(interrupted, 20)
    interrupted.close()
    resumed = started(address)
    straight = started(f"{tmp_path}/straight.db")
    Changes(straight).put("shop", SPEC)
    _same_stream(straight, resumed)
    play(straight, 20)
    for number in range(20, 40):
        one, two = rank(resumed, number), rank(straight, number)
        assert one.shown.ids == two.shown.ids
        assert one.shown.scores.tobytes() == two.shown.scores.tobytes()
        for engine, ranked in ((resumed, one), (straight, two)):
            engine.learn(ranked.id, [GivenEvent(position=1)]).kept.result(SECONDS)
    late = resumed.learn(first[4], [GivenEvent(id="late", position=3)])
    assert late.status == "learned"


def _same_stream(engine: Engine, other: Engine) -> None:
    """The seed is the same, so the streams are."""
    keys = [each.policy("shop").runtime.ranker.state()["stream"] for each in (engine, other)]
    assert np.array_equal(*keys)


CHANGES = (
    {"tolerance": 0.2},
    {"groups": {"a": 1.0, "small": 1.0, "large": 2.0}},
    {"features": ["price", "new", "relevance"]},
    {"features": ["new", "price", Feature(name="relevance", scale=10.0)], "length": 3},
    {"parameters": {"regularization": 3.0, "width": "diagonal"}, "scaling": "none"},
    {"ranker": "pdgd", "parameters": {}},
)


def test_versions_are_replayed_too(started: Start, address: str) -> None:
    """Whatever changes between them, late feedback for earlier versions included."""
    engine = started(address, settings={"snapshot_every": 10_000})
    Changes(engine).put("shop", SPEC)
    early = play(engine, 10)
    spec = SPEC
    for number, change in enumerate(CHANGES, start=1):
        spec = spec.model_copy(update=change)
        Changes(engine).put("shop", spec, ChangeRequest(discard=True))
        play(engine, 10, start=10 * number)
        engine.learn(early[number], [GivenEvent(id=f"late {number}", position=1)]).kept.result(SECONDS)
    Changes(engine).rollback("shop", 3)
    play(engine, 10, start=100)
    meta, arrays = engine.policy("shop").runtime.state()
    engine.writer.submit([]).result(SECONDS)
    loaded = load_policy(engine.store, engine.policy("shop").row, use_snapshots=False)
    assert loaded.runtime.state()[0] == meta
    assert first_difference(loaded.runtime.state()[1], arrays) is None
    assert [version.version for version in loaded.versions] == list(range(1, len(CHANGES) + 3))


def test_a_corrupt_snapshot_is_passed_over(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address, settings={"snapshot_every": 20})
    Changes(engine).put("shop", SPEC)
    play(engine, 30)
    state = engine.policy("shop").runtime.state()
    engine.close()
    _spoil(sqlite_address)
    resumed = started(sqlite_address)
    assert first_difference(resumed.policy("shop").runtime.state()[1], state[1]) is None


def _spoil(path: str) -> None:
    """Flip one byte in the newest snapshot."""
    import sqlite3

    with sqlite3.connect(path) as connection:
        seq, payload = connection.execute("SELECT seq, payload FROM snapshots ORDER BY seq DESC LIMIT 1").fetchone()
        broken = bytearray(payload)
        broken[len(broken) // 2] ^= 1
        connection.execute("UPDATE snapshots SET payload = ? WHERE seq = ?", (bytes(broken), seq))
    connection.close()


def spoilt(started: Start, address: str, change: str, *values: bytes, anew: bool = False) -> Engine:
    """An engine that starts on a store with a good policy and a bad one, whose log was changed (and sealed `anew`)."""
    engine = started(address)
    for name in ("bad", "good"):
        Changes(engine).put(name, SPEC)
        play(engine, 5, policy=name)
    engine.close()
    with tampering(address) as execute:
        execute("DELETE FROM snapshots WHERE policy = 1", ())
        execute(change, values)
        if anew:
            seal_anew(execute)
    return started(address)


def test_a_policy_that_cannot_be_rebuilt_says_so_and_others_serve(started: Start, sqlite_address: str) -> None:
    from fairexp.service.problems import ServiceError

    resumed = spoilt(started, sqlite_address, "DELETE FROM log WHERE policy = 1 AND seq = 3")
    assert resumed.healthy and resumed.damaged == ["bad"]
    assert "from entry 2 to 4" in str(resumed.policy("bad").problem)
    with pytest.raises(ServiceError, match="alone is out of service"):
        rank(resumed, policy="bad")
    rank(resumed, policy="good")


def test_a_record_that_is_whole_and_makes_no_sense_stops_one_policy_only(started: Start, sqlite_address: str) -> None:
    from fairexp.service.store.codec import pack

    change = "UPDATE log SET payload = ? WHERE policy = 1 AND seq = 2"
    resumed = spoilt(started, sqlite_address, change, pack({"odd": 1}, {}), anew=True)
    assert "KeyError in a record" in str(resumed.policy("bad").problem)
    rank(resumed, policy="good")


def test_two_servers_cannot_share_a_store(started: Start, address: str) -> None:
    from fairexp.service.problems import StoreBusyError

    started(address)
    with pytest.raises(StoreBusyError, match="another server uses"):
        started(address)


def test_the_ledger_is_the_sum_over_shown_rankings(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    Changes(engine).put("shop", PolicySpec(features=3, groups={"a": 1.0, "b": 2.0}, length=4, tolerance=1.0))
    total = np.zeros(2)
    for number in range(25):
        shown = rank(engine, number).shown
        assert shown.exposure is not None and shown.groups is not None
        total += np.bincount(shown.groups, weights=shown.exposure, minlength=2)
    ledger = engine.policy("shop").runtime.ranker.ledger  # type: ignore[attr-defined]
    assert np.array_equal(ledger.exposure, total)
    assert np.array_equal(engine.policy("shop").runtime.totals.exposure, total)
