"""The log's chain: nothing in a store can be changed, dropped or put elsewhere without its being told, by name."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairexp.errors import ArgumentError
from fairexp.service.changes import Changes
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.events import GivenEvent
from fairexp.service.log.audit import Audited, audit
from fairexp.service.policies.spec import FeedbackSpec, RetentionSpec
from fairexp.service.problems import CorruptRecordError
from fairexp.service.store import Append, Context, open_store
from fairexp.service.store.base import Kind
from fairexp.service.store.chain import START, Chain, checked, commitment_of, sealed
from fairexp.service.store.migrations import Execute
from tests.service.http.test_operations import run
from tests.service.live import Live
from tests.service.tampering import delete, flip, seal_anew, swap, tampering
from tests.service.worlds import SPEC, play, rank, rank_body
from tests.waiting import SECONDS

Start = Callable[..., Engine]
ENTRY_COLUMNS = "policy, seq, kind, at, payload, ranking, commitment, previous, digest"
CONTEXT = Context(user="u1", request_id="mine", salt=b"s" * 16)
ENTRY = Append(1, 2, Kind.FEEDBACK, 3.5, b"what was said", ranking=1, context=CONTEXT)


def test_the_digest_stays_what_it_is() -> None:
    """A store outlives the code that wrote it, so the digest of an entry may never become another one."""
    assert commitment_of(CONTEXT).hex() == "278d7dcb49a6b6257261efea912db63b"
    assert sealed(ENTRY, START.digest).digest.hex() == "746621393439c749afe59541511603a7"


@pytest.mark.parametrize(
    "change",
    [
        {"policy": 2},
        {"seq": 3},
        {"kind": Kind.SHOWN},
        {"at": 3.5000000000000004},
        {"payload": b"what was sald"},
        {"ranking": None},
        {"ranking": 2},
        {"commitment": b""},
        {"commitment": commitment_of(CONTEXT)[:-1], "payload": commitment_of(CONTEXT)[-1:] + b"what was said"},
        {"previous": b"\x01" * 16},
    ],
)
def test_the_digest_covers_everything(change: dict[str, Any]) -> None:
    entry = sealed(ENTRY, START.digest)
    assert checked(entry) is entry
    with pytest.raises(CorruptRecordError, match=r"entry \d of?.*changed since it was written|entry \d has digest"):
        checked(replace(entry, **change))


def test_a_chain_without_its_beginning() -> None:
    """After an entry whose digest nobody noted the next is taken as it is, and from there on all must fit."""
    one = sealed(replace(ENTRY, seq=5), b"?" * 16)
    two = sealed(replace(ENTRY, seq=6), one.digest)
    chain = Chain(after=4)
    assert chain.follow(one) is None and chain.follow(two) is None
    assert "digest" in str(Chain(after=4, digest=b"!" * 16).follow(one))
    assert "from entry 0 to 5" in str(Chain().follow(one))
    assert Chain(forgotten=4).follow(one) is None


@pytest.fixture
def filled(started: Start, address: str) -> str:
    """A store of which nothing has expired, with a policy that will be tampered with and one that will not."""
    engine = started(address)
    for name in ("bad", "good"):
        Changes(engine).put(name, SPEC)
        play(engine, 6, policy=name)
    rank(engine, 0, "bad", request_id="mine")
    engine.close()
    return address


def looked_at(address: str, *expected: str) -> dict[str, Audited]:
    store = open_store(address)
    store.open(serving=False)
    try:
        return {each.name: each for each in audit(store, expected=expected)}
    finally:
        store.close()


Fault = Callable[[Execute, int, int], None]
"""What is done to the log of a policy, given its number and its last entry."""


def changed(column: str, seq: int | None = None) -> Fault:
    """Another value in an entry, by default in the last."""
    return lambda execute, policy, last: flip(execute, column, seq or last, policy=policy)


def replaced(column: str, value: object) -> Fault:
    sql = f"UPDATE log SET {column} = ? WHERE policy = ? AND seq = 4"
    return lambda execute, policy, last: execute(sql, (value, policy)) and None


def other_context(column: str, value: bytes) -> Fault:
    """Something else beside the last entry."""
    sql = f"UPDATE contexts SET {column} = ? WHERE policy = ? AND seq = ?"
    return lambda execute, policy, last: execute(sql, (value, policy, last)) and None


def context_from_nowhere(execute: Execute, policy: int, last: int) -> None:
    execute("INSERT INTO contexts (policy, seq, salt, user_id) VALUES (?, 4, ?, ?)", (policy, b"s", b"u1"))


def gone(*seqs: int) -> Fault:
    """Entries deleted; numbers below 1 count from the last."""
    return lambda execute, policy, last: delete(
        execute, *(seq if seq > 0 else last + seq for seq in seqs), policy=policy
    )


def swapped(execute: Execute, policy: int, last: int) -> None:
    swap(execute, 4, 5, policy=policy)


def resealed(seq: int | None = None) -> Fault:
    """Another time, with the digest that belongs to it: found by what follows."""

    def fault(execute: Execute, policy: int, last: int) -> None:
        entry = _read(execute, policy, seq or last)
        other = sealed(replace(entry, at=entry.at + 1.0), entry.previous)
        row = (other.at, other.digest, policy, other.seq)
        execute("UPDATE log SET at = ?, digest = ? WHERE policy = ? AND seq = ?", row)

    return fault


def forged(execute: Execute, policy: int, last: int) -> None:
    """An entry after the last, properly sealed."""
    entry = _read(execute, policy, last)
    more = sealed(replace(entry, seq=last + 1), entry.digest)
    row = (
        policy,
        more.seq,
        int(more.kind),
        more.at,
        more.payload,
        more.ranking,
        more.commitment,
        more.previous,
        more.digest,
    )
    execute(f"INSERT INTO log ({ENTRY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)


def _read(execute: Execute, policy: int, seq: int) -> Append:
    row = execute(f"SELECT {ENTRY_COLUMNS} FROM log WHERE policy = ? AND seq = ?", (policy, seq))[0]
    return Append(*row[:6], None, row[6] or b"", *row[7:])


FAULTS: dict[str, tuple[Fault, str]] = {
    "bit": (changed("payload", 4), "entry 4 has digest"),
    "bit-of-the-first": (changed("payload", 1), "entry 1 has digest"),
    "bit-of-the-last": (changed("payload"), "entry {last} has digest"),
    "time": (changed("at", 4), "entry 4 has digest"),
    "kind": (changed("kind", 4), "entry 4 has digest"),
    "unknown-kind": (replaced("kind", 99), "entry 4 has digest"),
    "whose-feedback": (changed("ranking", 4), "entry 4 has digest"),
    "commitment": (changed("commitment"), "entry {last} has digest"),
    "user": (other_context("user_id", b"u2"), "entry {last} has another user"),
    "session": (other_context("session", b"s"), "entry {last} has another user"),
    "query-id": (other_context("query_id", b""), "entry {last} has another user"),
    "request-id": (other_context("request_id", b"\xff"), "entry {last} has another user"),
    "salt": (other_context("salt", b"s" * 99), "entry {last} has another user"),
    "context-from-nowhere": (context_from_nowhere, "entry 4 has another user"),
    "digest": (changed("digest", 4), "entry 4 has digest"),
    "previous": (changed("previous", 4), "entry 4 has digest"),
    "no-digest": (replaced("digest", None), "entry 4 has digest"),
    "row-gone": (gone(4), "from entry 3 to 5"),
    "first-gone": (gone(1), "from entry 0 to 2"),
    "last-gone": (gone(0), "the last 1 are missing"),
    "last-three-gone": (gone(0, -1, -2), "the last 3 are missing"),
    "two-swapped": (swapped, "entry 4 has digest"),
    "one-more": (forged, "this service did not write it"),
    "resealed-alone": (resealed(4), "entry 5 follows an entry with digest"),
    "last-resealed-alone": (resealed(), "entry {last} ends the log with digest"),
}


def test_every_fault_is_told_by_name_and_others_serve(started: Start, address: str) -> None:
    engine = started(address)
    for name in (*FAULTS, "good"):
        Changes(engine).put(name, SPEC)
        play(engine, 4, policy=name)
        rank(engine, 0, name, user="u1", request_id="mine")
    numbers = {name: engine.policy(name).row.policy for name in FAULTS}
    engine.close()
    lasts = {name: each.head.seq for name, each in looked_at(address).items()}
    with tampering(address) as execute:
        for name, (fault, _) in FAULTS.items():
            execute("DELETE FROM snapshots WHERE policy = ?", (numbers[name],))
            fault(execute, numbers[name], lasts[name])
    found = looked_at(address)
    assert found["good"].problems == ()
    engine = started(address)
    assert engine.healthy and engine.damaged == sorted(FAULTS)
    rank(engine, policy="good")
    for name, (_, message) in FAULTS.items():
        expected = message.format(last=lasts[name])
        assert any(expected in problem for problem in found[name].problems), (name, found[name].problems)
        problem = str(engine.policy(name).problem)
        assert problem.startswith(f"policy {name}: ") and expected in problem, name
        assert "from a backup" in problem and "fairexp audit" in problem


def test_an_audit_names_everything_once(filled: str) -> None:
    assert all(each.problems == () for each in looked_at(filled).values())
    with tampering(filled) as execute:
        flip(execute, "payload", 3)
        delete(execute, 6, 7)
        flip(execute, "at", 9)
        execute(
            "UPDATE versions SET spec = ? WHERE policy = 1", (SPEC.model_copy(update={"length": 3}).model_dump_json(),)
        )
    problems = looked_at(filled)["bad"].problems
    assert len(problems) == 4
    for problem, part in zip(
        problems, ("from entry 1 on", "entry 3 has", "from entry 5 to 8", "entry 9 has"), strict=True
    ):
        assert part in problem


def test_a_chain_made_anew_is_found_by_a_note_and_by_snapshots(filled: str) -> None:
    before = looked_at(filled)
    notes = [each.note for each in before.values()]
    assert all(each.problems == () for each in looked_at(filled, *notes).values())
    with tampering(filled) as execute:
        flip(execute, "at", 4)
        seal_anew(execute)
    last = before["bad"].head.seq
    (problem,) = looked_at(filled)["bad"].problems
    assert problem == f"entry {last} is not the one that the snapshot after it was taken of"
    with tampering(filled) as execute:
        execute("DELETE FROM snapshots WHERE policy = 1", ())
    assert looked_at(filled)["bad"].problems == ()
    (problem,) = looked_at(filled, *notes)["bad"].problems
    assert problem.startswith(f"entry {last} has digest") and "made anew" in problem
    (problem,) = looked_at(filled, "bad:999:00")["bad"].problems
    assert "entry 999 was noted" in problem


def test_a_note_that_is_none(started: Start, sqlite_address: str) -> None:
    Changes(started(sqlite_address)).put("bad", SPEC)
    for note in ("bad", "bad:x:00", "bad:3", "nobody:3:00"):
        with pytest.raises(ArgumentError, match="expected"):
            looked_at(sqlite_address, note)


def test_a_snapshot_is_tied_to_the_log_after_it(started: Start, filled: str) -> None:
    """Entries before a snapshot are changed and all is sealed anew: what follows the snapshot does not fit it."""
    engine = started(filled)
    play(engine, 3, policy="bad", start=50)
    engine.writer.submit([]).result(SECONDS)
    engine.policy("bad").fail(CorruptRecordError("so that it takes no snapshot when it is closed"))
    engine.close()
    with tampering(filled) as execute:
        flip(execute, "at", 4)
        seal_anew(execute)
    assert "follows an entry with digest" in str(started(filled).policy("bad").problem)


def test_a_log_that_is_shorter_than_its_snapshot(started: Start, filled: str) -> None:
    last = looked_at(filled)["bad"].head.seq
    with tampering(filled) as execute:
        delete(execute, last, last - 1)
        seal_anew(execute)
    assert f"snapshot {last}: the log ends before it, with {last - 2}" in looked_at(filled)["bad"].problems
    problem = str(started(filled).policy("bad").problem)
    assert f"the log ends with entry {last - 2}, but a snapshot was taken after {last}" in problem


def test_what_expired_is_not_missed_and_what_did_not_is(started: Start, address: str) -> None:
    now = 1_000_000.0
    engine = started(address, clock=lambda: now, settings={"snapshot_every": 20})
    times = {"feedback": FeedbackSpec(window_seconds=500), "retention": RetentionSpec(rankings_seconds=500)}
    Changes(engine).put("bad", SPEC.model_copy(update=times))
    old = play(engine, 20, policy="bad")
    now += 499
    play(engine, 20, start=20, policy="bad")
    seq = int(old[4].split("-")[1])
    engine.learn(old[4], [GivenEvent(id="late", position=3)]).kept.result(SECONDS)
    now += 5
    engine.snapshot(engine.policy("bad"), at_least=10_000)
    engine.background.compact(engine.policy("bad"))
    engine.close()
    found = looked_at(address)["bad"]
    assert found.problems == () and found.head.forgotten > seq
    assert found.n_entries < found.head.seq - 10
    with tampering(address) as execute:
        delete(execute, found.head.forgotten + 1)
    (problem,) = looked_at(address)["bad"].problems
    assert f"to {found.head.forgotten + 2}" in problem


def test_gaps_of_an_older_store(started: Start, address: str) -> None:
    """Up to the oldest snapshot a gap may be what expired; after it, none is."""
    engine = started(address)
    Changes(engine).put("bad", SPEC)
    play(engine, 6, policy="bad")
    engine.snapshot(engine.policy("bad"), at_least=1)
    oldest = engine.policy("bad").snapshot_seq
    play(engine, 6, policy="bad", start=6)
    engine.close()
    with tampering(address) as execute:
        delete(execute, 2, 3, oldest + 2)
        execute("UPDATE snapshots SET digest = ?", (b"",))  # what they say of the log is as good as unknown
        seal_anew(execute)
    problem = looked_at(address)["bad"].problems[-1]
    assert f"from entry {oldest + 1} to {oldest + 3}" in problem


def test_a_damaged_record_is_neither_shown_nor_learned_from(live: Callable[..., Live], address: str) -> None:
    running = live(address)
    ids = [
        running.client.post("/v1/policies/shop/rank", json=rank_body(number)).json()["ranking_id"] for number in (0, 1)
    ]
    with tampering(address) as execute:
        flip(execute, "payload", int(ids[0].split("-")[1]))
    running.service.engine.policy("shop").opened.clear()
    asked = {"events": [{"position": 1}]}
    for answer in (
        running.client.get(f"/v1/policies/shop/rankings/{ids[0]}"),
        running.client.get("/v1/policies/shop/rankings"),
        running.client.post("/v1/feedback", json={**asked, "ranking_id": ids[0]}),
    ):
        assert answer.status_code == 500 and answer.json()["error"]["code"] == "record_damaged"
    assert "fairexp_store_failures_total 3.0" in running.client.get("/metrics").text
    learned = running.client.post("/v1/feedback", json={**asked, "ranking_id": ids[1]})
    assert learned.json()["results"][0]["status"] == "learned"
    assert running.client.get("/readyz").status_code == 200


def test_an_audit_does_not_mind_a_server_at_work(started: Start, address: str) -> None:
    now = [1_000_000.0]
    engine = started(address, clock=lambda: now[0], settings={"snapshot_every": 10})
    times = {"feedback": FeedbackSpec(window_seconds=20), "retention": RetentionSpec(rankings_seconds=20)}
    Changes(engine).put("bad", SPEC.model_copy(update=times))
    play(engine, 5, policy="bad")

    def work(number: int) -> None:
        now[0] += 5.0
        play(engine, 5, policy="bad", start=5 * number)
        engine.background.compact(engine.policy("bad"))

    heads = []
    for number in range(1, 16):
        at_work = threading.Thread(target=work, args=(number,))
        at_work.start()
        found = looked_at(address)["bad"]
        at_work.join()
        assert found.problems == ()
        heads.append(found.head)
    assert heads[-1].seq > heads[0].seq and heads[-1].forgotten > 0


def test_audit_from_the_command_line(
    started: Start, sqlite_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    engine = started(sqlite_address)
    Changes(engine).put("bad", SPEC)
    play(engine, 6, policy="bad")
    engine.close()
    note = looked_at(sqlite_address)["bad"].note
    found = run("audit", "--store", sqlite_address, "--expect", note)
    assert found.stdout.splitlines()[0] == note
    assert found.stdout.splitlines()[1].startswith("(administration):1:")
    with tampering(sqlite_address) as execute:
        flip(execute, "payload", 4)
    found = run("audit", "--store", sqlite_address, exit_code=1)
    assert "bad:" not in found.stdout and "bad: entry 4 has digest" in found.stderr
    missing = run("audit", "--store", "nowhere.db", exit_code=2)
    assert "nowhere.db" in missing.stderr and not (tmp_path / "nowhere.db").exists()
