from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairexp.errors import ArgumentError, DataError, RunExistsError
from fairexp.lab.data import world
from fairexp.lab.data.letor_folders import part_path, read_parts
from fairexp.lab.simulation.meter import Meter
from fairexp.lab.simulation.result import RESULT, SETTINGS, TRACE, Tally
from fairexp.lab.simulation.run import run
from fairexp.lab.simulation.settings import DataSettings, RunSettings, shares_of
from fairexp.lab.simulation.trace import Trace
from fairexp.measures import HELDOUT_NDCG, MAX_UF, ONLINE_NDCG, SPEED, VALIDATION_NDCG
from fairexp.rankers.pdgd.ranker import PDGD

SMALL = RunSettings(ranker="pdgd", data=DataSettings("mslr-pagerank", n_queries=10), rounds=20, n_points=4)


def same(first: Any, second: Any) -> bool:
    """Whether two results agree in all but speed."""
    first, second = (replace(one, measures={**one.measures, SPEED: 0.0}) for one in (first, second))
    return bool(first == second)


def test_a_run_repeats_bit_for_bit_and_seeds_differ() -> None:
    assert same(run(SMALL), run(SMALL))
    assert run(SMALL)[ONLINE_NDCG] != run(SMALL.with_seed(1))[ONLINE_NDCG]


def test_the_folder_tells_the_whole_run(tmp_path: Path) -> None:
    from pyarrow import parquet

    result = run(SMALL, folder=tmp_path)
    trace = parquet.read_table(tmp_path / TRACE).to_pydict()
    kept = json.loads((tmp_path / RESULT).read_text())
    assert trace["round"] == list(range(1, 21))
    assert kept["online nDCG@10"] == trace["online nDCG@10"][-1] == result[ONLINE_NDCG]
    assert kept["max UF"] == max(trace["UF"]) and kept["final UF"] == trace["UF"][-1]
    assert kept["mean UF"] == pytest.approx(sum(trace["UF"]) / 20)
    assert kept["held-out nDCG@10"] == trace["held-out nDCG@10"][-1]
    assert json.loads((tmp_path / SETTINGS).read_text())["ranker"] == "pdgd"
    with pytest.raises(RunExistsError, match="--overwrite"):
        run(SMALL, folder=tmp_path)


def test_an_interrupt_keeps_what_was_done(tmp_path: Path) -> None:
    def stop(row: dict[str, Any]) -> None:
        if row["round"] == 7:
            raise KeyboardInterrupt

    result = run(SMALL, folder=tmp_path, progress=stop)
    assert result.interrupted and result.rounds == 7
    assert json.loads((tmp_path / RESULT).read_text())["rounds"] == 7


PLACES = {
    "while ranking": (PDGD, "rank"),
    "while learning": (PDGD, "update"),
    "while measuring": (Meter, "row"),
    "between the sums": (Tally, "add"),
    "while writing": (Trace, "write"),
}


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("place", PLACES)
def test_ctrl_c_takes_effect_at_the_end_of_the_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, after: bool
) -> None:
    """Wherever in the seventh round it comes: trace and result tell of the same rounds."""
    from pyarrow import parquet

    owner, name = PLACES[place]
    original, n_calls = getattr(owner, name), 0

    def interrupted(*arguments: Any, **options: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 7 and not after:
            signal.raise_signal(signal.SIGINT)
        found = original(*arguments, **options)
        if n_calls == 7 and after:
            signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(owner, name, interrupted)
    result = run(SMALL, folder=tmp_path)
    assert result.interrupted and result.rounds == 7
    assert json.loads((tmp_path / RESULT).read_text())["rounds"] == 7
    assert parquet.read_table(tmp_path / TRACE)["round"].to_pylist() == list(range(1, 8))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_ends_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(*_: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Meter, "row", twice)
    with pytest.raises(KeyboardInterrupt):
        run(SMALL)


def test_rankers_meet_the_same_queries() -> None:
    def queries(ranker: str) -> list[int]:
        seen: list[int] = []
        run(replace(SMALL, ranker=ranker), progress=lambda row: seen.append(row["query"]))
        return seen

    assert queries("pdgd") == queries("random") == queries("fairexp-pairrank")


def test_validation_is_held_back_and_measured_at_the_end() -> None:
    train, heldout, validation = SMALL.data.load_parts()
    assert validation is not None
    ids = [set(part.query_ids) for part in (heldout, validation)]
    assert not ids[0] & ids[1] and train.n_queries == 10
    result = run(replace(SMALL, validate=True))
    assert result[VALIDATION_NDCG] is not None and result[VALIDATION_NDCG] != result[HELDOUT_NDCG]
    assert run(SMALL)[VALIDATION_NDCG] is None


def test_shares() -> None:
    data = world("mslr-pagerank", n_queries=50)
    equal = shares_of("equal", data)
    assert equal is not None and equal.tolist() == [1.0, 1.0]
    assert shares_of((3.0, 1.0), data) == pytest.approx([3.0, 1.0])
    with pytest.raises(ArgumentError, match="2, one per group"):
        shares_of((1.0, 1.0, 1.0), data)
    with pytest.raises(ArgumentError, match="average_utility"):
        shares_of("luck", data)


def lay_out(folder: Path, *, folds: int = 0) -> Path:
    for number in range(1, folds + 1) if folds else [0]:
        place = folder / f"Fold{number}" if folds else folder
        place.mkdir(parents=True, exist_ok=True)
        for part, width in (("train", 2), ("vali", 3), ("test", 2)):
            rows = [f"{d % 2} qid:{q} 1:{d} {width}:{d % 2}\n" for q in range(3) for d in range(4)]
            (place / f"{part}.txt").write_text("".join(rows))
    return folder


@pytest.mark.parametrize("folds", [0, 2])
def test_an_unknown_set_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folds: int) -> None:
    monkeypatch.setenv("FAIREXP_CACHE", str(tmp_path / "cache"))
    lay_out(tmp_path / "set", folds=folds)
    parts = read_parts(str(tmp_path / "set"), fold=1, parts=("train", "vali", "test"))
    assert [part.n_features for part in parts] == [3, 3, 3]
    settings = DataSettings("mine", str(tmp_path / "set"), group="1:0.5")
    result = run(RunSettings("pdgd", data=settings, rounds=5, length=3, user="navigational", validate=True))
    assert result[VALIDATION_NDCG] is not None and result[MAX_UF] is not None
    train, heldout = settings.load()
    assert train.n_groups == 2 and heldout is not None


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    lay_out(tmp_path / "set", folds=2)
    with pytest.raises(DataError, match=r"train of fold 3.*Fold1, Fold2"):
        part_path(str(tmp_path / "set"), fold=3, part="train")
    with pytest.raises(DataError, match="no such folder"):
        part_path(str(tmp_path / "none"), fold=1, part="train")
    lay_out(tmp_path / "flat")
    with pytest.raises(DataError, match="only fold 1"):
        part_path(str(tmp_path / "flat"), fold=2, part="train")
