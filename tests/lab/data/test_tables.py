"""Ranking data from tables: the same as from LETOR text, and clear about what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from fairexp.errors import ArgumentError, DataError
from fairexp.lab.data import Columns, Dataset, from_table, open_data, read_letor, read_table
from fairexp.lab.simulation.run import run
from fairexp.lab.simulation.settings import DataSettings, RunSettings

N_FEATURES = 6
WRITERS = ("csv", "tsv", "parquet", "feather", "arrow", "npz", "npy")


def columns_of(seed: int = 0) -> dict[str, Any]:
    """Documents of 9 queries whose rows are mixed up; features need all digits of a float32."""
    rng = np.random.default_rng(seed)
    n = 90
    matrix = (rng.normal(size=(n, N_FEATURES)) * 10.0 ** rng.integers(-3, 4, N_FEATURES)).astype(np.float32)
    return {"query": rng.integers(1, 10, n), "grade": rng.integers(0, 4, n), "features": matrix}


def write(folder: Path, ending: str, made: dict[str, Any]) -> Path:
    path = folder / f"mine.{ending}"
    matrix = made["features"]
    if ending == "npz":
        np.savez(path, **made)
    elif ending == "npy":
        np.save(path, np.column_stack([made["query"], made["grade"], matrix.astype(np.float64)]))
    else:
        flat = {"Label": made["grade"], "qid": made["query"], "doc_id": [f"d{i}" for i in range(len(matrix))]}
        table = pa.table({**flat, **{f"f{number + 1}": matrix[:, number] for number in range(N_FEATURES)}})
        if ending in ("csv", "tsv"):
            csv.write_csv(table, path, csv.WriteOptions(delimiter="\t" if ending == "tsv" else ","))
        elif ending == "parquet":
            parquet.write_table(table, path)
        else:
            feather.write_feather(table, path)
    return path


def write_letor(path: Path, made: dict[str, Any]) -> Path:
    rows = zip(made["grade"], made["query"], made["features"], strict=True)
    lines = [
        f"{grade} qid:{query} " + " ".join(f"{i + 1}:{float(x)!r}" for i, x in enumerate(features))
        for grade, query, features in rows
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def result_of(path: Path, group: str = "2:q0.5") -> dict[str, Any]:
    settings = RunSettings("fairexp-pairrank", data=DataSettings(str(path), group=group), rounds=40, seed=3)
    summary = run(settings).summary()
    summary["notes"] = [note for note in summary["notes"] if not note.startswith("columns left out")]
    return {key: value for key, value in summary.items() if "/s" not in key and "second" not in key}


@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_gives_what_letor_text_gives_bit_for_bit(tmp_path: Path, ending: str) -> None:
    made = columns_of()
    letor = read_letor(write_letor(tmp_path / "letor.txt", made), cache=False)
    table = open_data(write(tmp_path, ending, made))
    for name in ("features", "grades", "offsets", "raw"):
        assert np.array_equal(getattr(table, name), getattr(letor, name)), name
    assert table.query_ids == letor.query_ids and table.features.dtype == np.float32
    assert result_of(tmp_path / f"mine.{ending}") == result_of(tmp_path / "letor.txt")


def good() -> dict[str, Any]:
    return {"query": ["a", "a", "b"], "grade": [1, 0, 2], "x": [0.5, 0.25, 1.0], "y2": [1, 2, 3]}


def test_columns_are_guessed_in_any_letter_case_or_told() -> None:
    told = from_table({"QID": [1, 1], "Relevance": [0, 1], "doc_id": ["p", "q"], "price": [1.0, 2.0]}, scale=None)
    assert told.features.tolist() == [[1.0], [2.0]] and told.query_ids == ("1",) and told.groups is None
    own = {"session": ["s", "s"], "stars": [3, 0], "seller": ["large", "small"], "p": [1.0, 2.0], "name": ["u", "v"]}
    data = from_table(own, columns="query=session,grade=stars,group=seller,features=p")
    assert data.group_names == ("large", "small") and data.n_features == 1 and data.max_grade == 3


def test_groups_are_numbered_by_name_and_a_rule_takes_their_place(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("query,grade,group,x\n1,1,10,0.5\n1,0,9,0.1\n2,1,10,0.7\n2,0,9,0.2\n")
    data = open_data(path)
    assert data.group_names == ("9", "10") and data.groups is not None and data.groups.tolist() == [1, 0, 1, 0]
    assert open_data(path, group="1:q0.5").group_names != ("9", "10")


def test_words_keep_leading_zeros_and_one_query_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("query,grade,x\n007,1,0.5\n007,0,1\n")
    assert read_table(path).query_ids == ("007",)


def test_rows_of_a_query_are_brought_together() -> None:
    data = from_table({"query": ["b", "a", "b"], "grade": [0, 1, 2], "x": [1.0, 2.0, 3.0]}, scale=None)
    assert (
        data.query_ids == ("b", "a") and data.features[:, 0].tolist() == [1, 3, 2] and data.grades.tolist() == [0, 2, 1]
    )


class Frame:
    """Anything that offers Arrow's interchange, as the data frames of pandas and Polars do."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def test_data_frames_come_by_arrows_interchange() -> None:
    plain, frame = from_table(good()), from_table(Frame(pa.table(good())))
    assert isinstance(frame, Dataset) and np.array_equal(plain.features, frame.features)
    with pytest.raises(ArgumentError, match="a table of columns"):
        from_table(7)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"query": None}, "has no column for the query: expected one called query, qid, query_id, found grade, x, y2"),
        ({"grade": None}, "no column for the grade.*--columns grade=NAME"),
        ({"x": None, "y2": None}, "no column left for features"),
        ({"x": ["p", "0.5", "7"]}, "row 1 has 'p' in column 'x', expected a number"),
        ({"x": ["1", "0.5", "7"]}, "row 1 has '1' in column 'x', expected a number"),
        ({"x": [[1], [2], [3]]}, "column 'x' holds list<.*>, expected numbers"),
        ({"x": ["p", "q", "r"], "y2": None}, r"no column left for features. columns left out: 'x' \(words\)"),
        ({"x": [0.5, float("nan"), 1.0]}, "row 2 has nan in column 'x', expected a finite number"),
        ({"x": [0.5, None, 1.0]}, "row 2 has nothing in column 'x'"),
        ({"x": [0.5, 1.0, float("inf")]}, "row 3 has inf"),
        ({"grade": [1, -1, 0]}, "row 2 has -1 in column 'grade', expected a whole number of at least 0"),
        ({"grade": [1, 0.5, 0]}, "row 2 has 0.5"),
        ({"grade": [1.0, None, 0.0]}, "row 2 has nothing"),
        ({"grade": ["good", "bad", "bad"]}, "column 'grade' holds string, expected grades"),
        ({"query": ["a", None, "b"]}, "row 2 has no 'query'"),
        ({"group": ["a", None, "b"]}, "row 2 has no 'group'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    made = {key: value for key, value in {**good(), **change}.items() if value is not None}
    with pytest.raises(DataError, match=problem):
        from_table(made)
    parquet.write_table(pa.table(made), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=f"a.parquet: .*{problem}"):
        read_table(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "cannot be read as a table"),
        ("query,grade,x\n", "holds no rows"),
        ("a,b,c\n1,2,3\n", "has no column for the query.*found a, b, c"),
        ("query,grade,x\n1,2,high\n1,2,0.5\n1,2,1\n", "row 1 has 'high' in column 'x', expected a number"),
        ("query,grade,x\n1,2\n", "cannot be read"),
        ("query,grade,x\n1,2,\n", "row 1 has nothing in column 'x'"),
        ("query,grade,x\n1,2,nan\n", "row 1 has nothing in column 'x'"),
        ("query,grade,x\n1,2,1e300\n", "row 1 has inf"),
    ],
)
def test_malformed_csv(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=problem):
        read_table(path)


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".npz", ".npy"])
def test_files_that_are_something_else(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a{ending}"
    for content in (b"", b"1 qid:1 1:0.5\n"):
        path.write_bytes(content)
        with pytest.raises(DataError, match="cannot be read"):
            read_table(path)
    with pytest.raises(DataError, match="no such file"):
        read_table(tmp_path / f"b{ending}")


def test_malformed_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    with pytest.raises(DataError, match=r"shape \(3, 2\), expected a matrix with the columns query, grade"):
        read_table(tmp_path / "a.npy")
    np.savez(tmp_path / "a.npz", query=[1, 1], grade=[0], features=np.zeros((2, 2)))
    with pytest.raises(DataError, match="different lengths"):
        read_table(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", query=[1, 1], grade=[0, 1], features=np.zeros((2, 2, 2)))
    with pytest.raises(DataError, match="'features' has shape"):
        read_table(tmp_path / "b.npz")


@pytest.mark.parametrize("text", ["query", "query=", "colour=red", "query=a,query=b"])
def test_columns_that_make_no_sense(text: str) -> None:
    with pytest.raises(ArgumentError, match="columns: expected parts such as query=session"):
        Columns.parse(text)
    with pytest.raises(DataError, match="has no column 'stars'"):
        from_table(good(), columns="grade=stars")
    with pytest.raises(DataError, match="has no column 'z'"):
        from_table(good(), columns="features=x+z")
