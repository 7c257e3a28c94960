"""What is found under another name, refused, or named in the message, instead of being taken for something else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fairexp.errors import ArgumentError, DataError
from fairexp.lab.data import Dataset, load, read_letor
from fairexp.lab.data.letor_folders import part_path


def lines(n_features: int, *, n_queries: int = 3) -> str:
    row = " ".join(f"{number}:{number / 100}" for number in range(1, n_features + 1))
    return "".join(f"{document} qid:{query} {row}\n" for query in range(n_queries) for document in range(2))


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_file_of_fewer_features_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "Fold1/train.txt", lines(25))
    with pytest.raises(DataError, match=r"its lines have 25 features, but LETOR 3.0 OHSUMED has 45"):
        load("ohsumed", tmp_path, cache=False)
    put(tmp_path / "Fold1/train.txt", lines(45))
    assert load("ohsumed", tmp_path, cache=False).n_features == 45


def test_sparse_collections_may_leave_out_the_last_features(tmp_path: Path) -> None:
    put(tmp_path / "set1.train.txt", lines(25))
    assert load("yahoo-set1", tmp_path, cache=False).n_features == 700


@pytest.mark.parametrize("place", ["Fold1/Train.txt", "FOLD1/TRAIN.TXT", "fold1/train.TXT"])
def test_letter_case_does_not_count(tmp_path: Path, place: str) -> None:
    put(tmp_path / place, lines(46))
    assert load("mq2008", tmp_path, cache=False).n_queries == 3
    assert part_path(str(tmp_path), fold=1, part="train").is_file()


def test_the_very_name_comes_first(tmp_path: Path) -> None:
    put(tmp_path / "Fold1/TRAIN.TXT", lines(46, n_queries=1))
    put(tmp_path / "Fold1/train.txt", lines(46, n_queries=2))
    assert load("mq2008", tmp_path, cache=False).n_queries == 2


def test_a_feature_that_is_constant_inside_queries_is_named_with_the_way_that_works(tmp_path: Path) -> None:
    rows = [f"1 qid:{query} 1:{document} 2:{query}\n" for query in range(4) for document in range(3)]
    data = read_letor(put(tmp_path / "a.txt", "".join(rows)), cache=False)
    with pytest.raises(ArgumentError, match=r"one value in every query.*'2:raw:q0.5'"):
        data.grouped("2:q0.5")
    with pytest.raises(ArgumentError, match=r"'2:raw:q0.5'"):
        data.grouped("2:0.5")
    groups = data.grouped("2:raw:q0.5").group_counts()
    assert groups.tolist() == [[0, 3], [0, 3], [3, 0], [3, 0]]


def test_a_feature_of_one_value_is_refused(tmp_path: Path) -> None:
    data = read_letor(put(tmp_path / "a.txt", "1 qid:1 1:3 2:1\n0 qid:1 1:3\n"), cache=False)
    with pytest.raises(ArgumentError, match="feature 1, which is 3 everywhere"):
        data.grouped("1:q0.5")


def made(values: list[float]) -> Dataset:
    n = len(values)
    return Dataset(np.array(values, dtype=np.float32)[:, None], np.zeros(n, int), np.array([0, n]), ("a",))


def test_a_median_that_ties_make_uneven_says_so() -> None:
    uneven = made([0.0] * 80 + [float(number) for number in range(1, 21)]).grouped("1:q0.5")
    assert uneven.notes == (
        "groups by 1:q0.5 divide the documents 20 / 80, not 50 / 50: many share the value at the cut.",
    )
    assert made([float(number) for number in range(100)]).grouped("1:q0.5").notes == ()
    assert made([0.0] * 80 + [1.0] * 20).grouped("1:0.5").notes == ()
    thirds = made([float(number) for number in range(99)]).grouped("1:q0.3333,0.6667")
    assert thirds.notes == ()
