"""What linear rankers share that climb step by step: weights, and a learning rate that decays."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairexp.arrays import Floats, State
from fairexp.errors import ArgumentError
from fairexp.randomness import Seed
from fairexp.ranker import Ranker
from fairexp.remap import Remap
from fairexp.validation import check_number


class GradientRanker(Ranker):
    """A ranker whose `weights` (d,) start at 0 and move by `learning_rate`, which each move multiplies by `decay`."""

    def __init__(self, n_features: int, *, length: int, learning_rate: float, decay: float, seed: Seed) -> None:
        super().__init__(n_features, length=length, seed=seed)
        self.learning_rate = check_number("learning_rate", learning_rate, above=0.0)
        self.decay = check_decay(decay)
        self.weights: Floats = np.zeros(self.n_features)
        self._rate = self.learning_rate

    def _move(self, direction: Floats) -> None:
        """Go one step along `direction` (d,)."""
        self.weights = self.weights + self._rate * direction
        self._rate *= self.decay

    def linear_model(self) -> Floats | None:
        return self.weights

    def _take_over(self, before: Any, remap: Remap) -> None:
        self.weights = remap.weights(before.weights)
        self._rate = self.learning_rate * (before._rate / before.learning_rate)

    def _state(self) -> State:
        return {"weights": self.weights.copy(), "rate": np.array(self._rate)}

    def _restore(self, arrays: State) -> None:
        self.weights = np.array(arrays["weights"], dtype=np.float64)
        self._rate = float(arrays["rate"])


def check_decay(decay: float) -> float:
    """`decay` as a float above 0 and at most 1, or an `ArgumentError`."""
    if check_number("decay", decay, above=0.0) > 1.0:
        raise ArgumentError("decay", repr(decay), "a number above 0 and at most 1", "Use 1 for a constant rate.")
    return float(decay)
