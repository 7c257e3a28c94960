from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.charts.labels import Axis, spread

positions = st.lists(st.floats(0, 1), min_size=1, max_size=9)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(positions)
def test_labels_never_overlap_and_keep_their_order(given_positions: list[float]) -> None:
    gap = 0.1
    moved = spread(given_positions, gap=gap)
    order = sorted(range(len(moved)), key=lambda i: (given_positions[i], i))
    for lower, upper in pairwise(order):
        assert moved[upper] - moved[lower] >= gap - 1e-9
    assert min(moved) >= -1e-9 and max(moved) <= 1 + 1e-9


@settings(deadline=None, derandomize=True, max_examples=100)
@given(positions)
def test_labels_that_are_apart_stay(given_positions: list[float]) -> None:
    apart = [x for i, x in enumerate(sorted(given_positions)) if i == 0 or x - sorted(given_positions)[i - 1] > 0.05]
    assert spread(apart, gap=1e-6) == pytest.approx(apart, abs=1e-4)


def test_too_many_labels_keep_the_gap_and_run_over() -> None:
    moved = spread([0.5] * 5, gap=0.4)
    assert moved == pytest.approx([0.0, 0.4, 0.8, 1.2, 1.6])


@pytest.mark.parametrize("constant", [None, 0.1, 5.0])
@pytest.mark.parametrize("value", [0.0, 0.05, 0.1, 3.0, 250.0])
def test_positions_and_values_are_inverse(constant: float | None, value: float) -> None:
    axis = Axis(0.0, 300.0, constant=constant)
    assert axis.value(axis.position(value)) == pytest.approx(value, abs=1e-9)


def test_a_logarithmic_axis_gives_room_to_small_values() -> None:
    axis = Axis(0.0, 300.0, constant=0.1)
    assert axis.position(0.0) == 0 and axis.position(300.0) == 1
    assert axis.position(0.1) > 0.05 > Axis(0.0, 300.0).position(0.1)
