"""NDCG against known values, definitions and properties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.errors import ArgumentError
from fairexp.kernels.measures.ndcg import COUNTING_LIMIT
from fairexp.lab.metrics import dataset_ndcg, discounted, ndcg
from tests.reference import ndcg as reference

LABELS = [3, 2, 3, 0, 1, 2]
few_documents = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=6)
modest = settings(deadline=None, derandomize=True, max_examples=60)


def queries(sizes, seed, n_levels=None):
    rng = np.random.default_rng(seed)
    n = int(np.sum(sizes))
    scores = rng.normal(size=n) if n_levels is None else rng.integers(0, n_levels, size=n).astype(float)
    grades = rng.choice(5, size=n, p=[0.52, 0.32, 0.13, 0.02, 0.01])
    return scores, grades, np.concatenate([[0], np.cumsum(sizes)])


def test_known_values():
    assert ndcg(LABELS, LABELS, k=6) == pytest.approx(0.94881, abs=5e-6)
    assert ndcg(LABELS, LABELS, k=3) == pytest.approx(0.95945, abs=5e-6)
    assert dataset_ndcg([6, 5, 4, 3, 2, 1], LABELS, [0, 6], k=6)[0] == pytest.approx(0.94881, abs=5e-6)
    assert dataset_ndcg([6, 5, 4, 3, 2, 1], LABELS, [0, 6], k=3)[0] == pytest.approx(0.95945, abs=5e-6)


def test_discounted_sums_approach_their_bounds():
    assert discounted(np.ones(5_000))[-1] == pytest.approx(1835.9, abs=0.05)
    assert discounted(np.ones(10_000))[-1] == pytest.approx(1986.5, abs=0.05)
    assert discounted(np.ones(100_000))[-1] == pytest.approx(2000, abs=1e-6)
    assert discounted([]).shape == (0,)
    assert discounted([0.5, 0.25], gamma=1).tolist() == [0.5, 0.75]


@given(documents=few_documents, k=st.integers(1, 7))
@modest
def test_ties_are_averaged_over_every_order(documents, k):
    scores, grades = (list(column) for column in zip(*documents, strict=True))
    expected = reference.expected_ndcg(scores, grades, k)
    assert dataset_ndcg(scores, grades, [0, len(grades)], k=k)[0] == pytest.approx(expected, abs=1e-12)


@given(documents=few_documents, shown=st.integers(0, 6), k=st.integers(1, 7))
@modest
def test_one_ranking_by_definition(documents, shown, k):
    grades = [grade for _, grade in documents]
    assert ndcg(grades[:shown], grades, k=k) == pytest.approx(reference.ndcg(grades[:shown], grades, k), abs=1e-12)


@pytest.mark.parametrize("k", [1, 3, 10, 60, 500])
@pytest.mark.parametrize("most", [150, 4 * COUNTING_LIMIT])
def test_many_queries_agree_with_a_loop(k, most):
    sizes = np.random.default_rng(k).integers(0, most, size=100)
    scores, grades, offsets = queries(sizes, seed=k)
    expected = reference.dataset_ndcg(scores, grades, offsets, k)
    assert dataset_ndcg(scores, grades, offsets, k=k) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("k", [1, 10, 60])
@pytest.mark.parametrize("most", [150, 4 * COUNTING_LIMIT])
def test_many_queries_with_ties_agree_with_a_loop(k, most):
    sizes = np.random.default_rng(k).integers(0, most, size=60)
    scores, grades, offsets = queries(sizes, seed=k, n_levels=40)
    expected = reference.tied_dataset_ndcg(scores, grades, offsets, k)
    assert dataset_ndcg(scores, grades, offsets, k=k) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("k", [3, 10, 100])
@pytest.mark.parametrize("size", [60, 3 * COUNTING_LIMIT])
def test_ties_equal_the_mean_over_random_orders(k, size):
    """400 shuffles of one query with many ties: within 5 standard errors of their mean."""
    scores, grades, offsets = queries([size], seed=7, n_levels=4)
    rng = np.random.default_rng(0)
    runs = []
    for _ in range(400):
        order = rng.permutation(size)
        runs += reference.dataset_ndcg(scores[order], grades[order], offsets, k).tolist()
    error = np.std(runs) / np.sqrt(400)
    assert abs(dataset_ndcg(scores, grades, offsets, k=k)[0] - np.mean(runs)) < 5 * error + 1e-12


def test_properties():
    scores, grades, offsets = queries(np.full(50, 40), seed=1)
    value = dataset_ndcg(scores, grades, offsets)
    assert ((value >= 0) & (value <= 1)).all()
    assert dataset_ndcg(2 * scores + 1, grades, offsets) == pytest.approx(value)
    assert dataset_ndcg(grades, grades, offsets) == pytest.approx(np.ones(50))
    order = np.random.default_rng(2).permutation(40)
    moved = np.concatenate([query * 40 + order for query in range(50)])
    assert dataset_ndcg(scores[moved], grades[moved], offsets) == pytest.approx(value)


def test_degenerate_queries():
    assert ndcg([0, 0], [0, 0, 0]) == 0.0
    assert ndcg([], [1]) == 0.0
    assert dataset_ndcg([1.0, 2.0, -np.inf], [0, 0, 1], [0, 2, 2, 3]).tolist() == [0.0, 0.0, 1.0]
    assert dataset_ndcg([], [], [0]).shape == (0,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ndcg([3], [2, 1]), "all_relevance: expected the grades of all candidates"),
        (lambda: ndcg([1, 1], [1]), "all_relevance: expected the grades of all candidates"),
        (lambda: ndcg([1], [1], k=0), "k: expected a whole number of at least 1, got 0"),
        (lambda: ndcg([1], [-1, 1]), "all_relevance: expected grades 0 to 52, got grade -1"),
        (lambda: ndcg([60], [60]), "shown_relevance: expected grades 0 to 52, got grade 60"),
        (lambda: ndcg([0.5], [0.5]), "shown_relevance: expected whole-number grades"),
        (lambda: dataset_ndcg([1.0], [1, 2], [0, 2]), r"scores: expected shape \(2,\)"),
        (lambda: dataset_ndcg([1.0, np.nan], [1, 2], [0, 2]), "scores: expected numbers, got NaN at index 1"),
        (lambda: dataset_ndcg([1.0, 2.0], [1, 2], [0, 1]), "offsets: .* rise from 0 to 2"),
        (lambda: dataset_ndcg([1.0, 2.0], [1, 2], [0, 3, 2]), "offsets: .* rise from 0 to 2"),
        (lambda: dataset_ndcg([1.0, 2.0], [1, 2], [0.0, 2.0]), "offsets: expected whole numbers"),
        (lambda: discounted([1.0], gamma=1.5), "gamma: expected a number above 0 and at most 1"),
        (lambda: discounted([[1.0]]), "values: expected one value per round"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
