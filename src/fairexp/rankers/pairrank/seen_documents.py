"""Which documents were learned from before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, State
from fairexp.kernels.algebra.linear import linear_scores
from fairexp.kernels.pairrank.documents import ANYTHING, SHAPE, any_met, note
from fairexp.remap import Remap


class SeenDocuments:
    """Knows documents again by their features, the latest twenty thousand or so.

    It may take a stranger for somebody about once in twenty thousand times.
    Those who were not met for long are forgotten, and are new then.

    >>> known, rows = SeenDocuments(2), np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> known.note(rows), known.note(rows)
    (array([ True,  True]), array([False, False]))
    >>> known.with_any_of(rows + 1.0), known.with_any_of(rows)
    (False, True)
    """

    def __init__(self, n_features: int) -> None:
        self._probe: Floats = np.random.default_rng(n_features).random(n_features) + 0.5
        self._tags: NDArray[np.uint16] = np.zeros(SHAPE, dtype=np.uint16)

    def note(self, features: Floats) -> Bools:
        """Take note of documents (m, d) that are learned from; returns which of them (m,) never were before."""
        return np.asarray(note(linear_scores(features, self._probe), self._tags))

    def with_any_of(self, features: Floats) -> bool:
        """Whether any of these documents (n, d) was learned from."""
        return any_met(linear_scores(features, self._probe), self._tags)

    def take_over(self, before: SeenDocuments, remap: Remap) -> None:
        """Go on from another; with other features or units nobody can be known again, so nobody counts as new."""
        self._tags = before._tags.copy() if remap.is_identity else np.full(SHAPE, ANYTHING, dtype=np.uint16)

    def state(self) -> State:
        return {"tags": self._tags.copy()}

    def restore(self, arrays: State) -> None:
        self._tags = np.array(arrays["tags"], dtype=np.uint16)
