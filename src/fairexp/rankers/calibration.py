"""How far clicks bear out differences of score: a probability that each order is right, checked by what followed."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Bools, Bytes, Floats, State
from fairexp.kernels.learning.belief import price_orders
from fairexp.types import CERTAIN, SURE

TRUST = 1.0
"""What the slope of 1 that a model claims for itself is worth at the start, in curvature of the checks' loss."""


class Calibration:
    """P(a click prefers i to j) = sigma(slope (s_i - s_j)), with the slope that predicted clicks best before they came.

    Each preference that clicks reveal is predicted before it is learned from, so the slope is that of predictions on
    new rankings: below 1 where the model promised too much. Where clicks have no noise it is the probability that the
    order is right; with noise, which makes right orders look wrong more often than the reverse, the least that it is.

    >>> calibration = Calibration()
    >>> for _ in range(50):
    ...     calibration.check(np.array([2.0, -2.0]))  # right as often as wrong
    >>> bool(calibration.slope < 0.05)
    True
    """

    def __init__(self) -> None:
        self.slope = 1.0
        self._curvature = TRUST

    def check(self, margins: Floats) -> None:
        """Take note of preferences that came true, each predicted with a difference of scores in `margins` (m,)."""
        missed = 1.0 / (1.0 + np.exp(np.minimum(self.slope * margins, 500.0)))
        self._curvature += float((missed * (1.0 - missed) * margins) @ margins)
        self.slope = max(self.slope + float(missed @ margins) / self._curvature, 0.0)

    def costs(self, scores: Floats, kept: Bools) -> Bytes:
        """What reversing the order of falling `scores` (n,) is expected to cost (n, n): see `Belief.regret`.

        That is right orders reversed less wrong ones. It takes the place of `kept` (n, n), the orders that exploration
        keeps to: no other is called certain, however probable.
        """
        costs = kept.view(np.uint8)
        price_orders(self.slope * scores, costs, SURE, CERTAIN)
        return costs

    def state(self) -> State:
        return {"slope": np.array(self.slope), "curvature": np.array(self._curvature)}

    def restore(self, arrays: State) -> None:
        self.slope, self._curvature = float(arrays["slope"]), float(arrays["curvature"])
