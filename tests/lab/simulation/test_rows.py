from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import parquet

from fairexp.charts.rows import over_seeds
from fairexp.errors import DataError
from fairexp.lab.metrics import GAMMA
from fairexp.lab.simulation.rows import read_rows, read_run
from fairexp.lab.simulation.run import run
from fairexp.lab.simulation.settings import DataSettings, RunSettings
from fairexp.measures import UF


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 400 rounds: more than there are rows for."""
    place = tmp_path_factory.mktemp("run") / "here"
    run(RunSettings(ranker="random", rounds=400, n_points=8, data=DataSettings(n_queries=10)), folder=place)
    return place


def test_rows_are_the_trace_at_some_rounds(folder: Path) -> None:
    trace = parquet.read_table(folder / "trace.parquet").to_pydict()
    rows = read_run(folder)
    assert rows[-1]["round"] == 400 and 100 < len(rows) <= 250
    assert {(row["ranker"], row["user"], row["seed"]) for row in rows} == {("random", "perfect", 0)}
    for row in rows:
        at = row["round"]
        weights = [GAMMA**t for t in range(at)]
        mean = sum(w * x for w, x in zip(weights, trace["nDCG@10"][:at], strict=True)) / sum(weights)
        assert row["mean online nDCG@10"] == pytest.approx(mean)
        assert row["held-out nDCG@10"] == trace["held-out nDCG@10"][at - 1]


def test_every_held_out_measurement_is_kept(folder: Path) -> None:
    trace = parquet.read_table(folder / "trace.parquet").to_pydict()
    measured = [value for value in trace["held-out nDCG@10"] if value is not None]
    assert [row["held-out nDCG@10"] for row in read_run(folder) if row["held-out nDCG@10"] is not None] == measured


def test_unfairness_is_the_gap_after_the_round_and_no_excursion_is_lost(folder: Path) -> None:
    gaps = parquet.read_table(folder / "trace.parquet")["UF"].to_pylist()
    rows = read_run(folder)
    assert rows[-1]["max UF"] == max(gaps)
    for row in rows:
        assert row["UF"] == gaps[row["round"] - 1] and row["max UF"] == max(gaps[: row["round"]])


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not the folder of a run"):
        read_rows([tmp_path])


def test_missing_measurements_do_not_count() -> None:
    rows = [{"ranker": "a", "round": 1, "seed": seed, "UF": value} for seed, value in ((0, 0.5), (1, None))]
    assert [(point["value"], point["seeds"]) for point in over_seeds(rows, UF)] == [(0.5, 1)]
