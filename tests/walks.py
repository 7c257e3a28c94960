"""The modules that a query passes: in the library, in `fairexp simulate`, and over HTTP.

`python -m tests.walks` prints them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import numpy as np
from typer.testing import CliRunner

from fairexp import FairExp, PairRank, Query
from fairexp.cli.entry import app
from fairexp.service.http.service import Service
from fairexp.service.store import open_store
from tests.service.live import Live
from tests.service.worlds import SPEC, rank_body

SOURCES = Path(__file__).resolve().parents[1] / "src" / "fairexp"


def modules() -> dict[str, Path]:
    """Every module by its dotted name without `fairexp.`; a package is its `__init__`."""
    found = {}
    for path in SOURCES.rglob("*.py"):
        parts = path.relative_to(SOURCES).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path
    return found


class Footsteps:
    """The modules whose functions are entered while it is `on`, in the order in which each is first entered.

    Threads that are started after it was made are followed too. Compiled kernels leave no trace.
    """

    def __init__(self) -> None:
        self._seen: dict[str, None] = {}
        self._on = False
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def end(self) -> None:
        """Follow nobody any more."""
        sys.setprofile(None)
        threading.setprofile(None)

    def of(self, call: Callable[[], object]) -> list[str]:
        """The modules that `call` passes."""
        self._seen, self._on = {}, True
        try:
            call()
        finally:
            self._on = False
        by_path = {str(path): name for name, path in modules().items()}
        return [by_path[path] for path in self._seen if path in by_path]

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        if self._on and event == "call" and frame.f_code.co_name != "<module>":
            self._seen.setdefault(frame.f_code.co_filename)


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


if __name__ == "__main__":
    steps = Footsteps()
    with TemporaryDirectory() as folder:
        for title, passed in (
            ("ranker.rank and ranker.update", through_the_library(steps)),
            ("fairexp simulate", through_simulate(steps, Path(folder))),
            ("POST /v1/policies/shop/rank", over_http(steps, Path(folder))),
        ):
            print(f"{title}: {len(passed)} modules\n  " + "\n  ".join(passed))  # noqa: T201
    steps.end()
