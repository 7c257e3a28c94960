"""The YAML of docs/experiments.md runs as it stands, with what it names laid out where it says, and made small."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from fairexp.cli.entry import app
from fairexp.lab.experiments.plan.yaml_file import read_experiment

PAGE = Path(__file__).resolve().parents[3] / "docs" / "experiments.md"
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
SMALL = {"rounds": 3, "seeds": 1, "exposure_sessions": 200, "n_points": 1}
MODULE = """
from fairexp import RandomRanker


class MyRanker(RandomRanker):
    def __init__(self, n_features, *, depth, rate=1.0, length=10, seed=None):
        super().__init__(n_features, length=length, seed=seed)
        self.depth, self.rate = depth, rate
"""
USER = "model: position\nexamination: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\nattraction: [0.2, 0.5, 0.9, 0.9, 0.9]\n"


def lay_out(folder: Path) -> Path:
    """The folder of the experiment's file, with all that the page says lies beside it."""
    rng = np.random.default_rng(0)
    for fold in range(1, 6):
        place = folder / "data" / "my-set" / f"Fold{fold}"
        place.mkdir(parents=True)
        for part in ("train", "vali", "test"):
            lines = [
                f"{rng.integers(0, 5)} qid:{part}{fold}{query} 1:{rng.random():.3f} 41:{rng.random():.3f}"
                for query in range(3)
                for _ in range(12)
            ]
            (place / f"{part}.txt").write_text("\n".join(lines) + "\n")
    own = folder / "own"
    own.mkdir()
    (own / "my-user.yaml").write_text(USER)
    (own / "my_module.py").write_text(MODULE)
    return own


def test_every_block_of_the_page_is_a_whole_experiment(tmp_path: Path) -> None:
    assert len(BLOCKS) == 2
    for block in BLOCKS:
        (tmp_path / "own.yaml").write_text(block)
        assert read_experiment(tmp_path / "own.yaml")[0].rankers


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_the_yaml_of_the_page_runs(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("altair")
    monkeypatch.setenv("FAIREXP_CACHE", str(tmp_path / "cache"))
    own = lay_out(tmp_path)
    (own / "own.yaml").write_text(BLOCKS[number])
    whole, _ = read_experiment(own / "own.yaml")
    one_choice = {
        label: {"grid": {key: values[:1] for key, values in spec.grid.items()}}
        for label, spec in whole.rankers.items()
        if label != "mine"
    }
    kept = "mine" if "mine" in whole.data else next(iter(whole.data))
    small = {
        "extends": "own.yaml",
        **SMALL,
        "data": {label: None for label in whole.data if label != kept},
        "rankers": one_choice,
    }
    (own / "small.yaml").write_text(yaml.safe_dump(small))
    out = tmp_path / "records"
    done = CliRunner().invoke(app, ["experiment", "run", str(own / "small.yaml"), "--out", str(out), "--jobs", "1"])
    assert done.exit_code == 0, done.output
    overview = json.loads((out / "experiment.json").read_text())
    assert {run["key"] for run in overview["runs"]} and not list(out.rglob("*failed*"))
    assert (out / "report" / "report.html").stat().st_size > 100_000
    status = CliRunner().invoke(app, ["experiment", "status", str(own / "small.yaml"), "--out", str(out)])
    counts = [
        line.split()[-4:] for line in status.stdout.splitlines() if line.strip().startswith(("choosing", "final"))
    ]
    assert counts and all(failed == missing == "0" for _, failed, missing, _ in counts)
