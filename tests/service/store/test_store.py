"""The store's interface on both databases; migrations; compaction; the writer."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import cast

import hypothesis
import hypothesis.strategies
import numpy as np
import orjson
import pytest

from fairexp.checks.comparison import first_difference
from fairexp.errors import ArgumentError
from fairexp.service.changes import Changes
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.events import GivenEvent
from fairexp.service.engine.recovery import load_policy
from fairexp.service.http.keys import make_key
from fairexp.service.log.writer import Writer
from fairexp.service.policies.spec import FeedbackSpec, RetentionSpec
from fairexp.service.problems import CorruptRecordError, ServiceError, StoreBusyError, StoreError
from fairexp.service.store import AddPolicy, Append, Context, open_store
from fairexp.service.store import codec as packing
from fairexp.service.store.base import Kind
from fairexp.service.store.codec import pack, unpack
from fairexp.service.store.migrations import MIGRATIONS, Execute
from fairexp.service.store.sql import SqlStore
from tests.service.worlds import SPEC, play, rank
from tests.waiting import SECONDS

Start = Callable[..., Engine]


def test_what_is_written_is_read(address: str) -> None:
    store = open_store(address)
    store.open(serving=False)
    context = Context(user="u\x00", session="s", request_id="a")
    entries = [
        Append(1, seq, Kind.SHOWN, float(seq), bytes([seq]), context=context if seq < 3 else None) for seq in (1, 2, 3)
    ]
    back = Append(1, 4, Kind.FEEDBACK, 4.0, b"f", ranking=2)
    store.commit([AddPolicy(1, "shop", 0.5), *entries, back])
    assert store.policies() == [AddPolicy(1, "shop", 0.5)]
    assert store.entries(1, after=1, limit=2) == entries[1:]
    assert store.entry(1, 4) == back and store.entry(1, 5) is None
    assert store.feedback(1, 2) == [back]
    assert store.latest(1, Kind.SHOWN, limit=2) == [entries[2], entries[1]]
    assert store.latest(1, Kind.SHOWN, limit=2, before=2) == [entries[0]]
    assert store.named("a") == {1: (2, 2.0)} and store.named("b") == {}
    assert store.shown_to("u\x00") == 2 and store.shown_to("u") == 0
    assert store.bounds(1) == (1, 4) and store.bounds(2) == (0, 0)
    assert store.size() > 0
    secret = store.secret()
    store.close()
    store.open(serving=False)
    assert store.secret() == secret and len(secret) == 32
    store.close()


def test_a_transaction_is_kept_entirely_or_not_at_all(address: str) -> None:
    store = open_store(address)
    store.open(serving=False)
    entry = Append(1, 1, Kind.SHOWN, 0.0, b"x")
    with pytest.raises(StoreError):
        store.commit([entry, entry])
    assert store.bounds(1) == (0, 0)
    store.commit([entry])
    assert store.bounds(1) == (1, 1)
    store.close()


def test_a_store_is_brought_up_to_date_in_one_transaction(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version adds a step: it is applied once, on top of what is there, or not at all."""
    store = open_store(address)
    store.open(serving=False)
    make_key(store, name="kept", roles=["read"])
    store.close()

    def note(execute: Execute) -> None:
        execute("INSERT INTO notes (name) SELECT name FROM keys", ())

    broken = ("CREATE TABLE notes (name TEXT)", "SELECT nonsense FROM nowhere")
    monkeypatch.setitem(MIGRATIONS, "0002_notes", broken)
    with pytest.raises(StoreError):
        store.open(serving=False)
    monkeypatch.setitem(MIGRATIONS, "0002_notes", ("CREATE TABLE notes (name TEXT)", note))
    for _ in range(2):
        store.open(serving=False)
        assert cast(SqlStore, store).database.read("SELECT name FROM notes") == [("kept",)]
        store.close()


def test_a_newer_file_is_refused(sqlite_address: str) -> None:
    store = open_store(sqlite_address)
    store.open(serving=False)
    store.close()
    with sqlite3.connect(sqlite_address) as connection:
        connection.execute("INSERT INTO migrations VALUES ('9999_future', 0)")
    connection.close()
    with pytest.raises(StoreError, match="newer fairexp, which applied 9999_future"):
        store.open(serving=False)


def test_keys_keep_their_limits(address: str) -> None:
    store = open_store(address)
    store.open(serving=False)
    limited, _ = make_key(store, name="a", roles=["rank", "read"], policies=["shop", "b-2"], rate=5.0, now=1.0)
    whole, _ = make_key(store, name="b", roles=["admin"], now=2.0)
    assert store.keys() == [limited, whole]
    assert (limited.policies, whole.policies) == (("b-2", "shop"), ())
    store.close()


