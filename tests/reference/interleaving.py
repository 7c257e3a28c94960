"""Interleaving of any number of lists, written for reading."""

from __future__ import annotations

from itertools import product

import numpy as np


def team_draft(lists, coins, length):
    """Documents and teams (-1 nobody) of lists; `coins[position]` chooses among those whose turn is to come."""
    lists = [list(each) for each in lists]
    length = min(length, len(set().union(*lists)))
    shown, team = [], []
    while len(shown) < length and len({tuple(each[: len(shown) + 1]) for each in lists}) == 1:
        team.append(-1)
        shown.append(lists[0][len(shown)])
    waiting = []
    while len(shown) < length:
        part = coins[len(shown)]
        while True:
            waiting = waiting or list(range(len(lists)))
            part *= len(waiting)
            at = int(part)
            part -= at
            ranker, waiting[at] = waiting[at], waiting[-1]
            waiting.pop()
            left = [document for document in lists[ranker] if document not in shown]
            if left:
                break
        shown.append(left[0])
        team.append(ranker)
    return shown, team


def rank_softmax(order, left, power=3):
    """Probability of each document (n,) under 1/rank^power among the documents `left`; all 0 if none is listed."""
    chances = np.zeros(max(max(order, default=-1), max(left, default=-1)) + 1)
    for rank, document in enumerate(order):
        if document in left:
            chances[document] = 1.0 / (rank + 1) ** power
    return chances / chances.sum() if chances.any() else chances


def probabilistic(lists, coins):
    """Documents, and the chance (m, r) of each ranker to place each.

    `coins[position]` says whose turn it is, and what is left of it which document that ranker draws.
    """
    left = set().union(*(map(int, each) for each in lists))
    shown, chances = [], []
    for coin in coins[: len(left)]:
        each = [rank_softmax(order, left) for order in lists]
        able = [at for at in range(len(lists)) if each[at].any()]
        part = coin * len(able)
        drawing = able[int(part)]
        reached = 0.0
        for document in (int(one) for one in lists[drawing] if one in left):
            reached += each[drawing][document]
            if reached > part - int(part):
                break
        shown.append(document)
        chances.append([own[document] for own in each])
        left.remove(document)
    return shown, np.array(chances)


def chances_of(lists, shown):
    """The chance (m, r) of each ranker to place each of the documents `shown`."""
    left = set().union(*(map(int, each) for each in lists))
    chances = []
    for document in shown:
        chances.append([rank_softmax(order, left)[document] for order in lists])
        left.remove(document)
    return np.array(chances)


def expected_sign(chances, ranker, base):
    """E sign(clicks of `ranker` - clicks of `base`), by going through all r^c assignments of clicked documents."""
    shares = chances / chances.sum(axis=1, keepdims=True)
    total = 0.0
    for assignment in product(range(chances.shape[1]), repeat=len(chances)):
        probability = np.prod([shares[at, owner] for at, owner in enumerate(assignment)])
        total += probability * np.sign(assignment.count(ranker) - assignment.count(base))
    return total
