"""The `Dataset` record: what rankers see of it, and the data sets made from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.errors import ArgumentError
from fairexp.kernels.data.scaling import scale_queries
from fairexp.lab.data import Dataset
from tests.reference.letor import scale_by_query


def make(sizes: tuple[int, ...] = (3, 1, 4, 2), d: int = 5, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    return Dataset(
        features=rng.uniform(size=(n, d)).astype(np.float32),
        grades=rng.integers(0, 3, size=n),
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        query_ids=tuple(f"q{i}" for i in range(len(sizes))),
        raw=(1000 * rng.uniform(size=(n, d))).astype(np.float32),
    )


def test_counts() -> None:
    data = make()
    assert (data.n_queries, data.n_documents, data.n_features, data.n_groups) == (4, 10, 5, 0)
    assert data.max_grade == data.grades.max()
    assert repr(data) == "Dataset('data', 4 queries, 10 documents, 5 features, no groups)"


def test_a_query_shows_float64_copies_with_blanked_columns_zero() -> None:
    data = replace(make(), blanked=(2, 5)).with_groups([0, 1] * 5)
    query = data.query(2)
    expected = data.features[4:8].astype(np.float64)
    expected[:, [1, 4]] = 0
    assert query.features.dtype == np.float64
    assert np.array_equal(query.features, expected)
    assert query.groups is not None
    assert query.groups.tolist() == [0, 1, 0, 1]
    assert query.query_id == "q2"
    before = data.features.copy()
    query.features[:] = -1
    data.relevance(2)[:] = 99
    assert np.array_equal(data.features, before)
    assert data.max_grade < 99


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12).map(tuple), n_documents=st.integers(1, 30))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_chunks_cover_every_query_once(sizes: tuple[int, ...], n_documents: int) -> None:
    data = replace(make(sizes), blanked=(1,))
    reached, parts = 0, []
    for features, first, last in data.chunks(n_documents=n_documents):
        assert first == reached < last
        assert len(features) <= n_documents or last == first + 1
        assert len(features) == data.offsets[last] - data.offsets[first]
        reached = last
        parts.append(features)
    assert reached == data.n_queries
    whole = data.features.astype(np.float64)
    whole[:, 0] = 0
    assert np.array_equal(np.vstack(parts), whole)


@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=8).map(tuple), data=st.data())
@settings(deadline=None, derandomize=True, max_examples=60)
def test_a_subset_holds_the_chosen_queries_in_order(sizes: tuple[int, ...], data: st.DataObject) -> None:
    whole = make(sizes).with_groups(np.arange(sum(sizes)))
    chosen = data.draw(st.lists(st.integers(0, len(sizes) - 1), min_size=1, max_size=8, unique=True))
    part = whole.subset(chosen)
    twice = part.subset(range(part.n_queries))
    for new, old in enumerate(chosen):
        for one in (part, twice):
            assert one.query_ids[new] == whole.query_ids[old]
            assert np.array_equal(one.query(new).features, whole.query(old).features)
            assert np.array_equal(one.relevance(new), whole.relevance(old))
            assert np.array_equal(one.column(2, on="raw")[one.rows(new)], whole.column(2, on="raw")[whole.rows(old)])
            assert one.groups is not None
            assert whole.groups is not None
            assert np.array_equal(one.groups[one.rows(new)], whole.groups[whole.rows(old)])


def test_neighbouring_queries_share_memory() -> None:
    data = make()
    assert np.shares_memory(data.subset([1, 2]).features, data.features)
    assert not np.shares_memory(data.subset([2, 1]).features, data.features)


def test_queries_without_a_relevant_document_can_be_dropped() -> None:
    data = replace(make(), grades=np.array([0, 0, 1, 0, 0, 0, 0, 0, 2, 0]))
    assert data.without_irrelevant().query_ids == ("q0", "q3")
    again = data.without_irrelevant()
    assert again.without_irrelevant() is again
    with pytest.raises(ArgumentError, match="a query with a relevant document"):
        replace(data, grades=np.zeros(10, dtype=np.int64)).without_irrelevant()


@pytest.mark.parametrize(
    ("groups", "names", "message"),
    [
        ([0] * 9, None, r"shape \(9,\)"),
        ([0.5] * 10, None, "integers"),
        ([0, 2] * 5, None, "no document in group 1"),
        ([0, 1] * 5, ("a",), "at most 0"),
        ([0, 1] * 5, ("a", "b", "c"), r"no document in group 2 \(c\)"),
    ],
)
def test_bad_groups_are_refused(groups: list[int], names: tuple[str, ...] | None, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make().with_groups(groups, names=names)


def test_bad_arrays_are_refused() -> None:
    data = make()
    with pytest.raises(ArgumentError, match="float32"):
        replace(data, features=data.features.astype(np.float64))
    with pytest.raises(ArgumentError, match="grades"):
        replace(data, grades=data.grades[1:])
    with pytest.raises(ArgumentError, match="no empty query"):
        replace(data, offsets=np.array([0, 3, 3, 8, 10]))
    with pytest.raises(ArgumentError, match="query_ids"):
        replace(data, query_ids=("a",))
    for queries in ([], [4], [-1], [[0]], [0.5]):
        with pytest.raises(ArgumentError, match="queries"):
            data.subset(queries)
    with pytest.raises(ArgumentError, match="from 1 to 5"):
        data.column(6)
    with pytest.raises(ArgumentError, match="feature"):
        data.column(0)
    with pytest.raises(ArgumentError, match="'scaled', 'raw'"):
        data.column(1, on="other")


@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=6).map(tuple), seed=st.integers(0, 99))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_scaling_agrees_with_its_slow_twin(sizes: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    features = (rng.integers(-2, 3, size=(sum(sizes), 4)) * 10.0 ** rng.integers(-30, 30, size=4)).astype(np.float32)
    expected = scale_by_query(features, offsets.tolist())
    scale_queries(features, offsets)
    assert np.array_equal(features, expected)
    assert features.min() >= 0
    assert features.max() <= 1


def test_scaling_survives_the_largest_span() -> None:
    largest = np.finfo(np.float32).max
    features = np.array([[-largest], [0], [largest]], dtype=np.float32)
    scale_queries(features, np.array([0, 3]))
    assert features.ravel().tolist() == [0, 0.5, 1]
