"""Three walks of a query, each followed through the modules that it passes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from fairexp import FairExp, PairRank, Query
from fairexp.cli import app
from fairexp.service.http.service import Service
from fairexp.service.store import open_store
from tests.architecture import Footsteps
from tests.service.live import Live
from tests.service.worlds import SPEC, rank_body


def through_the_library(footsteps: Footsteps) -> list[str]:
    """One query ranked and learned from."""
    rng = np.random.default_rng(0)
    ranker = FairExp(PairRank(n_features=3), tolerance=1.0)

    def one_round() -> None:
        ranking = ranker.rank(Query(features=rng.random((8, 3)), groups=np.arange(8) % 2))
        ranker.update(ranking, np.arange(8) == 2)

    return footsteps.of(one_round)


def through_simulate(footsteps: Footsteps, folder: Path) -> list[str]:
    """One round on the command line, from the arguments to the table."""

    def simulate(out: str) -> None:
        command = ["simulate", "--ranker", "fairexp-pairrank", "--rounds", "1", "--out", str(folder / out)]
        result = CliRunner().invoke(app, command, catch_exceptions=False)
        assert result.exit_code == 0, result.output

    simulate("first")  # what is made once, such as the world, is there from now on
    return footsteps.of(lambda: simulate("second"))


def over_http(footsteps: Footsteps, folder: Path) -> list[str]:
    """One ranking asked for over HTTP and on disk when it is answered."""
    service = Service(open_store(str(folder / "store.db")), policies={"shop": SPEC}, open=True)
    live = Live(service)
    try:
        live.wait_ready()

        def rank() -> None:
            live.client.post("/v1/policies/shop/rank", json=rank_body()).raise_for_status()

        rank()
        return footsteps.of(rank)
    finally:
        live.stop()
