"""Updates of a regression: the inverse stays the inverse, and what would cost it its digits is left alone."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp.kernels.algebra.regression import absorb, add_rows, mirror


@pytest.mark.parametrize("d", [1, 5, 17, 40])
@pytest.mark.parametrize("m", [1, 4, 5, 11])
def test_the_inverse_of_the_sum_is_kept_up(d, m):
    rng = np.random.default_rng([d, m])
    matrix = 0.5 * np.eye(d)
    inverse = np.linalg.inv(matrix)
    for _ in range(3):
        rows = rng.normal(size=(m, d))
        add_rows(matrix, rows)
        spread, before = rows @ inverse, inverse.copy()
        gained = absorb(inverse, spread, spread @ rows.T, 1e8)
        assert gained == pytest.approx(np.linalg.slogdet(np.eye(m) + rows @ before @ rows.T)[1])
    mirror(matrix)
    assert np.array_equal(matrix, matrix.T) and np.array_equal(inverse, inverse.T)
    assert matrix @ inverse == pytest.approx(np.eye(d), abs=1e-9)


def test_a_row_of_too_much_leverage_changes_nothing():
    inverse, rows = np.eye(3), np.array([[0.0, 30.0, 0.0]])
    spread = rows @ inverse
    assert absorb(inverse, spread, spread @ rows.T, 899.0) == -np.inf
    assert np.array_equal(inverse, np.eye(3))
    spread = rows @ inverse
    assert absorb(inverse, spread, spread @ rows.T, 900.0) == pytest.approx(np.log(901.0))
    assert inverse[1, 1] == pytest.approx(1.0 / 901.0)
