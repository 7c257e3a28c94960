"""Reading takes work by what is read, and not by what else there is; beyond a limit an answer says that it is cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from fairexp.service.changes import Changes
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.events import GivenEvent
from fairexp.service.store import Append, Context
from fairexp.service.store.base import Kind
from fairexp.service.store.sql import SqlStore
from tests.service.live import Live
from tests.service.worlds import SPEC, rank, rank_body
from tests.waiting import SECONDS

READS: dict[str, Callable[[Engine], object]] = {
    "feedback": lambda engine: engine.store.feedback(1, 2),
    "rankings of a query": lambda engine: engine.store.latest(1, Kind.SHOWN, limit=100, query_id="rare"),
    "latest rankings": lambda engine: engine.store.latest(1, Kind.SHOWN, limit=3),
    "rankings with a request id": lambda engine: engine.store.named("mine"),
}


def fill(engine: Engine, n: int) -> None:
    """More rankings of other queries, as the log has them."""
    last = engine.store.head(1).seq
    entries = [
        Append(1, last + 1 + number, Kind.SHOWN, 5.0, b"other", context=Context(query_id=f"q{number}"))
        for number in range(n)
    ]
    engine.writer.submit(entries).result(SECONDS)


def steps(engine: Engine, read: Callable[[Engine], object]) -> int:
    """How many steps SQLite's machine takes for a read."""
    database = cast(Any, cast(SqlStore, engine.store).database)
    connection, counted = database._open_reader(), []
    connection.set_progress_handler(lambda: counted.append(1), 1)
    while not database._readers.empty():
        database._readers.get()
    database._readers.put(connection)
    read(engine)
    database._readers.get()
    for reader in (None, None, None, None):
        database._readers.put(reader)
    connection.close()
    return len(counted)


@pytest.mark.parametrize("what", READS)
def test_a_read_takes_no_more_work_because_there_are_others(
    started: Callable[..., Engine], sqlite_address: str, what: str
) -> None:
    engine = started(sqlite_address)
    Changes(engine).put("shop", SPEC)
    ranked = rank(engine, query_id="rare", request_id="mine")
    engine.learn(ranked.id, [GivenEvent(position=0)]).kept.result(SECONDS)
    fill(engine, 50)
    few = steps(engine, READS[what])
    fill(engine, 5000)
    many = steps(engine, READS[what])
    engine.policy("shop").fail(cast(Any, "so that it takes no snapshot when it is closed"))
    assert few > 0 and many < few + 50, (few, many)


def test_a_list_of_large_records_is_cut_and_says_so(live: Callable[..., Live], address: str) -> None:
    running = live(address, settings={"max_listed_bytes": 1000})
    told = [running.client.post("/v1/policies/shop/rank", json=rank_body(0)).json()["ranking_id"] for _ in range(25)]
    url, found, cuts, before = "/v1/policies/shop/rankings", list[str](), 0, None
    while len(found) < 25:
        answer = running.client.get(
            url, params={"limit": 20, "query_id": "q0", **({"before": before} if before else {})}
        )
        page, before = answer.json(), answer.json()["before"]
        found += [each["ranking_id"] for each in page["rankings"]]
        cuts += page["cut"] is not None
        if page["cut"] is not None:
            assert "max_listed_bytes" in page["cut"] and before == found[-1] and 1 <= len(page["rankings"]) < 20
        assert page["rankings"]
    assert found == told[::-1] and cuts >= 2
    running.service.settings = running.service.settings.changed({"max_listed_bytes": 1})
    (alone,) = running.client.get(url, params={"limit": 20}).json()["rankings"]
    assert alone["ranking_id"] == told[-1]
