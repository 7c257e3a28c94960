"""The records of an experiment: one per run, one per failure, and the list of what belongs to it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from fairexp.lab.experiments.plan.run import Run
from fairexp.lab.experiments.run.task import Outcome
from fairexp.lab.experiments.store import Json, Store, read_json, write_json
from fairexp.measures import VALIDATION_NDCG

RUNS, FAILURES, OVERVIEW = "runs", "failures", "experiment.json"


class Records:
    """What a store holds of an experiment's runs, by key.

    Where a store takes several writers, `keep` returns before the record is there. Whatever reads waits for it; so does
    `settle`, to be called before the process ends. What a kill loses on the way is played again.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._writers = ThreadPoolExecutor(store.writers, thread_name_prefix="fairexp-records")
        self._writing: dict[str, Future[None]] = {}

    def done(self) -> set[str]:
        """The keys of runs with a record."""
        self.settle()
        return {name.removesuffix(".json") for name in self.store.names(RUNS) if name.endswith(".json")}

    def failed(self) -> set[str]:
        """The keys of runs that ended with an error."""
        self.settle()
        return {name.removesuffix(".json") for name in self.store.names(FAILURES) if name.endswith(".json")}

    def keep(self, outcome: Outcome) -> None:
        """Keep what came of a run; a success takes the place of an earlier failure.

        The error of an earlier outcome that could not be kept is raised here or by whatever waits next.
        """
        if self.store.writers == 1:
            self._write(outcome)
            return
        if outcome.key in self._writing:
            self.settle()
        for key, writing in list(self._writing.items()):
            if not writing.done() and len(self._writing) < self.store.writers:
                break
            del self._writing[key]
            writing.result()
        self._writing[outcome.key] = self._writers.submit(self._write, outcome)

    def settle(self) -> None:
        """Wait until all that was handed to `keep` is there."""
        while self._writing:
            self._writing.pop(next(iter(self._writing))).result()

    def _write(self, outcome: Outcome) -> None:
        if outcome.record is not None:
            write_json(self.store, f"{RUNS}/{outcome.key}.json", outcome.record)
            self.store.delete(f"{FAILURES}/{outcome.key}.json")
        else:
            failure = {"key": outcome.key, "error": outcome.error, "trace": outcome.trace, "time": time.time()}
            write_json(self.store, f"{FAILURES}/{outcome.key}.json", failure)

    def read(self, key: str) -> Json | None:
        """The record of a run; None where there is none that can be read."""
        self.settle()
        return read_json(self.store, f"{RUNS}/{key}.json")

    def validation_ndcg(self, key: str) -> float | None:
        """What a run came to on the validation part."""
        record = self.read(key)
        return None if record is None else record["result"][VALIDATION_NDCG.name]

    def failure(self, key: str) -> Json | None:
        """The error that a run ended with."""
        self.settle()
        return read_json(self.store, f"{FAILURES}/{key}.json")

    def write_overview(self, overview: Json) -> None:
        """Keep what the records are of: read by `status` and `report`, which need no data."""
        write_json(self.store, OVERVIEW, overview)

    def overview(self) -> Json | None:
        return read_json(self.store, OVERVIEW)


def run_rows(runs: Sequence[Run], *, stage: str) -> list[dict[str, Any]]:
    """Runs as rows of the overview."""
    return [
        {
            "key": run.key,
            "stage": stage,
            "data": run.data,
            "user": run.user,
            "fold": run.fold,
            "ranker": run.ranker,
            "parameters": dict(run.parameters),
            "seed": run.seed,
        }
        for run in runs
    ]
