"""Sizes of queries in a file beside the data, as LightGBM has them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from fairexp.errors import DataError
from fairexp.lab.data import Dataset, open_data, read_letor, read_table
from fairexp.lab.data.letor import parser

SIZES = (3, 1, 2)
GRADES = (2, 0, 1, 0, 1, 1)
VALUES = ((0.5, 3.0), (0.1, 0.0), (0.3, 1.5), (7.0, 0.25), (0.0, 1.0), (2.0, 4.0))
QUERIES = [query for query, size in enumerate(SIZES, start=1) for _ in range(size)]


def text(*, has_query: bool) -> str:
    rows = zip(GRADES, QUERIES, VALUES, strict=True)
    return "# made by hand\n\n" + "".join(
        f"{grade}{f' qid:{query}' * has_query} 1:{a} 2:{b}\n" for grade, query, (a, b) in rows
    )


def table(separator: str, *, has_query: bool) -> str:
    rows = zip(GRADES, QUERIES, VALUES, strict=True)
    lines = [[str(grade), *([str(query)] * has_query), str(a), str(b)] for grade, query, (a, b) in rows]
    return "\n".join(map(separator.join, [["label", *(["qid"] * has_query), "a", "b"], *lines])) + "\n"


def put_sizes(path: Path, sizes: tuple[int, ...] = SIZES) -> Path:
    path.write_text("".join(f"{size}\n" for size in sizes))
    return path


def same(data: Dataset, other: Dataset) -> bool:
    arrays = [(each.features, each.raw, each.grades, each.offsets) for each in (data, other)]
    return data.query_ids == other.query_ids and all(map(np.array_equal, *arrays))


@pytest.mark.parametrize("beside", ["train.txt.query", "train.txt.group", "train.query", "train.group"])
@pytest.mark.parametrize("cache", [True, False])
def test_text_without_query_ids_reads_as_with_them(tmp_path: Path, beside: str, cache: bool) -> None:
    (tmp_path / "with.txt").write_text(text(has_query=True))
    path = tmp_path / "train.txt"
    path.write_text(text(has_query=False))
    put_sizes(tmp_path / beside)
    data = read_letor(path, cache=cache)
    assert data.query_ids == ("1", "2", "3") and np.diff(data.offsets).tolist() == list(SIZES)
    assert same(data, read_letor(tmp_path / "with.txt", cache=False))


@pytest.mark.parametrize(("ending", "separator"), [("csv", ","), ("tsv", "\t")])
def test_tables_without_a_query_column_read_as_with_one(tmp_path: Path, ending: str, separator: str) -> None:
    other, path = tmp_path / f"with.{ending}", tmp_path / f"train.{ending}"
    other.write_text(table(separator, has_query=True))
    path.write_text(table(separator, has_query=False))
    put_sizes(tmp_path / f"train.{ending}.query")
    assert same(open_data(path), read_table(other))
    assert same(read_table(path, columns="grade=label,features=a"), read_table(other, columns="features=a"))


def test_compressed_data_and_small_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "with.txt").write_text(text(has_query=True))
    path = tmp_path / "train.txt.gz"
    path.write_bytes(gzip.compress(text(has_query=False).encode()))
    put_sizes(tmp_path / "train.txt.query")
    blocks = parser.line_blocks
    monkeypatch.setattr(parser, "line_blocks", lambda place: blocks(place, n_bytes=20))
    monkeypatch.setattr(parser, "BLOCK_VALUES", 2)
    assert same(read_letor(path, cache=False), read_letor(tmp_path / "with.txt", cache=False))


def test_query_ids_of_the_data_come_first(tmp_path: Path) -> None:
    for name, content in (("train.txt", text(has_query=True)), ("train.csv", table(",", has_query=True))):
        (tmp_path / name).write_text(content)
        put_sizes(tmp_path / f"{name}.query", (6,))
        assert open_data(tmp_path / name).n_queries == len(SIZES)


def test_sizes_that_changed_are_read_anew(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text(text(has_query=False))
    sizes = put_sizes(tmp_path / "train.txt.query")
    assert read_letor(path).n_queries == 3
    put_sizes(sizes, (2, 2, 1, 1))
    assert np.diff(read_letor(path).offsets).tolist() == [2, 2, 1, 1]
    assert len(list((cache / "letor").iterdir())) == 1
    sizes.unlink()
    with pytest.raises(DataError, match="no query id"):
        read_letor(path)


@pytest.mark.parametrize("name", ["train.txt", "train.csv"])
@pytest.mark.parametrize(
    ("sizes", "problem"),
    [
        ("3\n1\n", "its 2 sizes of queries add up to 4 rows, but {name} has 6"),
        ("3\n4\n", "add up to 7 rows"),
        ("", "its 0 sizes of queries add up to 0 rows"),
        ("6\n0\n", "line 2: '0', expected the number of rows"),
        ("3\n-1\n4\n", "line 2: '-1'"),
        ("1 0 shop-a\n", "line 1: '1 0 shop-a', expected the number of rows of a query of {name}"),
    ],
)
def test_sizes_that_cannot_be_are_refused(tmp_path: Path, name: str, sizes: str, problem: str) -> None:
    path = tmp_path / name
    path.write_text(table(",", has_query=False) if name.endswith("csv") else text(has_query=False))
    (tmp_path / f"{name}.query").write_text(sizes)
    with pytest.raises(DataError) as found:
        open_data(path)
    assert problem.format(name=name) in str(found.value) and f"{name}.query" in str(found.value)


def test_a_file_has_query_ids_on_all_lines_or_on_none(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    put_sizes(tmp_path / "train.txt.query", (2,))
    path.write_text("1 1:0.5\n0 qid:1 1:2\n")
    with pytest.raises(DataError, match=r"line 2: 'qid:1' is no feature"):
        read_letor(path, cache=False)
    path.write_text("1 qid:1 1:0.5\n0 1:2\n")
    with pytest.raises(DataError, match=r"line 2: no query id"):
        read_letor(path, cache=False)


def test_without_sizes_the_message_says_what_may_be_done(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("1 1:0.5\n")
    with pytest.raises(DataError, match=r"line 1: no query id.*put the sizes of queries beside the file"):
        read_letor(path, cache=False)
