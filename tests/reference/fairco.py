"""FairCo with the ridge regression solved anew in every round."""

from __future__ import annotations

import numpy as np


class PlainFairCo:
    def __init__(
        self, n_features, *, length=10, exposure, merit, control=0.01, regularization=1.0, clip=0.01, seed=None
    ):
        self.length, self.exposure, self.merit = length, np.asarray(exposure), np.asarray(merit, dtype=float)
        self.control, self.clip = control, clip
        self.matrix = regularization * np.eye(n_features)
        self.moment = np.zeros(n_features)
        self.spent = np.zeros(len(self.merit))
        self.rng = np.random.default_rng(seed)

    @property
    def weights(self):
        return np.linalg.solve(self.matrix, self.moment)

    def rank(self, features, groups):
        per_merit = self.spent / self.merit
        lifted = features @ self.weights + self.control * np.array([per_merit.max() - per_merit[g] for g in groups])
        shown = np.lexsort((self.rng.random(len(lifted)), -lifted))[: self.length]
        for position, document in enumerate(shown):
            self.spent[groups[document]] += self.exposure[position]
        return shown

    def update(self, features, clicks):
        for position, (row, click) in enumerate(zip(features, clicks, strict=True)):
            self.matrix += np.outer(row, row)
            self.moment += row * click / max(self.exposure[position], self.clip)
