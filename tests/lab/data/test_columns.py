"""Which columns of a table are features: labels, clicks, positions and ids are not, unless they are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from fairexp.errors import ArgumentError, DataError
from fairexp.lab.data import Dataset, from_table, open_data, read_table


def good(**more: Any) -> dict[str, Any]:
    return {"query": ["a", "a", "b"], "grade": [1, 0, 2], "price": [0.5, 0.25, 1.0], **more}


def read(folder: Path, made: dict[str, Any], ending: str, **options: Any) -> Dataset:
    path, table = folder / f"mine.{ending}", pa.table(made)
    if ending == "csv":
        csv.write_csv(table, path)
    else:
        parquet.write_table(table, path)
    return read_table(path, **options)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(("first", "second"), [("grade", "label"), ("grade", "relevance"), ("grade", "y")])
def test_two_columns_that_could_be_the_grade_must_be_chosen_between(
    tmp_path: Path, ending: str, first: str, second: str
) -> None:
    made = good(**{second: [2, 0, 1]})
    problem = f"2 columns that could be the grade: '{first}' and '{second}'.*--columns grade={first}.*--ignore {second}"
    with pytest.raises(DataError, match=problem):
        read(tmp_path, made, ending)
    own = read(tmp_path, made, ending, columns=f"grade={second}")
    assert own.grades.tolist() == [2, 0, 1] and own.feature_names == ("price",)
    assert own.notes == (f"columns left out: '{first}' (another grade). To learn from one of them, name all features.",)
    assert read(tmp_path, made, ending, ignore=[second]).grades.tolist() == [1, 0, 2]
    both = read(tmp_path, made, ending, columns=f"features=price+{second}")
    assert both.feature_names == ("price", second) and both.notes == ()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "an index"),
        ("Unnamed: 0", "an index"),
        ("Unnamed: 0.1", "an index"),
        ("__index_level_0__", "an index"),
        ("level_0", "an index"),
        ("click", "clicks"),
        ("Clicks", "clicks"),
        ("is_click", "clicks"),
        ("position", "a position"),
        ("rank", "a position"),
        ("doc_idx", "an id"),
        ("docId", "an id"),
        ("docno", "an id"),
        ("product_id", "an id"),
        ("UserId", "an id"),
        ("propensity", "a propensity"),
        ("qid", "another query"),
        ("provider", "another group"),
    ],
)
def test_what_is_no_feature_by_its_name_is_left_out(tmp_path: Path, ending: str, name: str, reason: str) -> None:
    made = {name: [0, 1, 2], **good(group=["p", "q", "p"])}
    data = read(tmp_path, made, ending)
    assert data.feature_names == ("price",) and f"{name!r} ({reason})" in data.notes[0]
    assert np.array_equal(data.features, read(tmp_path, good(), ending).features)
    if name:
        own = read(tmp_path, made, ending, columns=f"features=price+{name}")
        assert own.feature_names == ("price", name)


@pytest.mark.parametrize(
    "name", ["PageRank", "bid", "valid", "paid", "price_index", "composition", "clickbait", "rating"]
)
def test_features_that_only_look_like_it_stay(name: str) -> None:
    assert from_table(good(**{name: [1, 2, 3]})).feature_names == ("price", name)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_words_are_left_out_with_a_note(tmp_path: Path, ending: str) -> None:
    made = good(sku=["B00X", "0439023483", "K7"], title=["Red shoe", "Blue shoe", ""])
    data = read(tmp_path, made, ending)
    assert data.feature_names == ("price",)
    assert "'sku' (words), 'title' (words)" in data.notes[0]
    with pytest.raises(DataError, match=r"'title'|title"):
        read(tmp_path, made, ending, columns="features=price+title")


def test_dates_and_categories_are_words(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("query,grade,price,day\n1,0,0.5,2024-05-01\n1,1,0.7,2024-05-02\n")
    assert "'day' (words)" in read_table(path).notes[0]
    colour = pa.array(["red", "blue", "red"]).dictionary_encode()
    assert from_table(good(colour=colour)).feature_names == ("price",)


def test_queries_and_groups_may_be_categories_of_which_some_are_not_there() -> None:
    words = pa.DictionaryArray.from_arrays(pa.array([2, 2, 0]), pa.array(["a", "none", "b"]))
    data = from_table({**good(), "query": words, "group": words})
    assert data.query_ids == ("b", "a") and data.group_names == ("a", "b")


def test_a_table_without_other_columns_has_no_notes() -> None:
    assert from_table(good()).notes == ()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_ignored_columns_are_not_even_read(tmp_path: Path, ending: str) -> None:
    made = good(weight=[1.0, float("nan"), 2.0], stock=[1, 2, 3])
    with pytest.raises(DataError, match="in column 'weight'"):
        read(tmp_path, made, ending)
    data = read(tmp_path, made, ending, ignore=["weight"])
    assert data.feature_names == ("price", "stock") and "'weight' (ignored)" in data.notes[0]
    assert open_data(tmp_path / f"mine.{ending}", ignore=("weight",)).feature_names == ("price", "stock")
    with pytest.raises(DataError, match=r"has no column 'wieght'\. Did you mean 'weight'"):
        read(tmp_path, made, ending, ignore=["wieght"])
    with pytest.raises(ArgumentError, match="ignore: expected columns that `columns` does not name"):
        read(tmp_path, made, ending, columns="features=weight", ignore=["weight"])
    with pytest.raises(ArgumentError, match="ignore: expected a list"):
        read(tmp_path, made, ending, ignore="weight")


def test_only_tables_have_columns_to_choose(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("1 qid:1 1:1\n")
    for source in (str(path), "frequent"):
        with pytest.raises(ArgumentError, match="ignore: expected none with"):
            open_data(source, ignore=["1"])
        with pytest.raises(ArgumentError, match="columns: expected none with"):
            open_data(source, columns="grade=1")


@pytest.mark.parametrize("words", [("true", "false"), ("True", "False"), ("TRUE", "FALSE")])
def test_truth_is_a_number_in_csv_too(tmp_path: Path, words: tuple[str, str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"query,grade,new\n1,1,{words[0]}\n1,0,{words[1]}\n")
    data = read_table(path, scale=None)
    assert data.features.tolist() == [[1.0], [0.0]] and data.features.dtype == np.float32
    assert read_table(path, scale=None, columns="features=new").features.tolist() == [[1.0], [0.0]]
    path.write_text(f"query,grade,new\n1,1,{words[0]}\n1,0,\n")
    with pytest.raises(DataError, match="row 2 has nothing in column 'new'"):
        read_table(path)
