"""Dueling bandit and multileave gradient descent, written for reading."""

from __future__ import annotations

import numpy as np

from tests.reference.interleaving import expected_sign, probabilistic, random_ties_order, team_draft


class PlainMGD:
    """The loop around interleaving; with one candidate it is DBGD."""

    def __init__(
        self, n_features, *, length=10, candidates=9, interleaving="team-draft", step=1.0, learning_rate=0.01, seed=None
    ):
        self.weights = np.zeros(n_features)
        self.length, self.candidates, self.interleaving = length, candidates, interleaving
        self.step, self.learning_rate = step, learning_rate
        self.rng = np.random.default_rng(seed)

    def rank(self, features):
        directions = [self.rng.standard_normal(len(self.weights)) for _ in range(self.candidates)]
        directions = [direction / np.linalg.norm(direction) for direction in directions]
        models = [self.weights] + [self.weights + self.step * direction for direction in directions]
        lists = [random_ties_order(features @ model, self.rng) for model in models]
        if self.interleaving == "team-draft":
            shown, credit = team_draft(lists, self.rng.random(self.length), self.length)
        else:
            shown, credit = probabilistic(lists, self.length, self.rng)
        return np.array(shown), np.array(credit), np.array(directions)

    def update(self, credit, directions, clicks):
        if self.interleaving == "team-draft":
            counts = [(credit[clicks] == team).sum() for team in range(self.candidates + 1)]
            winners = [i for i in range(self.candidates) if counts[i + 1] > counts[0]]
        else:
            winners = [i for i in range(self.candidates) if preference(credit[clicks], i + 1, 0, self.rng) > 1e-12]
        if winners:
            self.weights = self.weights + self.learning_rate * directions[winners].mean(axis=0)


def preference(chances, ranker, base, rng):
    """The expected sign over all assignments, or over a thousand drawn ones where there are too many."""
    if chances.shape[1] ** len(chances) <= 1024:
        return expected_sign(chances, ranker, base)
    shares = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
    drawn = (rng.random((1000, len(chances), 1)) > shares).sum(axis=2)
    return np.sign((drawn == ranker).sum(axis=1) - (drawn == base).sum(axis=1)).mean()
