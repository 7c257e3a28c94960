"""A deleted policy goes at once, and what was kept of it in slices: others are never kept waiting for all of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import pytest

from fairexp.service.changes import ChangeRequest, Changes
from fairexp.service.engine.engine import Engine
from fairexp.service.store import Append, Context
from fairexp.service.store.base import Kind, Purge, Write
from fairexp.service.store.codec import HUGE_BYTES, pack, unpack
from fairexp.service.store.sql import OF_POLICY, PURGED_AT_ONCE, SqlStore
from tests.service.worlds import SPEC, candidates, play, rank
from tests.waiting import SECONDS, until

Start = Callable[..., Engine]
DISCARDING = ChangeRequest(discard=True)
N = 10 * PURGED_AT_ONCE


def filled(started: Start, address: str) -> Engine:
    """Two policies; the log of the first is long."""
    engine = started(address)
    for name in ("long", "other"):
        Changes(engine).put(name, SPEC)
        play(engine, 3, policy=name)
    live = engine.policy("long")
    first = live.runtime.seq + 1
    entries = [Append(1, first + n, Kind.SHOWN, 5.0, b"more", context=Context(user=f"u{n}")) for n in range(N)]
    engine.submit(live, entries, first + N - 1).result(SECONDS)
    live.runtime.seq = first + N - 1
    return engine


def rows_left(engine: Engine, policy: int) -> int:
    read = cast(SqlStore, engine.store).database.read
    return sum(
        read(f"SELECT COUNT(*) FROM {table} WHERE policy = ?", (policy,))[0][0] for table in (*OF_POLICY, "heads")
    )


def test_no_transaction_takes_more_than_a_slice_and_others_write_between_them(
    started: Start, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = filled(started, address)
    commit, left, shown = engine.store.commit, [rows_left(engine, 1)], list[int]()

    def watched(writes: Sequence[Write]) -> None:
        commit(writes)
        left.append(rows_left(engine, 1))
        if any(isinstance(write, Purge) for write in writes) and len(shown) < 5:
            # Somebody comes while it is going on; what is handed in now is in the next transaction.
            shown.append(engine.rank("other", lambda runtime: candidates(len(shown))).shown.seq)

    monkeypatch.setattr(engine.store, "commit", watched)
    Changes(engine).delete("long", DISCARDING)
    assert engine.names() == ["other"] and rows_left(engine, 2) > 0
    until(lambda: left[-1] == 0)
    steps = -np.diff(left)
    assert left[0] > 2 * N and steps.max() <= PURGED_AT_ONCE and engine.store.unpurged() == []
    assert len(shown) == 5
    until(lambda: engine.store.entry(2, shown[-1]) is not None)


def test_what_a_stop_has_left_goes_after_the_next_start(
    started: Start, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = filled(started, address)
    monkeypatch.setattr(engine.background, "call_to_purge", lambda: None)
    Changes(engine).delete("long", DISCARDING)
    engine.writer.submit([Purge(1)]).result(SECONDS)
    assert engine.store.unpurged() == [1] and rows_left(engine, 1) > N
    engine.close()
    engine = started(address)
    assert engine.names() == ["other"]
    Changes(engine).put("long", SPEC)
    until(lambda: not engine.store.unpurged())
    assert rows_left(engine, 1) == 0 and engine.policy("long").row.policy == 3
    rank(engine, 0, "long")


def test_a_large_new_model_is_packed_and_a_large_full_one_is_not() -> None:
    """A commit of tens of megabytes keeps everybody waiting, and what is packed in vain its writer."""
    new = {"inverse": np.eye(HUGE_BYTES // 8 // 500, 800)}
    full = {"inverse": np.random.default_rng(0).random((HUGE_BYTES // 8 // 500, 800))}
    assert new["inverse"].nbytes > HUGE_BYTES
    small, large = pack({}, new), pack({}, full)
    assert len(small) < 0.05 * new["inverse"].nbytes and len(large) > full["inverse"].nbytes
    for data, arrays in ((small, new), (large, full)):
        np.testing.assert_array_equal(unpack(data)[1]["inverse"], arrays["inverse"])
