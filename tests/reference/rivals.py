"""The rivals in plain NumPy: the regression solved anew in every round, and each choice as its paper writes it."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np


class PlainRival:
    """Relevance by least squares on clicks over exposure, exposure by group, and a rule that chooses."""

    def __init__(self, choose, n_features, *, length=10, n_groups=2, regularization=1.0, clip=0.01, seed=0):
        self.choose, self.length, self.clip = choose, length, clip
        self.curve = 1.0 / np.arange(1, length + 1)
        self.matrix, self.moment = regularization * np.eye(n_features), np.zeros(n_features)
        self.spent, self.merit = np.zeros(n_groups), np.ones(n_groups)
        self.by_position, self.prices = np.zeros((n_groups, length)), np.zeros(n_groups)
        self.templates = []
        self.rng = np.random.default_rng(seed)

    def rank(self, features, groups):
        scores = features @ np.linalg.solve(self.matrix, self.moment)
        shown = np.asarray(self.choose(self, scores, groups))
        for position, document in enumerate(shown):
            self.spent[groups[document]] += self.curve[position]
            self.by_position[groups[document], position] += self.curve[position]
        return shown

    def update(self, features, clicks):
        for position, (row, click) in enumerate(zip(features, clicks, strict=True)):
            self.matrix += np.outer(row, row)
            self.moment += row * click / max(self.curve[position], self.clip)


def top(scores, ranker):
    return np.lexsort((ranker.rng.random(len(scores)), -scores))[: ranker.length]


def mcfair(ranker, scores, groups):
    spent, merit = ranker.spent, ranker.merit
    pairs = list(product(range(len(spent)), repeat=2))
    slope = np.zeros(len(spent))
    for i, j in pairs:
        slope[i] += 2.0 * (spent[i] * merit[j] - spent[j] * merit[i]) * merit[j]
        slope[j] -= 2.0 * (spent[i] * merit[j] - spent[j] * merit[i]) * merit[i]
    lift = -0.1 * slope / (np.abs(slope).max() + 1e-10) + 5.0 / np.maximum(spent**2, 0.1)
    return top(scores + np.array([lift[g] for g in groups]), ranker)


def offr(ranker, scores, groups):
    due = ranker.merit / ranker.merit.sum()
    shares = ranker.spent / max(ranker.spent.sum(), 1e-300)
    apart = shares / due - (shares / due).mean()
    uphill = -apart / (len(due) * due) / np.sqrt(0.01 + (apart**2).mean())
    return top(0.5 * scores + 0.5 * np.array([uphill[g] for g in groups]), ranker)


def p_mmf(ranker, scores, groups):
    chosen = top(scores - np.array([ranker.prices[g] for g in groups]), ranker)
    chosen = np.array(sorted(chosen, key=lambda document: -scores[document]))
    due = ranker.merit / ranker.merit.sum()
    had = np.zeros(len(due))
    for position, document in enumerate(chosen):
        had[groups[document]] += ranker.curve[position] / ranker.curve.sum()
    weighed = due * (ranker.prices - 0.01 * (2.0 * due - had) / due**2)
    low, high = 0.0, 1e3
    while high - low > 1e-12 and np.maximum(-weighed, 0.0).sum() > 1.0:  # the threshold by halving
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.maximum(-weighed - middle, 0.0).sum() > 1.0 else (low, middle)
    ranker.prices = (np.maximum(weighed, 0.0) - np.maximum(-weighed - low, 0.0)) / due
    return chosen


def mmf(ranker, scores, groups):
    left, shown, now = set(range(len(scores))), [], np.zeros(len(ranker.spent))
    for position in range(min(ranker.length, len(scores))):
        candidates = left
        if ranker.rng.random() < 0.5:
            had = (ranker.by_position[:, : position + 1].sum(axis=1) + now) / ranker.merit
            worst = min({groups[document] for document in left}, key=lambda g: had[g])
            candidates = {document for document in left if groups[document] == worst}
        best = max(candidates, key=lambda document: scores[document])
        now[groups[best]] += ranker.curve[position]
        shown.append(best)
        left.remove(best)
    return shown


def xquad(ranker, scores, groups):
    due = ranker.merit / ranker.merit.sum()
    left, shown = set(range(len(scores))), []
    for position in range(min(ranker.length, len(scores))):
        counts = np.bincount(groups[np.array(shown, dtype=int)], minlength=len(due)) / max(position, 1)
        value = {d: 0.5 * scores[d] + 0.5 * due[groups[d]] * (1.0 - counts[groups[d]]) for d in left}
        best = max(value, key=value.__getitem__)
        shown.append(best)
        left.remove(best)
    return shown


def ears(ranker, scores, groups):
    shown = top(scores, ranker)
    rates, patience, n_shuffled = np.clip(scores[shown], 0.0, 1.0), 0.9, 0
    k, first = len(rates), None
    for n in range(1, k + 1):
        left = 0.0
        for kept in product((False, True), repeat=n):
            size, passed = sum(kept), np.prod(1.0 - rates[:n][np.array(kept)])
            left += passed / comb(n, size) * patience**size * (1.0 if size == k else 1.0 - patience)
        for size in range(n + 1, k + 1):
            passed = np.prod(1.0 - rates[:size])
            left += passed * patience**size * (1.0 if size == k else 1.0 - patience)
        first = 1.0 - left if first is None else first
        if 1.0 - left < 0.98 * first:
            break
        n_shuffled = n
    shown[:n_shuffled] = ranker.rng.permutation(shown[:n_shuffled])
    return shown


def fara(ranker, scores, groups, n_lists=100):
    if not ranker.templates:
        total = n_lists * ranker.curve.sum()
        quota = np.clip(0.5 * (total + ranker.spent.sum()) - ranker.spent, 0.0, total)  # two groups of equal merit
        ranker.templates = plain_vertical_lists(quota, [0, 1], ranker.curve, n_lists, False)
        ranker.rng.shuffle(ranker.templates)
    left, shown = set(range(len(scores))), []
    for group in ranker.templates.pop()[: len(scores)]:
        candidates = {document for document in left if groups[document] == group} or left
        best = max(candidates, key=lambda document: scores[document])
        shown.append(best)
        left.remove(best)
    return shown


def plain_vertical_lists(quota, order, curve, n_lists, once):
    quota, lists = list(quota), [[] for _ in range(n_lists)]
    for amount in curve:
        for chosen in lists:
            free = [unit for unit in order if not (once and unit in chosen)]
            able = [unit for unit in free if quota[unit] > amount / 2]
            unit = able[0] if able else max(free, key=lambda one: quota[one])
            quota[unit] = max(quota[unit] - amount, 0.0)
            chosen.append(int(unit))
    return lists
