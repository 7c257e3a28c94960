"""What features added to the scores of shown candidates, kept with each ranking: the model goes on to change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.service.log.considered import Floats32

MOST = 5
"""Features on record for each candidate."""


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """By shown candidate the numbers of the `features` (m, t) that added most to its score, and `amounts` (m, t)."""

    features: Ints
    amounts: Floats32

    @staticmethod
    def of(features: Floats, weights: Floats) -> Contributions:
        """Those of features (m, d) as the ranker saw them, by its weights (d,).

        >>> found = Contributions.of(np.array([[1.0, 2.0]]), np.array([3.0, -4.0]))
        >>> found.features.tolist(), found.amounts.tolist()
        ([[1, 0]], [[-8.0, 3.0]])
        """
        amounts = features * weights
        largest = np.argsort(-np.abs(amounts), axis=1, kind="stable")[:, :MOST]
        return Contributions(largest, np.take_along_axis(amounts, largest, axis=1).astype(np.float32))
