"""Student's distribution against scipy's, and where it is known exactly."""

import math

import pytest

from fairexp.statistics import lower_tail, quantile

special = pytest.importorskip("scipy.special")
FREEDOMS = [1, 2, 3, 4, 7, 15, 30, 99, 1000, 100_000]


@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize("t", [-1e6, -40.0, -5.0, -1.5, -1.0, -0.3, -1e-3, 0.0, 1e-3, 0.7, 2.0, 12.0])
def test_tails_are_those_of_scipy(freedom, t):
    assert lower_tail(freedom, t) == pytest.approx(special.stdtr(freedom, t), rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize("p", [0.001, 0.025, 0.3, 0.5, 0.5000001, 0.9, 0.95, 0.975, 0.995, 0.99995])
def test_quantiles_are_those_of_scipy(freedom, p):
    assert quantile(freedom, p) == pytest.approx(special.stdtrit(freedom, p), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("t", [-1e6, -3.0, -1e-9, 1e-9, 0.5, 1.0])
def test_one_degree_of_freedom_is_cauchy(t):
    assert lower_tail(1, t) == pytest.approx(math.atan2(1.0, -t) / math.pi, rel=1e-12)
