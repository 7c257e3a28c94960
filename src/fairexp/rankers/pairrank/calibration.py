"""What clicks bear out: how probable orders are, and which of them may be called certain."""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np

from fairexp.arrays import Bools, Bytes, Floats, State
from fairexp.kernels.pairrank.belief import price_orders
from fairexp.kernels.pairrank.logistic import slope_sums
from fairexp.reliability import N_BINS, Predictions, Reliability
from fairexp.types import CERTAIN, SURE

TRUST = 1.0
"""What the slope of 1 that a model claims for itself is worth at the start, in curvature of the checks' loss."""

CAUTION = 1.645
"""Standard errors that are taken off a slope before anything is called certain: one side of 95%."""

CLEAR = log((1.0 + CERTAIN / SURE) / (1.0 - CERTAIN / SURE))
"""The logarithm of the odds from which on an order is called certain."""


class Slope:
    """P(a click prefers i to j) = sigma(slope (s_i - s_j)), with the slope that predicted clicks best before they came.

    Each preference that clicks reveal is predicted before it is learned from, so the slope is that of predictions on
    new rankings: below 1 where the model promised too much. Where clicks have no noise it is the probability that the
    order is right; with noise, which makes right orders look wrong more often than the reverse, the least that it is.

    >>> slope, both = Slope(), np.array([True, True])
    >>> for _ in range(50):  # the better one is clicked as often as the worse
    ...     slope.check(np.array([2.0, 0.0]), np.array([True, False]), both)
    ...     slope.check(np.array([2.0, 0.0]), np.array([False, True]), both)
    >>> bool(slope.value < 0.05)
    True
    """

    def __init__(self) -> None:
        self.value = 1.0
        self._curvature = TRUST
        self._sums: Floats = np.zeros((3, N_BINS))

    def check(self, scores: Floats, clicks: Bools, among: Bools, weight: float = 1.0) -> None:
        """Take note of preferences that came true: those clicked over the others, `among` the documents that count."""
        pull, curvature = slope_sums(scores, clicks, among, self.value, weight, self._sums)
        self._curvature += weight * curvature
        self.value = max(self.value + weight * pull / self._curvature, 0.0)

    @property
    def at_least(self) -> float:
        """What the slope is but for bad luck."""
        return max(self.value - CAUTION / sqrt(self._curvature), 0.0)

    def predictions(self) -> Predictions:
        """How all that was predicted turned out, each with the slope of its time."""
        return Predictions(self._sums.copy())

    def state(self) -> State:
        numbers = {"value": np.array(self.value), "curvature": np.array(self._curvature)}
        return {**numbers, "predictions": self._sums.copy()}

    def restore(self, arrays: State) -> None:
        self.value, self._curvature = float(arrays["value"]), float(arrays["curvature"])
        self._sums = np.array(arrays["predictions"], dtype=np.float64)


class Calibration:
    """The slope of all checks, by which orders are priced, and that of documents met for the first time.

    Where the same queries come again, a model knows how their documents were clicked, and predicts that better than
    it ranks what it has not shown yet. What reversing an order costs is a matter of the clicks to come, so all checks
    count for it. What may be called certain is a matter of all candidates: there only pairs count of which neither
    document was learned from before.

    >>> calibration, clicks = Calibration(), np.array([True, False])
    >>> calibration.check(np.array([0.5, 0.0]), clicks, np.array([True, False]), weight=1.0)
    >>> calibration.all.value > calibration.first.value == 1.0
    True
    """

    def __init__(self) -> None:
        self.all, self.first = Slope(), Slope()

    def check(self, scores: Floats, clicks: Bools, new: Bools, *, weight: float) -> None:
        """Compare `clicks` (m,) on examined documents with their `scores` (m,), before they are learned from.

        `new` (m,) are those that were never learned from.
        """
        self.all.check(scores, clicks, np.ones(len(scores), dtype=np.bool_), weight)
        if np.count_nonzero(new):
            self.first.check(scores, clicks, new, weight)

    def costs(self, scores: Floats, kept: Bools) -> Bytes:
        """What reversing the order of falling `scores` (n,) is expected to cost (n, n): see `Belief.regret`.

        That is right orders reversed less wrong ones. It takes the place of `kept` (n, n), the orders that exploration
        keeps to: no other is called certain, however probable.
        """
        costs, slope, claimed = kept.view(np.uint8), self.all.value, min(self.first.at_least, self.all.value)
        price_orders(scores, slope, costs, SURE, CERTAIN, CLEAR * slope / claimed if claimed > 0.0 else inf)
        return costs

    def reliability(self) -> Reliability:
        """How all checks turned out, and those of documents met for the first time."""
        return Reliability(self.all.predictions(), self.first.predictions())

    def state(self) -> State:
        own: State = {f"all.{key}": value for key, value in self.all.state().items()}
        own.update({f"first.{key}": value for key, value in self.first.state().items()})
        return own

    def restore(self, arrays: State) -> None:
        self.all.restore({key[4:]: value for key, value in arrays.items() if key.startswith("all.")})
        self.first.restore({key[6:]: value for key, value in arrays.items() if key.startswith("first.")})
