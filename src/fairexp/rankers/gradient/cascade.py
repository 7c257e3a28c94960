"""Sim-MGD first, for speed, and P-MGD from there on, for quality."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints, State
from fairexp.rankers.gradient.challengers import mean_of, unit_vectors
from fairexp.rankers.gradient.recent import Recent
from fairexp.rankers.gradient.similarity import SimMGD, SimMGDArguments
from fairexp.remap import Remap
from fairexp.types import Query, Ranking
from fairexp.validation import check_count, check_number

TINY = 1e-300
"""A length that stands in for 0, which has no direction."""


class CMGD(SimMGD):
    """Sim-MGD until its model stands still, then P-MGD from that model on.

    It stands still when the weights of the references make an angle with those of `window` updates ago whose cosine is
    within `threshold` of 1. The weights (d,) are then rescaled once, to sqrt(references / d) times the length of the
    references' weights, and rivals lie in all directions. What was shown before that teaches nothing after it.

    Oosterhuis and de Rijke, "Balancing speed and quality in online learning to rank for information retrieval", CIKM
    2017.
    """

    def __init__(
        self, n_features: int, *, window: int = 10, threshold: float = 0.01, **others: Unpack[SimMGDArguments]
    ) -> None:
        super().__init__(n_features, **others)
        self.window = check_count("window", window)
        self.threshold = check_number("threshold", threshold, above=0.0)
        self._mixture: Floats = np.zeros(self.references)
        self._past = Recent(self.window, self.references)
        self._is_linear = False

    def _trial(self, query: Query, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        if self._is_linear:
            return {"directions": unit_vectors(self.candidates, self.n_features, rng)}
        mixtures = self._mixtures(rng)
        return {"directions": mixtures @ self._known.table, "mixtures": mixtures}

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        if self._is_linear and "mixtures" in ranking.memory:
            return
        super()._update(ranking, clicks)
        if not self._is_linear:
            self._watch()

    def _learn(self, ranking: Ranking, clicks: Bools, winners: Ints) -> None:
        if not self._is_linear:
            mixtures = np.asarray(ranking.memory["mixtures"], dtype=np.float64)
            self._mixture = self._mixture + self._rate * mean_of(mixtures, winners)
        super()._learn(ranking, clicks, winners)

    def _watch(self) -> None:
        """Go on without references once their weights stand still."""
        if self._past.is_full:
            before = self._past.rows[0]
            lengths = np.linalg.norm(before) * np.linalg.norm(self._mixture)
            if lengths > 0.0 and before @ self._mixture > (1.0 - self.threshold) * lengths:
                length = np.linalg.norm(self._mixture) * np.sqrt(self.references / self.n_features)
                self.weights = self.weights * (length / max(float(np.linalg.norm(self.weights)), TINY))
                self._is_linear = True
        self._past.add(self._mixture[np.newaxis])

    def _take_over(self, before: Any, remap: Remap) -> None:
        super()._take_over(before, remap)
        self._mixture, self._is_linear = before._mixture.copy(), before._is_linear
        self._past.add(before._past.rows)

    def _state(self) -> State:
        own = {"mixture": self._mixture.copy(), "past": self._past.table.copy(), "n_past": np.array(self._past.count)}
        return {**super()._state(), **own, "is_linear": np.array(self._is_linear)}

    def _restore(self, arrays: State) -> None:
        super()._restore(arrays)
        self._mixture = np.array(arrays["mixture"], dtype=np.float64)
        self._past.put(np.asarray(arrays["past"]), int(arrays["n_past"]))
        self._is_linear = bool(arrays["is_linear"])
