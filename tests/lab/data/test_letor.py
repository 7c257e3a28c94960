"""Reading LETOR text, against a slow twin, scikit-learn, and files that are wrong in every way."""

from __future__ import annotations

import gzip
import lzma
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.errors import ArgumentError, DataError
from fairexp.lab.data import read_letor
from fairexp.lab.data.letor import blocks
from fairexp.lab.data.letor import layout as arranging
from fairexp.lab.data.letor import parser as parsing
from fairexp.lab.data.letor.numbers import nearest_float32
from tests.reference.letor import exact_float32, parse_letor, scale_by_query

TEXT = """# a whole line of comment
2 qid:q1 1:4 3:-1.5 # docid = 1 qid:9
0 qid:q1 1:2

1 qid:q2 3:7.25 2:1e-3
"""


def write(folder: Path, text: str | bytes, name: str = "data.txt") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_reads_what_stands_there(tmp_path: Path) -> None:
    data = read_letor(write(tmp_path, TEXT), scale=None)
    assert data.features.tolist() == [[4, 0, -1.5], [2, 0, 0], [0, np.float32(1e-3), 7.25]]
    assert data.grades.tolist() == [2, 0, 1]
    assert data.offsets.tolist() == [0, 2, 3]
    assert data.query_ids == ("q1", "q2")
    assert data.name == "data"


def test_scales_within_queries_and_keeps_the_raw_values(tmp_path: Path) -> None:
    data = read_letor(write(tmp_path, TEXT))
    assert data.features.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert data.column(1, on="raw").tolist() == [4, 2, 0]
    assert data.column(1).tolist() == [1, 0, 0]


@pytest.mark.parametrize("cache", [True, False])
def test_rows_of_scattered_queries_are_brought_together(tmp_path: Path, cache: bool) -> None:
    path = write(tmp_path, "1 qid:b 1:1\n2 qid:a 1:2\n3 qid:b 1:3\n4 qid:a 1:4 2:5\n")
    data = read_letor(path, scale=None, cache=cache)
    assert data.query_ids == ("b", "a")
    assert data.grades.tolist() == [1, 3, 2, 4]
    assert data.features.tolist() == [[1, 0], [3, 0], [2, 0], [4, 5]]


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("\n", "\r\n"),
        TEXT.rstrip("\n"),
        "\ufeff" + TEXT,
        TEXT.replace(" ", "\t  "),
        TEXT.replace("2 qid", "+2.0 qid").replace(" 1:2", " 1:2#x"),
    ],
)
def test_variants_of_the_same_text_read_the_same(tmp_path: Path, text: str) -> None:
    data = read_letor(write(tmp_path, text), scale=None)
    assert data.features.tolist() == [[4, 0, -1.5], [2, 0, 0], [0, np.float32(1e-3), 7.25]]
    assert data.grades.tolist() == [2, 0, 1]


