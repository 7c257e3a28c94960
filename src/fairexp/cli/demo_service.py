"""What `fairexp serve --demo` adds: a policy on an embedded world, and simulated users who rank and click over HTTP."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from fairexp.cli.entry import error_console
from fairexp.client import Client, ClientError
from fairexp.lab.data import Dataset
from fairexp.lab.data.synthetic import world
from fairexp.lab.users import User, load_user, preset_grades
from fairexp.service.policies.spec import PolicySpec

if TYPE_CHECKING:
    import uvicorn

    from fairexp.client.answers import RankedList

POLICY = "demo"
WORLD = "mslr-pagerank"
USER = "navigational"
N_QUERIES = 60
PAUSE_SECONDS = 0.12
"""A search about eight times a second: fast enough to watch it learn, slow enough to see each list."""


def demo_policies() -> dict[str, PolicySpec]:
    """One policy whose groups are the pages above and below a threshold of PageRank, as in the paper."""
    spec = PolicySpec(features=136, groups={"popular": 1.0, "niche": 1.0}, length=10, tolerance=0.1, seed=7)
    return {POLICY: spec}


class DemoTraffic(threading.Thread):
    """Users of the demo. They know the service by its address only."""

    def __init__(self, server: uvicorn.Server) -> None:
        super().__init__(name="fairexp-demo", daemon=True)
        self._server = server

    def run(self) -> None:
        while not self._server.started:
            time.sleep(0.05)
        address = self._server.servers[0].sockets[0].getsockname()
        url = f"http://127.0.0.1:{address[1]}"
        data = world(WORLD, n_queries=N_QUERIES)
        user = load_user(USER, n_grades=preset_grades(data.max_grade), seed=3)
        with Client(url, key=os.environ.get("FAIREXP_KEY")) as client:
            while not client.ready():
                time.sleep(0.1)
            error_console().print(f"Watch it: {url}/", style="bold")
            self._visit_forever(client, data, user)

    def _visit_forever(self, client: Client, data: Dataset, user: User) -> None:
        rng = np.random.default_rng(11)
        while not self._server.should_exit:
            try:
                visit(client, data, user, int(rng.integers(data.n_queries)))
            except ClientError as error:
                if error.status in (401, 403):
                    error_console().print("Demo users need a key: set FAIREXP_KEY.", style="yellow")
                    return
                time.sleep(1.0)
            time.sleep(PAUSE_SECONDS)


def visit(client: Client, data: Dataset, user: User, number: int, policy: str = POLICY) -> RankedList:
    """One search: candidates in, a list out, and the clicks of a user who looks at it."""
    query, relevance = data.query(number), data.relevance(number)
    assert query.groups is not None
    ids = [f"page-{number}-{index}" for index in range(query.n_candidates)]
    names = ("popular", "niche")
    ranking = client.rank(
        policy,
        ids,
        query.features,
        groups=[names[group] for group in query.groups],
        query_id=f"search {query.query_id}",
    )
    shown = [ids.index(item.id) for item in ranking.items]
    clicks = user.visit_many(relevance[None, shown]).clicks[0]
    events = [{"position": position + 1} for position in np.flatnonzero(clicks).tolist()]
    if events:
        client.feedback(ranking.ranking_id, events, final=True)
    return ranking
