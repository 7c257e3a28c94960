"""What MLflow is told: by its own package where that is installed, and by one that notes each call elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairexp.errors import ArgumentError, MissingExtraError
from fairexp.lab.exports import tracking
from fairexp.lab.exports.tracking import Tracker, find_tracker
from fairexp.lab.simulation import Result
from fairexp.lab.simulation.run import run
from fairexp.lab.simulation.settings import DataSettings, RunSettings
from fairexp.measures import MAX_UF, ONLINE_NDCG

SETTINGS = RunSettings("pdgd", {"learning_rate": 0.2}, DataSettings(n_queries=5), rounds=12, n_points=3)


class Notes:
    """The part of MLflow's interface that is used, with its own argument names."""

    def __init__(self) -> None:
        self.runs: list[dict[str, Any]] = []

    def get_tracking_uri(self) -> str:
        return "notes"

    def search_experiments(self, *, max_results: int) -> list[Any]:
        return [][:max_results]

    @contextmanager
    def start_run(self, *, run_name: str) -> Iterator[None]:
        self.runs.append({"name": run_name, "metrics": []})
        yield

    def log_params(self, params: Mapping[str, str]) -> None:
        self.runs[-1]["params"] = dict(params)

    def set_tags(self, tags: Mapping[str, str]) -> None:
        self.runs[-1]["tags"] = dict(tags)

    def log_metrics(self, metrics: Mapping[str, float], *, step: int) -> None:
        self.runs[-1]["metrics"].append((step, dict(metrics)))

    def log_artifacts(self, local_dir: str) -> None:
        self.runs[-1]["files"] = local_dir


def played(folder: Path) -> Result:
    return run(SETTINGS, folder=folder)


def test_a_run_is_told_with_settings_curves_and_results(tmp_path: Path) -> None:
    notes, result = Notes(), played(tmp_path)
    assert Tracker(notes).log_runs([SETTINGS], [result], folder=tmp_path) == "notes"
    (told,) = notes.runs
    assert told["name"] == "pdgd/perfect/seed-0" and told["files"] == str(tmp_path)
    assert told["params"]["parameters.learning_rate"] == "0.2" and told["params"]["rounds"] == "12"
    assert told["tags"] == {"ranker": "pdgd", "user": "perfect", "data": "mslr-pagerank"}
    steps = [step for step, _ in told["metrics"]]
    assert steps == [row["round"] for row in result.points] + [12]
    assert "query" not in told["metrics"][0][1]
    last = told["metrics"][-1][1]
    assert last["rounds per s"] > 0.0
    assert last["online nDCG at 10"] == result[ONLINE_NDCG] and last["max UF"] == result[MAX_UF]


def test_runs_that_never_began_are_left_out(tmp_path: Path) -> None:
    notes, result = Notes(), played(tmp_path)
    Tracker(notes).log_runs([SETTINGS, SETTINGS.with_seed(1)], [result, None])
    assert len(notes.runs) == 1 and "files" not in notes.runs[0]


def test_names_and_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*name: Any, **options: Any) -> Any:
        raise ImportError(name)

    with pytest.raises(ArgumentError, match="mlflow"):
        find_tracker("wandb")
    monkeypatch.setattr(tracking, "import_module", absent)
    with pytest.raises(MissingExtraError, match=r"fairexp\[mlflow\]"):
        find_tracker("mlflow")
    notes = Notes()
    monkeypatch.setattr(tracking, "import_module", lambda name: notes)
    assert isinstance(find_tracker("mlflow"), Tracker)
    monkeypatch.setattr(notes, "search_experiments", absent)
    with pytest.raises(ArgumentError, match="MLFLOW_ALLOW_FILE_STORE"):
        find_tracker("mlflow")


@pytest.mark.filterwarnings("ignore")
def test_mlflow_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    result = played(tmp_path / "run")
    tracker = find_tracker("mlflow")
    tracker.log_runs([SETTINGS], [result], folder=tmp_path / "run")
    client = mlflow.MlflowClient()
    (kept,) = client.search_runs([each.experiment_id for each in client.search_experiments()])
    assert kept.data.metrics["online nDCG at 10"] == pytest.approx(result[ONLINE_NDCG])
    assert kept.data.params["ranker"] == "pdgd" and kept.info.status == "FINISHED"
    curve = client.get_metric_history(kept.info.run_id, "nDCG at 10")
    assert [point.step for point in curve] == [row["round"] for row in result.points]
    assert {each.path for each in client.list_artifacts(kept.info.run_id)} >= {"trace.parquet", "result.json"}
