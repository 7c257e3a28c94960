from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairexp.errors import ArgumentError
from fairexp.simulation.batch import run_many
from fairexp.simulation.settings import DataSettings, Settings

SMALL = Settings(ranker="random", data=DataSettings("mslr-pagerank", n_queries=5), rounds=10, n_points=2)
RUNS = [SMALL.with_seed(seed) for seed in range(3)]


def test_processes_change_nothing_but_speed(tmp_path: Path) -> None:
    reports: list[tuple[int, int]] = []
    alone = run_many(RUNS, jobs=1)
    together = run_many(
        RUNS, jobs=2, folder=tmp_path, progress=lambda number, row: reports.append((number, row["round"]))
    )
    assert [result and result.online_ndcg for result in alone] == [result and result.online_ndcg for result in together]
    assert {(number, 10) for number in range(3)} <= set(reports)
    assert all((tmp_path / run.label / "result.json").exists() for run in RUNS)


def test_an_interrupt_leaves_the_rest_unplayed() -> None:
    def stop(number: int, row: dict[str, Any]) -> None:
        if number == 1 and row["round"] == 5:
            raise KeyboardInterrupt

    first, second, third = run_many(RUNS, jobs=1, progress=stop)
    assert first is not None and not first.interrupted
    assert second is not None and second.interrupted and second.rounds == 5
    assert third is None


def test_what_a_process_refuses_is_raised_here() -> None:
    with pytest.raises(ArgumentError, match="nobody"):
        run_many([SMALL, replace(SMALL, ranker="nobody")], jobs=2)


def test_one_run_has_the_folder_to_itself(tmp_path: Path) -> None:
    run_many([SMALL], folder=tmp_path / "one")
    assert (tmp_path / "one" / "result.json").exists()
