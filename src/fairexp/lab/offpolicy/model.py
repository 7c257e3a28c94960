"""A model of clicks for the doubly robust estimate: linear in a document's features and its position.

It is fitted to other rounds than those that it speaks of, so that what it learned of a click cannot excuse that click.
Where it is wrong, the weighted clicks correct it: a better model makes the estimate less noisy, never less right.
"""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.lab.offpolicy.record import BanditLog

FOLDS = 5
RIDGE = 1.0


class ClickModel:
    """The expected reward of a document at a position, between 0 and 1: x.b + a_p."""

    def __init__(self, features: Floats, positions: Ints, reward: Floats, *, length: int) -> None:
        d = features.shape[1]
        design = np.zeros((len(features), d + length))
        design[:, :d] = features
        design[np.arange(len(features)), d + positions] = 1.0
        gram = design.T @ design + RIDGE * np.eye(d + length)
        weights = np.linalg.solve(gram, design.T @ reward)
        self.weights, self.places = weights[:d], weights[d:]

    def predict(self, features: Floats) -> Floats:
        """(n, length) for documents with these features (n, d)."""
        return np.asarray(np.clip((features @ self.weights)[:, None] + self.places, 0.0, 1.0))


def fitted_models(log: BanditLog) -> tuple[list[ClickModel], Ints]:
    """A model for each part of the rounds, fitted to all others, and the part (T,) of each round."""
    parts = np.arange(log.n_rounds) % min(FOLDS, log.n_rounds)
    own, positions, rows = parts[log.rounds], log.positions, log.rows
    models = []
    for part in range(int(parts.max()) + 1):
        others = own != part if log.n_rounds > 1 else np.ones(len(own), dtype=np.bool_)
        features = log.features[rows[others]]
        models.append(ClickModel(features, positions[others], log.reward[others], length=log.length))
    return models, parts
