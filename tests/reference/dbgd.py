"""Dueling bandits and both interleavings, written for reading."""

from __future__ import annotations

from itertools import product

import numpy as np


def random_ties_order(scores, rng):
    """Documents from the highest score down; equals in random order."""
    return np.lexsort((rng.random(len(scores)), -np.asarray(scores)))


def team_draft(current, rival, coins, length):
    """Documents and teams (0 nobody, -1 current, 1 rival) of two full lists; `coins[turn]`: the rival begins."""
    current, rival = list(current), list(rival)
    shown, team = [], []
    length = min(length, len(current))
    while len(shown) < length and current[len(shown)] == rival[len(shown)]:
        team.append(0)
        shown.append(current[len(shown)])
    turn = 0
    while len(shown) < length:
        order = [(rival, 1), (current, -1)] if coins[turn] else [(current, -1), (rival, 1)]
        for documents, name in order:
            if len(shown) < length:
                shown.append(next(document for document in documents if document not in shown))
                team.append(name)
        turn += 1
    return shown, team


def rank_softmax(order, left, power=3):
    """Probability of each document (n,) under 1/rank^power among the documents `left`."""
    chances = np.zeros(len(order))
    for rank, document in enumerate(order):
        if document in left:
            chances[document] = 1.0 / (rank + 1) ** power
    return chances / chances.sum()


def probabilistic(current, rival, length, rng):
    """Documents and the chance that the rival placed each."""
    left = set(range(len(current)))
    shown, chance = [], []
    for _ in range(min(length, len(current))):
        by_current, by_rival = rank_softmax(current, left), rank_softmax(rival, left)
        document = int(rng.choice(len(current), p=(by_current + by_rival) / 2))
        shown.append(document)
        chance.append(by_rival[document] / (by_current[document] + by_rival[document]))
        left.remove(document)
    return shown, chance


def expected_sign(chance):
    """E sign(rival's clicks - current's clicks), by going through all 2^c assignments."""
    total = 0.0
    for assignment in product((0, 1), repeat=len(chance)):
        probability = np.prod([p if a else 1 - p for a, p in zip(assignment, chance, strict=True)])
        total += probability * np.sign(2 * sum(assignment) - len(chance))
    return total


class PlainDBGD:
    """The loop around them."""

    def __init__(self, n_features, *, length=10, interleaving="team-draft", step=1.0, learning_rate=0.01, seed=None):
        self.weights = np.zeros(n_features)
        self.length, self.interleaving = length, interleaving
        self.step, self.learning_rate = step, learning_rate
        self.rng = np.random.default_rng(seed)

    def rank(self, features):
        direction = self.rng.standard_normal(len(self.weights))
        direction /= np.linalg.norm(direction)
        current = random_ties_order(features @ self.weights, self.rng)
        rival = random_ties_order(features @ (self.weights + self.step * direction), self.rng)
        if self.interleaving == "team-draft":
            shown, credit = team_draft(current, rival, self.rng.random(self.length) < 0.5, self.length)
        else:
            shown, credit = probabilistic(current, rival, self.length, self.rng)
        return np.array(shown), np.array(credit), direction

    def update(self, credit, direction, clicks):
        credit = credit[clicks]
        wins = credit.sum() > 0 if self.interleaving == "team-draft" else expected_sign(credit) > 1e-12
        if wins:
            self.weights = self.weights + self.learning_rate * direction
