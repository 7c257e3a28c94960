"""Each fairness measure of the field against a slow twin written from its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.errors import ArgumentError
from fairexp.lab.metrics import (
    awrf,
    expected_exposure,
    exposure_per_merit,
    gini,
    impact_per_merit,
    item_disparity,
    largest_ratio,
    max_min_share,
    ndkl,
    target_exposure,
)
from tests.reference import fairness_measures as slow

FEW = settings(deadline=None, derandomize=True, max_examples=80)
amount = st.floats(0.0, 5.0)
positive = st.floats(0.05, 5.0)
templates = st.lists(st.integers(0, 2), min_size=1, max_size=8)


@given(grades=st.lists(st.integers(0, 2), min_size=1, max_size=6), curve=st.lists(positive, min_size=1, max_size=6))
@FEW
def test_target_exposure_is_the_mean_over_all_ideal_rankings(grades: list[int], curve: list[float]) -> None:
    assert target_exposure(grades, curve) == pytest.approx(slow.target_exposure(grades, curve))


@given(pairs=st.lists(st.tuples(amount, amount), min_size=1, max_size=8))
@FEW
def test_expected_exposure(pairs: list[tuple[float, float]]) -> None:
    e, owed = (list(each) for each in zip(*pairs, strict=True))
    found = expected_exposure(e, owed)
    assert tuple(found) == pytest.approx(slow.expected_exposure(e, owed))
    assert found.loss == pytest.approx(found.disparity - found.relevance + np.square(owed).sum(), abs=1e-9)


@given(template=templates, shares=st.tuples(positive, positive, positive), seed=st.integers(0, 99))
@FEW
def test_awrf_and_ndkl(template: list[int], shares: tuple[float, ...], seed: int) -> None:
    from scipy.spatial.distance import jensenshannon

    curve = np.random.default_rng(seed).uniform(0.1, 1.0, size=8)
    attention = np.bincount(template, weights=curve[: len(template)], minlength=3)
    assert awrf(template, curve, shares) == pytest.approx(slow.awrf(template, curve.tolist(), shares))
    assert awrf(template, curve, shares) == pytest.approx(1 - jensenshannon(attention, shares, base=2) ** 2)
    assert ndkl(template, shares) == pytest.approx(slow.ndkl(template, shares), abs=1e-12)


@given(documents=st.lists(st.tuples(amount, positive, st.integers(0, 1)), min_size=2, max_size=8))
@FEW
def test_disparate_treatment_and_impact(documents: list[tuple[float, float, int]]) -> None:
    exposure, merit, groups = (list(each) for each in zip(*[*documents, (0.5, 1.0, 0), (0.7, 1.0, 1)], strict=True))
    impact = [e * m for e, m in zip(exposure, merit, strict=True)]
    found = largest_ratio(exposure_per_merit(exposure, merit, groups))
    assert found == pytest.approx(slow.ratio(exposure, merit, groups, 2))
    assert largest_ratio(impact_per_merit(exposure, merit, groups)) == pytest.approx(
        slow.ratio(impact, merit, groups, 2)
    )


@given(amounts=st.lists(positive, min_size=2, max_size=9), more=st.lists(st.integers(0, 3), min_size=9, max_size=9))
@FEW
def test_inequality(amounts: list[float], more: list[int]) -> None:
    merit = more[: len(amounts)]
    assert gini(amounts) == pytest.approx(slow.gini(amounts), abs=1e-12)
    assert item_disparity(amounts, merit) == pytest.approx(slow.item_disparity(amounts, merit), abs=1e-12)
    shares = [1.0 + grade for grade in merit]
    assert max_min_share(amounts, shares) == pytest.approx(slow.max_min_share(amounts, shares))


def test_extremes() -> None:
    assert gini([0.0, 0.0]) == 0.0 and gini([0.0] * 9 + [1.0]) == pytest.approx(0.9)
    assert item_disparity([1.0, 2.0], [0.0, 1.0]) == 0.0
    assert largest_ratio(exposure_per_merit([1.0, 0.0], [1.0, 1.0], [0, 1])) == np.inf
    assert largest_ratio(exposure_per_merit([1.0, 0.0], [1.0, 0.0], [0, 1])) is None
    assert awrf([0], [1.0], [1.0, 1e-9]) == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(ArgumentError, match="one number per candidate"):
        expected_exposure([1.0], [1.0, 2.0])
    with pytest.raises(ArgumentError, match="groups 0 to 1"):
        ndkl([2], [1.0, 1.0])
    with pytest.raises(ArgumentError, match="not all 0"):
        max_min_share([0.0, 0.0], [1.0, 1.0])
