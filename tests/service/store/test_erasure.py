"""What names a user can be erased: from tables, files and memory, and the log still proves itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from fairexp.cli.entry import app
from fairexp.service.changes import Changes, latest_actions
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.events import GivenEvent
from fairexp.service.http.keys import make_key
from fairexp.service.log.audit import audit
from fairexp.service.store import open_store
from fairexp.service.store.codec import unpack
from fairexp.service.store.sql import SqlStore
from tests.service.http.test_metarank import ranking
from tests.service.live import Live
from tests.service.worlds import SPEC, candidates, rank, rank_body
from tests.waiting import SECONDS

Start = Callable[..., Engine]
TABLES = ("settings", "policies", "log", "contexts", "snapshots", "versions", "heads")


def personal(user: str, number: int) -> dict[str, str]:
    return {
        "user": f"user-{user}",
        "session": f"session-{user}-{number}",
        "query_id": f"query-{user}-{number}",
        "request_id": f"request-{user}-{number}",
    }


def ask(engine: Engine, user: str, number: int, policy: str = "shop") -> str:
    own = personal(user, number)
    ranked = engine.rank(policy, lambda runtime: candidates(number, **own), request_id=own["request_id"])
    ranked.kept.result(SECONDS)
    return ranked.id


def everything(store: SqlStore) -> bytes:
    """All that the tables say, unpacked."""
    parts = []
    for table in TABLES:
        for row in store.database.read(f"SELECT * FROM {table}"):
            for value in row:
                data = bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()
                parts.append(data if data[:4] != b"FX2\x00" else repr(unpack(data)).encode())
    return b"\n".join(parts)


def in_files(path: str, text: str) -> bool:
    return any(
        text.encode() in file.read_bytes() for file in Path(path).parent.iterdir() if file.name.startswith("store.db")
    )


def n_erased(address: str) -> list[int]:
    store = open_store(address)
    store.open(serving=False)
    found = audit(store)
    store.close()
    assert all(each.problems == () for each in found)
    return [each.n_erased for each in found]


def test_only_what_names_the_user_goes_and_the_rest_is_proven(started: Start, address: str) -> None:
    engine = started(address, settings={"snapshot_every": 10})
    for name in ("shop", "news"):
        Changes(engine).put(name, SPEC)
    told = [ask(engine, user, number, name) for name in ("shop", "news") for number in range(9) for user in "ab"]
    for ranking_id in told:
        engine.learn(ranking_id, [GivenEvent(position=0)]).kept.result(SECONDS)
    rounds = engine.policy("shop").runtime.totals.rounds
    assert b"user-a" in everything(cast(SqlStore, engine.store))
    assert engine.erase("user-a", dry_run=True) == 18 and engine.store.shown_to("user-a") == 18
    assert engine.erase("user-a", by="somebody") == 18
    (action,) = latest_actions(engine.store, limit=1)
    assert (action["by"], action["action"], action["details"]) == ("somebody", "erased a user", {"rankings": 18})
    assert engine.erase("user-a") == 0 == engine.erase("user-")
    said = everything(cast(SqlStore, engine.store))
    assert (
        not any(word in said for word in (b"user-a", b"session-a", b"query-a", b"request-a"))
        and said.count(b"user-b") == 18
    )
    shown, feedback = engine.archive.ranking(engine.policy("shop"), int(told[0].split("-")[1]))
    assert shown.context == {} and feedback[0].status == "learned"
    engine.close()
    assert n_erased(address) == [9, 9, 0]  # of two policies, and of what administrators did
    engine = started(address)
    assert engine.policy("shop").runtime.totals.rounds == rounds
    assert engine.learn(told[0], [GivenEvent(position=1)]).status == "learned"
    assert ask(engine, "b", 3) == told[7] and ask(engine, "a", 3) != told[6]


@pytest.mark.parametrize("n_others", [0, 40])
def test_no_byte_of_it_stays_in_the_files(started: Start, sqlite_address: str, n_others: int) -> None:
    """Rows of others between them, and enough of all that pages were split and merged."""
    engine = started(sqlite_address, settings={"snapshot_every": 50})
    Changes(engine).put("shop", SPEC)
    for number in range(120):
        ask(engine, "a", number)
        for other in range(n_others and 1):
            ask(engine, f"b{(7 * number + other) % n_others}", number)
    assert in_files(sqlite_address, "user-a") and in_files(sqlite_address, "request-a-7")
    assert engine.erase("user-a") == 120
    for word in ("user-a", "session-a", "query-a", "request-a"):
        assert not in_files(sqlite_address, word), word
    assert in_files(sqlite_address, "user-b") == bool(n_others)
    assert n_erased(sqlite_address) == [120, 0]


def test_a_reader_that_is_in_the_way_only_delays_it(started: Start, sqlite_address: str, monkeypatch: Any) -> None:
    """What another process still reads stays in the write-ahead log until the next round of maintenance."""
    import sqlite3

    engine = started(sqlite_address)
    Changes(engine).put("shop", SPEC)
    database = cast(SqlStore, engine.store).database
    database._writer.execute("PRAGMA busy_timeout = 10")  # type: ignore[attr-defined]
    ask(engine, "a", 0)
    reader = sqlite3.connect(sqlite_address, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT COUNT(*) FROM contexts").fetchone()
    assert engine.erase("user-a") == 1
    assert in_files(sqlite_address, "user-a")
    ask(engine, "b", 0)
    reader.close()
    database.tidy()
    assert not in_files(sqlite_address, "user-a") and in_files(sqlite_address, "user-b")


def test_nothing_of_it_stays_in_memory(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    Changes(engine).put("shop", SPEC)
    seq = int(ask(engine, "a", 0).split("-")[1])
    policy = engine.policy("shop")
    opened = policy.opened.get(seq)
    assert opened is not None and opened.shown.context == {} and len(policy.requests) == 1
    engine.erase("user-a")
    assert len(policy.requests) == 0


def test_expired_rankings_take_their_context_along(started: Start, address: str) -> None:
    from fairexp.service.store.base import Forget

    engine = started(address)
    Changes(engine).put("shop", SPEC)
    for number in range(4):
        ask(engine, "a", number)
    last = engine.policy("shop").runtime.seq
    engine.writer.submit([Forget(1, last - 1, 1e12, 0)]).result(SECONDS)
    assert engine.store.shown_to("user-a") == 1


def test_over_http_for_admins_only(live: Callable[..., Live], sqlite_address: str) -> None:
    store = open_store(sqlite_address)
    store.open(serving=False)
    tokens = {role: make_key(store, name=role, roles=[role])[1] for role in ("rank", "feedback", "read", "admin")}
    store.close()
    client = live(sqlite_address).client
    headers = {role: {"Authorization": f"Bearer {token}"} for role, token in tokens.items()}
    for user in ("a/b c", "a"):
        body = rank_body(0, user=user, session="s")
        assert client.post("/v1/policies/shop/rank", json=body, headers=headers["rank"]).status_code == 200
    for role in ("rank", "feedback", "read"):
        assert client.delete("/v1/users/a", headers=headers[role]).status_code == 403
    path = "/v1/users/a%2Fb%20c"
    for dry, told in (("true", 1), ("false", 1), ("false", 0)):
        answer = client.delete(path, params={"dry_run": dry}, headers=headers["admin"])
        assert answer.json() == {"rankings": told, "erased": dry == "false"}
    users = [
        each["user"] for each in client.get("/v1/policies/shop/rankings", headers=headers["read"]).json()["rankings"]
    ]
    assert users == ["a", None]


def test_metarank_feedback_for_an_erased_ranking_is_unknown(serve: Any, sqlite_address: str) -> None:
    client: httpx.Client = serve(sqlite_address)
    items = client.post("/rank/shop", json=ranking("m1", 0)).json()["items"]
    event = {"event": "interaction", "id": "i", "ranking": "m1", "type": "click", "item": items[0]["item"]}
    assert client.post("/feedback", json=event).status_code == 200
    assert client.delete("/v1/users/u").json()["rankings"] == 1
    told = client.post("/feedback", json={**event, "id": "j"}).json()["results"][0]
    assert (told["verdict"], told["reason"]) == ("ignored", "unknown_ranking")


def test_from_the_command_line(live: Callable[..., Live], sqlite_address: str) -> None:
    from typer.testing import CliRunner

    running = live(sqlite_address)
    running.client.post("/v1/policies/shop/rank", json=rank_body(0, user="u1"))
    for flag, words in (("--dry-run", "1 rankings would lose"), ("--no", ""), ("", "1 rankings lost")):
        arguments = ["erase", "u1", "--url", running.url, *([flag] if flag else [])]
        result = CliRunner().invoke(app, arguments, env={**os.environ})
        assert words in result.output and (result.exit_code == 0) == bool(words)
    assert running.service.engine.store.shown_to("u1") == 0


def test_a_ranking_without_a_context_counts_as_none(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    Changes(engine).put("shop", SPEC)
    rank(engine)
    engine.close()
    assert n_erased(sqlite_address) == [0, 0]
