"""PairRank by the book: pair by pair, with a graph for the blocks."""

from __future__ import annotations

import numpy as np


def certain_orders(scores, features, inverse, alpha):
    """[i, j] where sigma(s_i - s_j) - alpha ||x_i - x_j|| > 1/2, one pair at a time."""
    n = len(scores)
    certain = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(n):
            if i != j:
                difference = features[i] - features[j]
                width = alpha * np.sqrt(max(difference @ inverse @ difference, 0.0))
                certain[i, j] = 1 / (1 + np.exp(-(scores[i] - scores[j]))) - width > 0.5
    return certain


def blocks(certain):
    """Block number of each document by the paper's construction: components of the uncertain graph, merged while
    certain orders between them form a cycle, then sorted topologically."""
    n = len(certain)
    label = np.arange(n)
    changed = True
    while changed:
        changed = False
        for i in range(n):
            for j in range(n):
                if i == j or label[i] == label[j]:
                    continue
                uncertain = not certain[i, j] and not certain[j, i]
                if uncertain or _ordered(certain, label, label[i], label[j]) == 0:
                    label[label == label[j]] = label[i]
                    changed = True
    order = sorted(set(label), key=lambda a: sum(_ordered(certain, label, b, a) > 0 for b in set(label) if b != a))
    return np.array([order.index(a) for a in label])


def _ordered(certain, label, a, b):
    """1 if all of component a stands above all of b, -1 the other way round, 0 if they are entangled."""
    above = certain[np.ix_(label == a, label == b)]
    below = certain[np.ix_(label == b, label == a)]
    if above.all():
        return 1
    return -1 if below.all() else 0


def exact_theta(rows, regularization):
    """The minimiser of the summed pairwise logistic loss by Newton's method with a line search."""
    theta = np.zeros(rows.shape[1])

    def value(t):
        return np.logaddexp(0, -rows @ t).sum() + regularization / 2 * t @ t

    for _ in range(200):
        pull = 1 / (1 + np.exp(rows @ theta))
        gradient = regularization * theta - rows.T @ pull
        hessian = regularization * np.eye(len(theta)) + (rows.T * (pull * (1 - pull))) @ rows
        step = -np.linalg.solve(hessian, gradient)
        length = 1.0
        while value(theta + length * step) > value(theta) + 1e-4 * length * gradient @ step and length > 1e-10:
            length /= 2
        theta = theta + length * step
        if np.abs(step).max() < 1e-13:
            break
    return theta