def test_a_second_server_is_refused_also_through_a_link(started: Start, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    started(str(tmp_path / "data" / "store.db"))
    (tmp_path / "link.db").symlink_to(tmp_path / "data" / "store.db")
    (tmp_path / "folder").symlink_to(tmp_path / "data")
    for link in ("link.db", "folder/store.db"):
        with pytest.raises(StoreBusyError, match=r"data/store\.db"):
            open_store(tmp_path / link).open(serving=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "folder", "link.db"]


@pytest.mark.parametrize("serving", [True, False])
def test_a_store_with_two_names_is_refused_by_either(tmp_path: Path, serving: bool) -> None:
    """SQLite keeps what is not in the file yet beside it, under its name: by the other name that would be missing."""
    first, other = open_store(tmp_path / "store.db"), open_store(tmp_path / "other" / "link.db")
    first.open(serving=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "link.db").hardlink_to(tmp_path / "store.db")
    for _ in range(2):
        with pytest.raises(StoreError, match=r"link\.db has 2 names \(hard links\)"):
            other.open(serving=serving)
    assert first.keys() == []
    first.close()
    with pytest.raises(StoreError, match=r"store\.db has 2 names"):
        first.open(serving=serving)
    (tmp_path / "other" / "link.db").unlink()
    first.open(serving=serving)
    first.close()


def rights(folder: Path) -> dict[str, int]:
    return {path.name.removeprefix("store.db"): path.stat().st_mode & 0o777 for path in folder.iterdir()}


def test_what_sqlite_keeps_is_its_owners_alone_whatever_the_umask(started: Start, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        engine = started(str(tmp_path / "store.db"))
        Changes(engine).put("shop", SPEC)
        rank(engine)
        assert rights(tmp_path) == dict.fromkeys(("", "-wal", "-shm", ".lock"), 0o600)
    finally:
        os.umask(before)


def test_a_file_that_others_could_read_is_narrowed_and_that_is_said(
    started: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine = started(str(tmp_path / "store.db"))
    for path in tmp_path.iterdir():
        path.chmod(0o664)
    store = open_store(tmp_path / "store.db")
    store.open(serving=False)  # while a server is at work, so that all files are there
    store.close()
    assert rights(tmp_path) == dict.fromkeys(("", "-wal", "-shm", ".lock"), 0o600)
    assert len([text for text in caplog.messages if "was open to others (mode 664)" in text]) == 4
    caplog.clear()
    store.open(serving=False)
    store.close()
    engine.close()
    assert not caplog.messages


def test_an_address_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="postgresql://"):
        open_store("mysql://here")


def test_expired_entries_go_and_the_rest_still_rebuilds(started: Start, address: str) -> None:
    now = 1_000_000.0
    engine = started(address, clock=lambda: now, settings={"snapshot_every": 20})
    times = {"feedback": FeedbackSpec(window_seconds=50), "retention": RetentionSpec(rankings_seconds=100)}
    Changes(engine).put("shop", SPEC.model_copy(update=times))
    old = play(engine, 30)
    now += 60
    new = play(engine, 30, start=30)
    now += 60
    engine.background.compact(engine.policy("shop"))
    first, last = engine.store.bounds(1)
    assert 1 < first <= int(new[0].split("-")[1]) and last == engine.policy("shop").runtime.seq
    assert len(engine.store.snapshot_seqs(1)) == 2
    state = engine.policy("shop").runtime.state()[1]
    assert first_difference(load_policy(engine.store, engine.policy("shop").row).runtime.state()[1], state) is None
    engine.policy("shop").opened.clear()
    with pytest.raises(ServiceError) as caught:
        engine.learn(old[0], [GivenEvent(position=0)])
    assert (caught.value.status, caught.value.code) == (410, "ranking_expired")
    assert engine.learn(new[-1], [GivenEvent(id="late", position=0)]).status == "window_closed"


def test_a_ranking_outlives_its_time_while_feedback_after_the_snapshot_needs_it(started: Start, address: str) -> None:
    now = 1_000_000.0
    engine = started(address, clock=lambda: now, settings={"snapshot_every": 10_000})
    times = {"feedback": FeedbackSpec(window_seconds=100), "retention": RetentionSpec(rankings_seconds=100)}
    Changes(engine).put("shop", SPEC.model_copy(update=times))
    ranking_id = rank(engine).id
    policy = engine.policy("shop")
    engine.snapshot(policy, at_least=1)
    rank(engine, 1)
    engine.snapshot(policy, at_least=1)
    now += 99
    engine.learn(ranking_id, [GivenEvent(position=1)]).kept.result(SECONDS)
    now += 50
    engine.background.compact(policy)
    assert engine.store.entry(1, int(ranking_id.split("-")[1])) is not None
    state = policy.runtime.state()[1]
    assert first_difference(load_policy(engine.store, policy.row).runtime.state()[1], state) is None


def test_waiting_writes_share_a_transaction(sqlite_address: str) -> None:
    store = open_store(sqlite_address)
    store.open(serving=False)
    entered, go_on = threading.Event(), threading.Event()
    sizes: list[int] = []
    commit = store.commit

    def slow(writes: list[object]) -> None:
        entered.set()
        go_on.wait(SECONDS)
        sizes.append(len(writes))
        commit(writes)  # type: ignore[arg-type]

    store.commit = slow  # type: ignore[method-assign, assignment]
    writer = Writer(store, failed=lambda error: None)
    first = writer.submit([Append(1, 1, Kind.SHOWN, 0.0, b"")])
    assert entered.wait(SECONDS)
    rest = [writer.submit([Append(1, seq, Kind.SHOWN, 0.0, b"")]) for seq in range(2, 8)]
    assert not any(future.done() for future in [first, *rest])
    go_on.set()
    for future in [first, *rest]:
        future.result(SECONDS)
    assert sizes == [1, 6] and writer.groups == 2
    writer.close()
    store.close()


def test_after_a_failure_nothing_that_waits_is_kept(sqlite_address: str) -> None:
    store = open_store(sqlite_address)
    store.open(serving=False)
    problems: list[StoreError] = []
    writer = Writer(store, failed=problems.append)
    writer.submit([Append(1, 1, Kind.SHOWN, 0.0, b"")]).result(SECONDS)
    bad: Future[None] = writer.submit([Append(1, 1, Kind.SHOWN, 0.0, b"again")])
    with pytest.raises(ServiceError, match="cannot keep anything"):
        bad.result(SECONDS)
    with pytest.raises(ServiceError):
        writer.submit([Append(1, 2, Kind.SHOWN, 0.0, b"")])
    assert len(problems) == 1 and store.bounds(1) == (1, 1)
    writer.resume()
    writer.submit([Append(1, 2, Kind.SHOWN, 0.0, b"")]).result(SECONDS)
    writer.close()
    store.close()


@pytest.mark.parametrize("cut", [0, 3, 7, 20, -1])
def test_records_that_are_cut_short_are_noticed(cut: int) -> None:
    data = pack({"a": [1]}, {"x": np.arange(5.0), "name": np.array("PairRank")})
    meta, arrays = unpack(data)
    assert meta == {"a": [1]} and arrays["name"] == "PairRank"
    with pytest.raises(CorruptRecordError):
        unpack(data[:cut])
    with pytest.raises(CorruptRecordError):
        unpack(data + b"x")


def test_objects_are_never_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match="dtype object"):
        pack({}, {"x": np.array([object()])})
    honest = orjson.dumps
    monkeypatch.setattr(packing.orjson, "dumps", lambda given: honest(given).replace(b'"<f8"', b'"|O8"'))
    with pytest.raises(CorruptRecordError, match="dtype"):
        unpack(pack({}, {"x": np.zeros(1)}))


@hypothesis.given(hypothesis.strategies.data())
@hypothesis.settings(max_examples=100, deadline=None, database=None, derandomize=True)
def test_arrays_come_back_bit_for_bit(data: hypothesis.strategies.DataObject) -> None:
    """Any bits, NaN and negative zero too, of any shape, in any order in memory."""
    shape = data.draw(hypothesis.strategies.lists(hypothesis.strategies.integers(0, 7), max_size=3))
    kind = data.draw(hypothesis.strategies.sampled_from(["<f4", "<f8", "<i8", "<i4", "<i2", "|u1", "|b1", "<U3"]))
    rng = np.random.default_rng(data.draw(hypothesis.strategies.integers(0, 2**32)))
    if kind in ("|b1", "<U3"):
        array = rng.integers(0, 2, size=shape).astype(kind)
    else:
        n_bytes = int(np.prod(shape)) * np.dtype(kind).itemsize
        array = np.frombuffer(rng.bytes(n_bytes), dtype=kind).reshape(shape)
    given = array.copy(order="F") if data.draw(hypothesis.strategies.booleans()) else array
    back = unpack(pack({}, {"x": given}))[1]["x"]
    assert back.dtype == array.dtype and back.shape == array.shape and back.tobytes() == array.tobytes()
    assert back.flags.c_contiguous and back.base is None


def test_features_of_few_values_take_a_fraction() -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(2.0, size=(10, 136)).astype(np.float32)
    assert len(pack({}, {"features": counts})) < counts.nbytes / 5
