"""PDGD as its paper writes it: probabilities of whole rankings, one pair at a time, no logarithms."""

from __future__ import annotations

import numpy as np


def log_probability(ranking, scores):
    """log P(ranking) under Plackett-Luce on e^score over all candidates, down to the shown length."""
    total = 0.0
    left = list(range(len(scores)))
    for document in ranking:
        waiting = np.asarray(scores)[left]
        total += scores[document] - waiting.max() - np.log(np.exp(waiting - waiting.max()).sum())
        left.remove(document)
    return total


def log_probability_in_template(ranking, scores, groups):
    """log P(ranking) where each group (n,) fills its own positions: the product of the groups' own probabilities."""
    total = 0.0
    for group in set(groups):
        members = [i for i in range(len(scores)) if groups[i] == group]
        own = [members.index(document) for document in ranking if groups[document] == group]
        total += log_probability(own, np.asarray(scores)[members])
    return total


def gradient(features, display_scores, scores, shown, clicks, groups=None):
    """The gradient (d,) from clicks (m,) on documents `shown` (m,) of candidates with `features` (n, d).

    With `groups` (n,), of pairs inside a group, whose documents were drawn for that group's positions.
    """
    groups = np.zeros(len(features), dtype=int) if groups is None else groups
    clicked = np.flatnonzero(clicks)
    result = np.zeros(features.shape[1])
    if len(clicked) == 0:
        return result
    examined = range(min(clicked[-1] + 2, len(shown)))
    for a in clicked:
        for b in examined:
            if clicks[b] or groups[shown[a]] != groups[shown[b]]:
                continue
            swapped = np.array(shown)
            swapped[[a, b]] = swapped[[b, a]]
            log_odds = log_probability_in_template(swapped, display_scores, groups)
            log_odds -= log_probability_in_template(shown, display_scores, groups)
            rho = 1.0 / (1.0 + np.exp(-log_odds))
            i, j = shown[a], shown[b]
            slope = np.exp(scores[i]) * np.exp(scores[j]) / (np.exp(scores[i]) + np.exp(scores[j])) ** 2
            result += rho * slope * (features[i] - features[j])
    return result


class PlainPDGD:
    """The loop around it: draw documents one by one, then climb."""

    def __init__(self, n_features, *, length=10, learning_rate=0.1, seed=None):
        self.weights = np.zeros(n_features)
        self.length = length
        self.learning_rate = learning_rate
        self.rng = np.random.default_rng(seed)

    def rank(self, features):
        scores = features @ self.weights
        left = np.arange(len(scores))
        shown = []
        for _ in range(min(self.length, len(scores))):
            chances = np.exp(scores[left] - scores[left].max())
            document = self.rng.choice(left, p=chances / chances.sum())
            shown.append(document)
            left = left[left != document]
        return np.array(shown), scores

    def update(self, features, shown, display_scores, clicks):
        scores = features @ self.weights
        self.weights = self.weights + self.learning_rate * gradient(features, display_scores, scores, shown, clicks)


class PlainNeuralPDGD:
    """The same with a network of one layer of sigmoid units, and gradients of one document at a time."""

    def __init__(self, n_features, *, length=10, hidden=64, learning_rate=0.01, seed=None):
        self.rng = np.random.default_rng(seed)
        self.layer = self.rng.standard_normal((hidden, n_features)) / np.sqrt(n_features)
        self.biases = np.zeros(hidden)
        self.output = self.rng.standard_normal(hidden) / np.sqrt(hidden)
        self.length, self.learning_rate = length, learning_rate

    def activity(self, features):
        return 1.0 / (1.0 + np.exp(-(features @ self.layer.T + self.biases)))

    def rank(self, features):
        scores = self.activity(features) @ self.output
        left = np.arange(len(scores))
        shown = []
        for _ in range(min(self.length, len(scores))):
            chances = np.exp(scores[left] - scores[left].max())
            document = self.rng.choice(left, p=chances / chances.sum())
            shown.append(document)
            left = left[left != document]
        return np.array(shown), scores

    def update(self, features, shown, display_scores, clicks):
        activity = self.activity(features)
        factors = gradient(np.eye(len(features)), display_scores, activity @ self.output, shown, clicks)
        layer, biases, output = np.zeros_like(self.layer), np.zeros_like(self.biases), np.zeros_like(self.output)
        for document in shown:
            inner = factors[document] * self.output * activity[document] * (1.0 - activity[document])
            layer += np.outer(inner, features[document])
            biases += inner
            output += factors[document] * activity[document]
        self.layer = self.layer + self.learning_rate * layer
        self.biases = self.biases + self.learning_rate * biases
        self.output = self.output + self.learning_rate * output
