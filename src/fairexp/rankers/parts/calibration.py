"""What clicks bear out: how probable orders are, and which of them may be called certain."""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np

from fairexp.arrays import Bools, Bytes, Floats, Ints, State
from fairexp.kernels.learning.belief import price_orders
from fairexp.rankers.matching import Matching
from fairexp.types import CERTAIN, SURE

TRUST = 1.0
"""What the slope of 1 that a model claims for itself is worth at the start, in curvature of the checks' loss."""

CAUTION = 1.645
"""Standard errors that are taken off a slope before anything is called certain: one side of 95%."""

CLEAR = log((1.0 + CERTAIN / SURE) / (1.0 - CERTAIN / SURE))
"""The logarithm of the odds from which on an order is called certain."""

N_MARKS = 1 << 16
"""Marks for documents that were learned from; two documents share one by chance, and then the later is not new."""


class Slope:
    """P(a click prefers i to j) = sigma(slope (s_i - s_j)), with the slope that predicted clicks best before they came.

    Each preference that clicks reveal is predicted before it is learned from, so the slope is that of predictions on
    new rankings: below 1 where the model promised too much. Where clicks have no noise it is the probability that the
    order is right; with noise, which makes right orders look wrong more often than the reverse, the least that it is.

    >>> slope = Slope()
    >>> for _ in range(50):
    ...     slope.check(np.array([2.0, -2.0]))  # right as often as wrong
    >>> bool(slope.value < 0.05)
    True
    """

    def __init__(self) -> None:
        self.value = 1.0
        self._curvature = TRUST

    def check(self, margins: Floats, weight: float = 1.0) -> None:
        """Take note of preferences that came true, each predicted with a difference of scores in `margins` (m,)."""
        if len(margins) == 0:
            return
        missed = 1.0 / (1.0 + np.exp(np.minimum(self.value * margins, 500.0)))
        self._curvature += weight * float((missed * (1.0 - missed) * margins) @ margins)
        self.value = max(self.value + weight * float(missed @ margins) / self._curvature, 0.0)

    @property
    def at_least(self) -> float:
        """What the slope is but for bad luck."""
        return max(self.value - CAUTION / sqrt(self._curvature), 0.0)

    def state(self) -> State:
        return {"value": np.array(self.value), "curvature": np.array(self._curvature)}

    def restore(self, arrays: State) -> None:
        self.value, self._curvature = float(arrays["value"]), float(arrays["curvature"])


class Calibration:
    """The slope of all checks, by which orders are priced, and that of documents met for the first time.

    Where the same queries come again, a model knows how their documents were clicked, and predicts that better than
    it ranks what it has not shown yet. What reversing an order costs is a matter of the clicks to come, so all checks
    count for it. What may be called certain is a matter of all candidates: there only pairs count of which neither
    document was learned from before.

    >>> calibration, rows = Calibration(2), np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> calibration.check(rows, np.array([True, False]), np.array([0.5, 0.0]), weight=1.0)
    >>> calibration.new(rows), calibration.new(rows + 1.0)
    (array([False, False]), array([ True,  True]))
    """

    def __init__(self, n_features: int) -> None:
        self.all, self.first = Slope(), Slope()
        self._probe: Floats = np.random.default_rng(n_features).random(n_features) + 0.5
        self._marks = np.zeros(N_MARKS // 8, dtype=np.uint8)

    def check(self, features: Floats, clicks: Bools, scores: Floats, *, weight: float) -> None:
        """Compare `clicks` (m,) on examined documents with their `scores` (m,), and note them as learned from."""
        places, bits = self._places(features)
        new = (self._marks[places] & bits) == 0
        self.all.check(_margins(scores, clicks, ~clicks), weight)
        self.first.check(_margins(scores, clicks & new, ~clicks & new), weight)
        np.bitwise_or.at(self._marks, places, bits)

    def new(self, features: Floats) -> Bools:
        """Which documents (m,) were never learned from."""
        places, bits = self._places(features)
        return np.asarray((self._marks[places] & bits) == 0)

    def _places(self, features: Floats) -> tuple[Ints, Bytes]:
        """Where each document (m,) has its mark: the byte and the bit."""
        # A sum by rows, unlike a product of matrices, has the same bits wherever a document stands.
        sums = (features * self._probe).sum(axis=1).view(np.uint64)
        numbers = (sums * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(48)
        return (numbers >> np.uint64(3)).astype(np.int64), np.uint8(1) << (numbers & np.uint64(7)).astype(np.uint8)

    def costs(self, scores: Floats, kept: Bools) -> Bytes:
        """What reversing the order of falling `scores` (n,) is expected to cost (n, n): see `Belief.regret`.

        That is right orders reversed less wrong ones. It takes the place of `kept` (n, n), the orders that exploration
        keeps to: no other is called certain, however probable.
        """
        costs, slope, claimed = kept.view(np.uint8), self.all.value, min(self.first.at_least, self.all.value)
        price_orders(scores, slope, costs, SURE, CERTAIN, CLEAR * slope / claimed if claimed > 0.0 else inf)
        return costs

    def take_over(self, before: Calibration, matching: Matching) -> None:
        """Go on from another; with other features or units no document can be known again, so none counts as new."""
        arrays = before.state()
        if not matching.is_identity:
            arrays["marks"] = np.full_like(self._marks, 255)
        self.restore(arrays)

    def state(self) -> State:
        own: State = {f"all.{key}": value for key, value in self.all.state().items()}
        own.update({f"first.{key}": value for key, value in self.first.state().items()})
        return {**own, "marks": self._marks.copy()}

    def restore(self, arrays: State) -> None:
        self.all.restore({key[4:]: value for key, value in arrays.items() if key.startswith("all.")})
        self.first.restore({key[6:]: value for key, value in arrays.items() if key.startswith("first.")})
        self._marks = np.array(arrays["marks"], dtype=np.uint8)


def _margins(scores: Floats, winners: Bools, losers: Bools) -> Floats:
    """Differences (m,) of scores of every winner and every loser."""
    return np.subtract.outer(scores[winners], scores[losers]).ravel()
