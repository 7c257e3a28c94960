from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairexp.errors import ArgumentError
from fairexp.lab.simulation.pool.batch import run_many
from fairexp.lab.simulation.pool.paces import work
from fairexp.lab.simulation.pool.workers import ProcessDiedError, Workers
from fairexp.lab.simulation.settings import DataSettings, RunSettings
from fairexp.measures import ONLINE_NDCG

OWN = "tests.lab.experiments.own_rankers"
SMALL = RunSettings(ranker="random", data=DataSettings("mslr-pagerank", n_queries=5), rounds=10, n_points=2)
RUNS = [SMALL.with_seed(seed) for seed in range(3)]
ENDLESS = replace(SMALL, rounds=100_000)


def test_processes_change_nothing_but_speed(tmp_path: Path) -> None:
    reports: list[tuple[int, int]] = []
    alone = run_many(RUNS, jobs=1)
    together = run_many(
        RUNS, jobs=2, folder=tmp_path, progress=lambda number, row: reports.append((number, row["round"]))
    )
    assert [result and result[ONLINE_NDCG] for result in alone] == [
        result and result[ONLINE_NDCG] for result in together
    ]
    assert sorted(reports) == [(number, round) for number in range(3) for round in range(1, 11)]
    assert all((tmp_path / run.label / "result.json").exists() for run in RUNS)


def test_an_interrupt_leaves_the_rest_unplayed() -> None:
    def stop(number: int, row: dict[str, Any]) -> None:
        if number == 1 and row["round"] == 5:
            raise KeyboardInterrupt

    first, second, third = run_many(RUNS, jobs=1, progress=stop)
    assert first is not None and not first.interrupted
    assert second is not None and second.interrupted and second.rounds == 5
    assert third is None


def test_an_interrupt_cuts_processes_short_and_keeps_what_they_did(tmp_path: Path) -> None:
    begun: set[int] = set()

    def stop(number: int, row: dict[str, Any]) -> None:
        begun.add(number)
        if begun == {0, 1}:
            raise KeyboardInterrupt

    runs = [ENDLESS.with_seed(seed) for seed in range(3)]
    first, second, third = run_many(runs, jobs=2, folder=tmp_path, progress=stop)
    for run, result in zip(runs, (first, second), strict=False):
        assert result is not None and result.interrupted and 0 < result.rounds < run.rounds
        assert json.loads((tmp_path / run.label / "result.json").read_text())["rounds"] == result.rounds
    assert third is None and not (tmp_path / runs[2].label).exists()


def test_what_a_process_refuses_is_raised_here() -> None:
    with pytest.raises(ArgumentError, match="nobody"):
        run_many([SMALL, replace(SMALL, ranker="nobody")], jobs=2)


def test_a_run_that_fails_cuts_the_others_short(tmp_path: Path) -> None:
    runs = [replace(SMALL, ranker=f"{OWN}:RaisesLater"), ENDLESS]
    with pytest.raises(RuntimeError, match="round 3") as failure:
        run_many(runs, jobs=2, folder=tmp_path)
    assert "own_rankers.py" in str(failure.value.__cause__)
    result = tmp_path / ENDLESS.label / "result.json"
    assert not result.exists() or json.loads(result.read_text())["interrupted"]


def test_a_process_that_dies_is_told_of() -> None:
    runs = [replace(SMALL, ranker=f"{OWN}:Dies", seed=seed) for seed in range(2)]
    with pytest.raises(
        ProcessDiedError, match=r"own_rankers.Dies/perfect/seed-\d: the process .* died once .* Play fewer"
    ):
        run_many(runs, jobs=2)


def test_one_run_has_the_folder_to_itself(tmp_path: Path) -> None:
    run_many([SMALL], folder=tmp_path / "one")
    assert (tmp_path / "one" / "result.json").exists()


def test_the_longest_runs_begin_and_results_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, long = replace(SMALL, ranker="pairrank"), replace(SMALL, rounds=20)
    assert work(SMALL.ranker, SMALL.rounds) < work(long.ranker, long.rounds) < work(slow.ranker, slow.rounds)
    handed_out: list[RunSettings] = []
    play = Workers.play

    def watched(self: Workers, tasks: Any, *arguments: Any, **options: Any) -> Any:
        handed_out.extend(task.settings for task in tasks)
        return play(self, tasks, *arguments, **options)

    monkeypatch.setattr(Workers, "play", watched)
    runs = [SMALL, slow, slow.with_seed(1), long]
    results = run_many(runs, jobs=2)
    assert handed_out == [slow, slow.with_seed(1), long, SMALL]
    assert [result and result.rounds for result in results] == [10, 10, 10, 20]


def test_one_process_at_a_time_needs_none_besides_this(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    class Counted(Workers):
        def __init__(self, jobs: int) -> None:
            made.append(jobs)
            super().__init__(jobs)

    monkeypatch.setattr("fairexp.lab.simulation.pool.workers.Workers", Counted)
    run_many(RUNS, jobs=1)
    run_many([SMALL], jobs=2)
    assert made == []
    run_many(RUNS[:2], jobs=8)
    assert made == [2]
