from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from fairexp.errors import DataError
from fairexp.lab.exports.bandit import log_of_run
from fairexp.lab.exports.runs import KeptRun
from fairexp.lab.offpolicy import BanditLog, evaluate
from fairexp.lab.offpolicy.files import read_bandit_log, write_bandit_log
from fairexp.lab.simulation.recorder import COLUMNS, Recording
from fairexp.lab.simulation.run import run
from fairexp.lab.simulation.settings import DataSettings, RunSettings
from fairexp.rankers import FixedScores


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("run")
    recording = Recording(COLUMNS, draws=8)
    settings = RunSettings(
        "fairexp-pairrank",
        data=DataSettings(n_queries=6),
        rounds=30,
        n_points=2,
        user="navigational",
        length=4,
        parameters={"tolerance": 0.5},
        recording=recording,
    )
    run(settings, folder=place)
    return place


@pytest.fixture(scope="module")
def log(folder: Path) -> BanditLog:
    return log_of_run(KeptRun(folder))


def test_the_log_is_what_the_trace_says(folder: Path, log: BanditLog) -> None:
    rows = parquet.read_table(folder / "trace.parquet").to_pylist()
    train = KeptRun(folder).train
    assert log.n_rounds == 30 and log.length == 4
    for number, row in enumerate(rows):
        entries = slice(log.offsets[number], log.offsets[number + 1])
        assert log.shown[entries].tolist() == row["shown"]
        assert (np.flatnonzero(log.reward[entries]) + 1).tolist() == row["clicked"]
        assert log.query_ids[log.context[number]] == train.query_ids[row["query"]]
        assert log.features[log.rows[entries]] == pytest.approx(train.query(row["query"]).features[row["shown"]])
        assert sum(row["clicked"]) == 0 or set(row["clicked"]) <= set(row["examined"])
        assert row["clicks"] == len(row["clicked"]) and len(row["blocks"]) == train.query(row["query"]).n_candidates
        assert row["list_log_propensity"] is None and row["propensity_kind"] == "estimated"


@pytest.mark.parametrize("name", ["log.parquet", "log.jsonl"])
def test_a_log_is_read_back_from_its_files(log: BanditLog, tmp_path: Path, name: str) -> None:
    write_bandit_log(log, tmp_path / name)
    found = read_bandit_log(tmp_path / name)
    for field in ("starts", "context", "offsets", "shown", "reward", "propensity", "groups", "exact"):
        assert np.array_equal(getattr(found, field), getattr(log, field)), field
    assert found.features == pytest.approx(log.features, abs=1e-6) and found.query_ids == log.query_ids
    assert np.isnan(found.log_list).all()
    target = FixedScores(np.ones(log.features.shape[1]), length=4)
    assert evaluate(found, target).dr.mean == pytest.approx(evaluate(log, target).dr.mean, abs=1e-4)


def test_a_table_of_documents_with_propensities_serves_too(tmp_path: Path) -> None:
    """As a service or anybody else may log: a row for each document that was shown."""
    rows = {
        "ranking": [1, 1, 2, 2],
        "position": [1, 2, 2, 1],
        "click": [1, 0, 0, 1],
        "propensity": [0.5, 0.5, 0.5, 0.5],
        "price": [3.0, 1.0, 3.0, 1.0],
    }
    csv.write_csv(pa.table(rows), tmp_path / "log.csv")
    log = read_bandit_log(tmp_path / "log.csv")
    assert log.features.tolist() == [[3.0], [1.0], [1.0], [3.0]] and log.reward.tolist() == [1.0, 0.0, 1.0, 0.0]
    assert evaluate(log, FixedScores([1.0], length=2)).ips.mean == pytest.approx(1.0)
    del rows["propensity"]
    csv.write_csv(pa.table(rows), tmp_path / "none.csv")
    with pytest.raises(DataError, match="no column propensity"):
        read_bandit_log(tmp_path / "none.csv")


def test_faults_of_files_are_told(log: BanditLog, tmp_path: Path) -> None:
    write_bandit_log(log, tmp_path / "log.jsonl")
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    for change, message in (
        ({"query": "nobody"}, "no candidates of query 'nobody'"),
        ({"shown": [99_999, *first["shown"][1:]]}, "not among the candidates"),
        ({"reward": first["reward"][1:]}, "one for each shown"),
    ):
        (tmp_path / "log.jsonl").write_text("\n".join([json.dumps({**first, **change}), *lines[1:]]) + "\n")
        with pytest.raises(DataError, match=message):
            read_bandit_log(tmp_path / "log.jsonl")
