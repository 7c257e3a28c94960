"""Arrays in one call are the data that a file of the same rows holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairexp.errors import ArgumentError
from fairexp.lab.data import from_arrays, from_table, read_letor

N, D = 90, 5


def rows(seed: int = 0) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    matrix = (rng.normal(size=(N, D)) * 10.0 ** rng.integers(-3, 4, D)).astype(np.float32)
    return matrix, rng.integers(0, 4, N), rng.integers(1, 10, N), rng.choice(["b", "a", "c"], N)


def test_arrays_are_scaled_and_ordered_as_letor_text_is(tmp_path: Path) -> None:
    matrix, grades, queries, _ = rows()
    lines = [
        f"{grade} qid:{query} " + " ".join(f"{i}:{float(x)!r}" for i, x in enumerate(own, start=1))
        for own, grade, query in zip(matrix, grades, queries, strict=True)
    ]
    (tmp_path / "a.txt").write_text("\n".join(lines) + "\n")
    for scale in ("query", None):
        text = read_letor(tmp_path / "a.txt", scale=scale, cache=False)
        data = from_arrays(matrix, grades, queries, scale=scale)
        for name in ("features", "grades", "offsets"):
            assert np.array_equal(getattr(data, name), getattr(text, name)), name
        assert (data.raw is None) if scale is None else np.array_equal(data.raw, text.raw)
        assert (data.query_ids, data.feature_names, data.scaling) == (text.query_ids, text.feature_names, text.scaling)


@pytest.mark.parametrize("kind", [int, float, str])
def test_queries_of_any_kind_and_groups_are_as_in_a_table(kind: type) -> None:
    matrix, grades, queries, groups = rows(1)
    names = [f"f{each}" for each in range(D)]
    data = from_arrays(matrix, grades, queries.astype(kind), groups, feature_names=names)
    table = from_table({"query": queries, "grade": grades, "group": groups, **dict(zip(names, matrix.T, strict=True))})
    assert data.group_names == table.group_names == ("a", "b", "c")
    assert np.array_equal(data.groups, table.groups) and data.query_ids == table.query_ids
    assert np.array_equal(data.features, table.features) and data.feature_names == table.feature_names


def test_the_columns_of_a_frame_are_the_names() -> None:
    class Frame:
        columns = ("price", "age")

        def __array__(self, *_: Any, **__: Any) -> Any:
            return np.ones((2, 2))

    assert from_arrays(Frame(), [0, 1], [1, 1]).feature_names == ("price", "age")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"features": [[1.0], [np.nan]]}, "features: .*got nan at row 1, feature 1"),
        (
            {"features": [[1.0], [1e60]]},
            "features: expected float32 numbers, got a number too large at row 1, feature 1",
        ),
        ({"features": np.zeros((0, 2))}, "features: expected at least one document"),
        ({"grades": [1, -1]}, "grades: expected whole numbers of at least 0, got -1 at row 1"),
        ({"grades": [1, 0.5]}, "grades: .*got 0.5 at row 1"),
        ({"grades": [1]}, r"grades: expected shape \(2,\)"),
        ({"grades": ["good", "bad"]}, "grades: expected"),
        ({"queries": [1]}, r"queries: expected shape \(2,\)"),
        ({"queries": [1.0, np.nan]}, "queries: expected one for every document, got nan at row 1"),
        ({"groups": np.array(["a", None], dtype=object)}, "groups: expected one for every document"),
        ({"feature_names": ["a", "b"]}, "feature_names: expected 1 names"),
        ({"scale": "all"}, "scale: expected one of 'query'"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, Any], words: str) -> None:
    made: dict[str, Any] = {"features": [[1.0], [2.0]], "grades": [0, 1], "queries": ["a", "a"], **change}
    with pytest.raises(ArgumentError, match=words):
        from_arrays(**made)
