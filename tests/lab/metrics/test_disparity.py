"""Exposure and impact per merit, and shares of the top."""

import numpy as np
import pytest

from fairexp.errors import ArgumentError
from fairexp.lab.metrics import exposure_per_merit, impact_per_merit, top_k_shares

V = 1.0 / np.log2([2, 3, 4, 5])
MERIT = [0.8, 0.7, 0.6, 0.5]
GROUPS = [0, 1, 0, 1]


def test_known_values():
    treatment = exposure_per_merit(V, MERIT, GROUPS)
    impact = impact_per_merit(V, MERIT, GROUPS)
    assert treatment[0, 1] == pytest.approx(1.2111, abs=5e-5)
    assert impact[0, 1] == pytest.approx(1.4351, abs=5e-5)
    for ratios in (treatment, impact):
        assert np.diag(ratios) == pytest.approx([1.0, 1.0])
        assert ratios[0, 1] * ratios[1, 0] == pytest.approx(1.0)


def test_exposure_in_proportion_to_merit_is_equal_treatment():
    merit = np.array([3.0, 1.0, 2.0, 5.0, 0.0])
    assert exposure_per_merit(0.3 * merit, merit, [0, 1, 2, 1, 0], n_groups=3) == pytest.approx(np.ones((3, 3)))


def test_undefined_ratios():
    ratios = exposure_per_merit([1.0, 0.0, 0.5], [1, 1, 0], [0, 1, 2], n_groups=4)
    assert ratios[0, 1] == np.inf
    assert ratios[1, 0] == 0.0
    assert np.isnan(ratios[2]).all()  # exposure without merit
    assert np.isnan(ratios[:, 3]).all()  # nobody there


def test_shares_of_the_top():
    assert top_k_shares([0, 1, 0, 2], 3).tolist() == [0.5, 0.25, 0.25]
    assert top_k_shares([0, 1, 0, 2], 3, k=2).tolist() == [0.5, 0.5, 0.0]
    assert top_k_shares([0, 0], 2, k=10).tolist() == [1.0, 0.0]
    assert top_k_shares(np.array([], dtype=int), 2).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: exposure_per_merit(V, MERIT[:3], GROUPS), r"merit: expected shape \(4,\)"),
        (lambda: exposure_per_merit(V, MERIT, GROUPS[:3]), r"groups: expected shape \(4,\)"),
        (lambda: exposure_per_merit(-V, MERIT, GROUPS), "exposure: expected finite numbers of at least 0"),
        (lambda: impact_per_merit(V, [0.8, np.nan, 0.6, 0.5], GROUPS), "merit: expected finite numbers"),
        (lambda: impact_per_merit(V, MERIT, [0, 1, 2, 1]), "groups: expected groups 0 to 1, got group 2"),
        (lambda: impact_per_merit([V], MERIT, GROUPS), "exposure: expected one number per document"),
        (lambda: top_k_shares([0, 3], 2), "template: expected groups 0 to 1, got group 3"),
        (lambda: top_k_shares([0, 1], 2, k=0), "k: expected a whole number"),
        (lambda: top_k_shares([0.5], 2), "template: expected integers"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
