"""Linear scores, the best few documents, and the bound on how long a feature vector may be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.kernels.algebra.linear import bounded_scores, linear_scores, rival_scores, top_documents
from fairexp.scaling import MAX_NORM, shortened

modest = settings(deadline=None, derandomize=True, max_examples=60)


@modest
@given(st.integers(1, 40), st.integers(1, 50), st.integers(0, 10_000), st.sampled_from([1, 3, 1000]))
def test_top_documents_are_the_head_of_a_full_sort(n, k, seed, levels):
    rng = np.random.default_rng(seed)
    scores, keys = rng.integers(levels, size=n).astype(np.float64), rng.random(n)
    assert top_documents(scores, keys, k).tolist() == np.lexsort((keys, -scores))[:k].tolist()


@modest
@given(st.integers(1, 20), st.integers(1, 150), st.integers(0, 10_000))
def test_scores_are_the_matrix_product_and_equal_for_equal_rows(n, d, seed):
    rng = np.random.default_rng(seed)
    rows, weights, direction = rng.standard_normal((n, d)), rng.standard_normal(d), rng.standard_normal((1, d))
    features = np.tile(rows, (3, 1))
    scores = linear_scores(features, weights)
    one, two = rival_scores(features, weights, direction, 0.5)
    assert scores == pytest.approx(features @ weights, abs=1e-12)
    assert one == pytest.approx(features @ weights, abs=1e-12)
    assert two == pytest.approx(features @ (weights + 0.5 * direction[0]), abs=1e-12)
    for result in (scores, one, two, bounded_scores(features, weights, 1.0)):
        assert np.array_equal(result.reshape(3, n), np.tile(result[:n], (3, 1)))


def test_only_rows_that_are_too_long_are_shortened():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((6, 4)) * np.array([1.0, 1e2, 1e4, 1e99, 0.0, 1e-99])[:, None]
    short = shortened(features)
    norms = np.linalg.norm(short, axis=1)
    assert norms[[2, 3]] == pytest.approx([MAX_NORM, MAX_NORM])
    assert np.array_equal(short[[0, 1, 4, 5]], features[[0, 1, 4, 5]])
    assert short[3] / MAX_NORM == pytest.approx(features[3] / np.linalg.norm(features[3]))
    weights = rng.standard_normal(4)
    assert bounded_scores(features, weights, MAX_NORM) == pytest.approx(short @ weights, rel=1e-12)


def test_ordinary_features_are_not_copied():
    features = np.ones((3, 5))
    assert shortened(features) is features
    assert shortened(np.empty((0, 5))).shape == (0, 5)
