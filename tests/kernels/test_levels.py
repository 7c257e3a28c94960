"""Both levels of instructions give the same bits."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from fairexp.kernels import LEVEL
from fairexp.kernels.algebra.linear import bounded_scores, linear_scores, rival_scores, row_products
from fairexp.kernels.data.clicks import extremes, shuffled_tops
from fairexp.kernels.measures.ndcg import ndcg_by_query


def digest() -> str:
    """What kernels make of the same numbers at every size around that of a vector."""
    rng, made = np.random.default_rng(0), hashlib.sha256()
    for d in (*range(1, 20), 136):
        for n in (1, 3, 70, 900):
            features, weights, rivals = rng.normal(size=(n, d)), rng.normal(size=d), rng.normal(size=(n % 4, d))
            made.update(linear_scores(features, weights).tobytes())
            made.update(bounded_scores(features, weights, 1.5).tobytes())
            made.update(rival_scores(features, weights, rivals, 0.1).tobytes())
            made.update(row_products(features, features[::-1].copy()).tobytes())
            scores, grades = np.round(features[:, 0]), rng.integers(0, 5, n)
            gain, discount = 2.0 ** np.arange(5) - 1.0, 1.0 / np.log2(np.arange(10) + 2.0)
            made.update(ndcg_by_query(scores, grades, np.array([0, n]), gain, discount).tobytes())
            made.update(repr(extremes(grades)).encode())
            made.update(shuffled_tops(grades + 5, rng.random((n, 3))).tobytes())
    return made.hexdigest()


@pytest.mark.skipif(LEVEL == "baseline", reason="this processor has one level")
def test_both_levels_give_the_same_bits():
    command = "from tests.kernels.test_levels import digest; print(digest())"
    environment = {**os.environ, "FAIREXP_CPU": "baseline"}
    plain = subprocess.run([sys.executable, "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert plain.stdout.strip() == digest()