def zstd(text: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(text)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, zstd])
def test_compressed_files_are_known_by_their_content(tmp_path: Path, compress: object) -> None:
    lines = [f"{i % 3} qid:{i // 7} 1:{i} 2:{i * 0.37:.6f}" for i in range(2000)]
    text = "\n".join(lines).encode()
    packed = compress(text)  # type: ignore[operator]
    data = read_letor(write(tmp_path, packed, "packed.txt"))
    plain = read_letor(write(tmp_path, text, "plain.txt"))
    assert np.array_equal(data.features, plain.features)
    assert data.n_documents == 2000
    with pytest.raises(DataError, match=r"cut\.txt: cannot be read"):
        read_letor(write(tmp_path, packed[: len(packed) // 2], "cut.txt"))


BAD = [
    ("1 1:2", 1, "no query id, found '1:2'"),
    ("1", 1, "no query id"),
    ("1 qid: 1:2", 1, "no query id"),
    ("x qid:1 1:2", 1, "the grade is 'x'"),
    ("-1 qid:1 1:2", 1, "the grade is '-1'"),
    ("1.5 qid:1 1:2", 1, "the grade is '1.5'"),
    ("nan qid:1 1:2", 1, "the grade is 'nan'"),
    ("1e40 qid:1 1:2", 1, "the grade is '1e40'"),
    ("1 qid:1 0:2", 1, "'0:2' is no feature"),
    ("1 qid:1 a:2", 1, "'a:2' is no feature"),
    ("1 qid:1 -3:2", 1, "'-3:2' is no feature"),
    ("1 qid:1 7", 1, "'7' is no feature"),
    ("# ok\n\n1 qid:1 1:2\n1 qid:1 2:1 2:3", 4, "feature '2:3' comes twice"),
    ("1 qid:1 1:2\n1 qid:1 1:nan", 2, "feature 1 is 'nan', expected a finite number"),
    ("1 qid:1 1:inf", 1, "feature 1 is 'inf'"),
    ("1 qid:1 3:1_0", 1, "feature 3 is '1_0'"),
    ("1 qid:1 3:1e", 1, "feature 3 is '1e'"),
    ("1 qid:1 3:--1", 1, "feature 3 is '--1'"),
    ("1 qid:1 3: 4:1", 1, "feature '3:' has no value"),
    ("1 qid:1 1:2\n2 qid:2 6:1", 2, "feature '6:1' is beyond n_features=5"),
]


@pytest.mark.parametrize(("text", "line", "message"), BAD)
def test_a_bad_line_is_named(tmp_path: Path, cache: Path, text: str, line: int, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(DataError) as caught:
        read_letor(path, n_features=5)
    assert message in str(caught.value)
    assert caught.value.line == line
    assert caught.value.path == str(path)
    assert not any(path.is_file() for path in cache.rglob("*")), "a refused file must leave nothing in the cache"


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_a_file_without_documents_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match="holds no document"):
        read_letor(write(tmp_path, text))


def test_other_refusals(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_letor(tmp_path / "absent.txt")
    with pytest.raises(DataError, match="is a folder"):
        read_letor(tmp_path)
    with pytest.raises(DataError, match="no line has a feature"):
        read_letor(write(tmp_path, "1 qid:1\n"))
    with pytest.raises(DataError, match="feature id of 999999999"):
        read_letor(write(tmp_path, "1 qid:1 999999999:1\n"))
    path = write(tmp_path, TEXT)
    with pytest.raises(ArgumentError, match="n_features"):
        read_letor(path, n_features=0)
    with pytest.raises(ArgumentError, match="scale"):
        read_letor(path, scale="all")
    with pytest.raises(ArgumentError, match="cache"):
        read_letor(path, cache="here")  # type: ignore[arg-type]


def number_texts() -> st.SearchStrategy[str]:
    plain = st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr)
    double = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e6, max_value=1e6).map("{:.17g}".format)
    digits = st.text("0123456789", min_size=1, max_size=30)
    pointed = st.tuples(st.sampled_from(["", "-", "+"]), digits, digits).map(lambda p: f"{p[0]}{p[1]}.{p[2]}")
    powers = st.tuples(digits, st.integers(-60, 40)).map(lambda p: f"{p[0]}e{p[1]}")
    return st.one_of(plain, double, pointed, powers, digits)


@given(texts=st.lists(number_texts(), min_size=1, max_size=40))
@settings(deadline=None, derandomize=True, max_examples=150)
def test_numbers_are_rounded_correctly(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    pairs = " ".join(f"{i}:{text}" for i, text in enumerate(texts, start=1))
    path = write(tmp_path_factory.mktemp("numbers"), f"1 qid:1 {pairs}\n")
    data = read_letor(path, scale=None, cache=False)
    expected = [exact_float32(text) for text in texts]
    assert data.features[0].tolist() == expected
    assert [nearest_float32(text.encode()) for text in texts] == expected


def test_numbers_beside_a_border_of_float32_round_to_the_right_side(tmp_path: Path) -> None:
    # 1 + 2^-24 lies half way between two float32; float64 cannot tell the three apart.
    half = "1.000000059604644775390625"
    texts = [half, half + "1", half[:-1] + "4", "16777217", "16777217.0000000001", "0.1", "33554433.0"]
    pairs = " ".join(f"{i}:{text}" for i, text in enumerate(texts, start=1))
    data = read_letor(write(tmp_path, f"1 qid:1 {pairs}\n"), scale=None)
    up = float(np.nextafter(np.float32(1), np.float32(2)))
    assert data.features[0].tolist() == [1.0, up, 1.0, 16777216.0, 16777218.0, np.float32(0.1), 33554432.0]


@st.composite
def letor_texts(draw: st.DrawFn) -> str:
    lines = []
    for _ in range(draw(st.integers(1, 25))):
        features = draw(st.lists(st.integers(1, 9), unique=True, max_size=9))
        values = st.sampled_from(["0", "1", "-2.5", "3e-1", ".5", "7.", "1e-30", "0.333333"])
        pairs = [f"{f}:{draw(values)}" for f in features]
        grade, query = draw(st.integers(0, 4)), draw(st.sampled_from(["a", "b", "17", "x:y"]))
        comment = draw(st.sampled_from(["", " # note 3:4", "#"]))
        lines.append(" ".join([str(grade), f"qid:{query}", *pairs]) + comment)
        lines += draw(st.sampled_from([[], ["# between"], [""]]))
    return "\n".join(lines)


@given(text=letor_texts(), n_bytes=st.integers(1, 300), n_values=st.integers(1, 60), cache=st.booleans())
@settings(deadline=None, derandomize=True, max_examples=80)
def test_agrees_with_the_slow_twin_whatever_the_block_size(
    tmp_path_factory: pytest.TempPathFactory, text: str, n_bytes: int, n_values: int, cache: bool
) -> None:
    features, grades, offsets, query_ids = parse_letor(text, n_features=9)
    path = write(tmp_path_factory.mktemp("letor"), text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "line_blocks", partial(blocks.line_blocks, n_bytes=n_bytes))
        patch.setattr(parsing, "BLOCK_VALUES", n_values)
        patch.setattr(arranging, "BLOCK_VALUES", n_values)
        width = int(np.flatnonzero(features.any(axis=0)).max(initial=0)) + 1
        fixed = read_letor(path, n_features=9, cache=cache)
        if features.any():
            free = read_letor(path, cache=cache, scale=None)
            assert free.n_features >= width
            assert np.array_equal(free.features[:, :width], features[:, :width])
    assert np.array_equal(fixed.raw, features)
    assert np.array_equal(fixed.features, scale_by_query(features, offsets))
    assert (fixed.grades.tolist(), fixed.offsets.tolist(), list(fixed.query_ids)) == (grades, offsets, query_ids)


def test_agrees_with_scikit_learn(tmp_path: Path) -> None:
    from sklearn.datasets import load_svmlight_file

    rng = np.random.default_rng(5)
    values = np.round(rng.lognormal(size=(300, 20)) * 10.0 ** rng.integers(-4, 5, size=20), 6)
    lines = [
        f"{rng.integers(0, 5)} qid:{i // 10} " + " ".join(f"{j}:{v}" for j, v in enumerate(row, start=1))
        for i, row in enumerate(values)
    ]
    path = write(tmp_path, "\n".join(lines))
    matrix, grades, _ = load_svmlight_file(path, query_id=True)
    data = read_letor(path, scale=None)
    assert np.array_equal(data.features, matrix.toarray().astype(np.float32))
    assert data.grades.tolist() == grades.tolist()
