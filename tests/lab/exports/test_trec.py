"""TREC exports, judged by ir_measures (and by ranx where that is installed): the figures are our own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fairexp.errors import ArgumentError
from fairexp.lab.exports.runs import KeptRun
from fairexp.lab.exports.trec import heldout_topics, shown_topics, write_trec
from fairexp.lab.simulation.recorder import Recording
from fairexp.lab.simulation.run import run
from fairexp.lab.simulation.settings import DataSettings, RunSettings
from fairexp.measures import HELDOUT_NDCG

GAINS = {grade: 2**grade - 1 for grade in range(5)}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> KeptRun:
    folder = tmp_path_factory.mktemp("run")
    recording = Recording(("shown", "ranker"))
    run(RunSettings("pdgd", data=DataSettings(n_queries=10), rounds=60, n_points=4, recording=recording), folder=folder)
    return KeptRun(folder)


def ir_ndcg(folder: Path) -> dict[str, float]:
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    run, qrels = (
        list(read(str(folder / name)))
        for read, name in ((ir_measures.read_trec_run, "run.txt"), (ir_measures.read_trec_qrels, "qrels.txt"))
    )
    measure = ir_measures.nDCG(gains=GAINS) @ 10
    return {each.query_id: each.value for each in ir_measures.iter_calc([measure], qrels, run)}


def test_what_was_shown_has_the_ndcg_of_the_trace(kept: KeptRun, tmp_path: Path) -> None:
    assert write_trec(shown_topics(kept), tmp_path, tag="pdgd") == 60
    trace = kept.trace("round", "query", "nDCG@10").to_pylist()
    ours = {f"{kept.train.query_ids[row['query']]}.r{row['round']}": row["nDCG@10"] for row in trace}
    assert len(set(ours.values())) > 10
    assert ir_ndcg(tmp_path) == pytest.approx(ours, abs=1e-9)


def test_what_was_learned_has_held_out_ndcg(kept: KeptRun, tmp_path: Path) -> None:
    write_trec(heldout_topics(kept), tmp_path, tag="pdgd")
    theirs = ir_ndcg(tmp_path)
    assert np.mean(list(theirs.values())) == pytest.approx(kept.measures[HELDOUT_NDCG.name], abs=1e-9)
    assert len(theirs) == (kept.parts[1].n_queries if kept.parts[1] is not None else 0)


@pytest.mark.filterwarnings("ignore:unsafe cast")  # numba's, of ranx's own kernels
def test_ranx_agrees(kept: KeptRun, tmp_path: Path) -> None:
    ranx = pytest.importorskip("ranx", reason="ranx (which needs numba) is not installed")
    write_trec(heldout_topics(kept), tmp_path, tag="pdgd")
    qrels = ranx.Qrels.from_file(str(tmp_path / "qrels.txt"), kind="trec")
    found = ranx.evaluate(qrels, ranx.Run.from_file(str(tmp_path / "run.txt"), kind="trec"), "ndcg_burges@10")
    assert found == pytest.approx(kept.measures[HELDOUT_NDCG.name], abs=1e-6)


def test_a_run_that_was_not_recorded_says_how_to(tmp_path: Path) -> None:
    run(RunSettings("random", data=DataSettings(n_queries=5), rounds=3, n_points=1), folder=tmp_path)
    with pytest.raises(ArgumentError, match="--record shown"):
        next(shown_topics(KeptRun(tmp_path)))
    with pytest.raises(ArgumentError, match="--record ranker"):
        next(heldout_topics(KeptRun(tmp_path)))
    settings = json.loads((tmp_path / "settings.json").read_text())
    assert settings["recording"]["columns"] == []


def test_the_ranker_of_a_run_goes_on_where_it_stopped(kept: KeptRun) -> None:
    ranker = kept.ranker()
    assert ranker.n_ranked == 60 and kept.settings.ranker == "pdgd"
    assert ranker.score(np.eye(ranker.n_features)).any()
