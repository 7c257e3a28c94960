"""Model-space explorers as their papers tell them: one model, one list, one assignment at a time."""

from __future__ import annotations

import numpy as np

from tests.reference.interleaving import chances_of, expected_sign, probabilistic, team_draft


class PlainRivals:
    """Lists of the current model and of rivals near it are mixed, and it moves the mean way of those that win.

    `rng` gives the random numbers of a round. With one candidate it is DBGD, with more MGD, or P-MGD where lists are
    mixed by chance.
    """

    first = 0  # 1 where the current model's own list is not in the mix

    def __init__(self, n_features, *, length=10, candidates=9, interleaving="team-draft", step=1.0, learning_rate=0.01):
        self.weights = np.zeros(n_features)
        self.length, self.candidates, self.interleaving = length, candidates, interleaving
        self.step, self.learning_rate = step, learning_rate
        self.sampler = np.random.default_rng(0)

    def directions(self, features, rng):
        return unit_vectors(self.candidates, len(self.weights), rng)

    def described(self, features):
        """What models weigh of each document: its features."""
        return features

    def rank(self, features, rng):
        directions = self.directions(features, rng)
        models = [self.weights] + [self.weights + self.step * direction for direction in directions]
        n, m = len(features), min(self.length, len(features))
        uniforms = rng.random(n + m)
        lists = [np.lexsort((uniforms[:n], -(self.described(features) @ model))) for model in models]
        if self.interleaving == "team-draft":
            shown, credit = team_draft(lists[self.first :], uniforms[n:], m)
        else:
            shown, credit = probabilistic(lists[self.first :], uniforms[n:])
        return np.array(shown), np.array(credit), directions

    def leads(self, credit, clicks, n_contestants):
        """By how much each contestant leads the first."""
        if self.interleaving == "team-draft":
            counts = [(credit[clicks] == team).sum() for team in range(n_contestants)]
            return [count - counts[0] for count in counts]
        return [preference(credit[clicks], each, 0, self.sampler) for each in range(n_contestants)]

    def update(self, features, shown, credit, directions, clicks):
        leads = self.leads(credit, clicks, len(directions) + 1)
        winners = [i for i in range(len(directions)) if leads[i + 1] > 1e-12]
        if winners:
            self.learn(features[shown], [directions[i] for i in winners], clicks)

    def learn(self, documents, winning, clicks):
        self.weights = self.weights + self.learning_rate * np.mean(winning, axis=0)


class PlainDPDBGD(PlainRivals):
    first = 1

    def directions(self, features, rng):
        (one,) = unit_vectors(1, len(self.weights), rng)
        return [one, -one]

    def update(self, features, shown, credit, directions, clicks):
        one, other = ((credit[clicks] == team).sum() for team in (0, 1))
        if one != other:
            self.weights = self.weights + self.learning_rate * directions[0 if one > other else 1]


class PlainMPDGD(PlainRivals):
    axes, turn = 4, 0

    def directions(self, features, rng):
        axes = []
        for _ in range(min(self.axes, len(self.weights))):
            axes.append(np.eye(len(self.weights))[self.turn % len(self.weights)])
            self.turn += 1
        return axes + [-axis for axis in axes]


class PlainDSP(PlainRivals):
    """The winning direction as the combination of documents seen that is nearest to it."""

    def __init__(self, n_features, *, viewed=10, **others):
        super().__init__(n_features, candidates=1, **others)
        self.viewed, self.seen = viewed, []

    def update(self, features, shown, credit, directions, clicks):
        super().update(features, shown, credit, directions, clicks)
        if clicks.any():
            last = np.flatnonzero(clicks)[-1]
            self.seen = (self.seen + list(features[shown][: last + 3]))[-self.viewed :]

    def learn(self, documents, winning, clicks):
        last = np.flatnonzero(clicks)[-1]
        span = np.array(list(documents[: last + 3]) + self.seen).T
        inside = span @ np.linalg.lstsq(span, winning[0], rcond=1e-10)[0]
        self.weights = self.weights + self.learning_rate * inside / np.linalg.norm(inside)


class PlainNSGD(PlainRivals):
    """The null space by a singular value decomposition in every round, and hard queries in ten slots."""

    def __init__(self, n_features, *, losers=60, avoided=25, **others):
        super().__init__(n_features, **others)
        self.losers, self.avoided, self.lost = losers, avoided, []
        self.hard, self.now = [None] * 10, 0

    def directions(self, features, rng):
        tried = np.array(unit_vectors(2 * (self.candidates + 1), len(self.weights), rng))
        worst = sorted(self.lost, key=lambda pair: pair[0])[: min(self.avoided, len(self.weights) // 2)]
        if worst:
            _, sizes, rows = np.linalg.svd(np.array([direction for _, direction in worst]))
            null = rows[(sizes > 1e-10).sum() :]
            tried = tried @ null.T @ null
            tried = tried / np.linalg.norm(tried, axis=1, keepdims=True)
        told = np.abs(tried @ features.mean(axis=0))
        return [tried[i] for i in sorted(np.argsort(-told)[: self.candidates])]

    def update(self, features, shown, credit, directions, clicks):
        super().update(features, shown, credit, directions, clicks)
        if not clicks.any():
            return
        self.keep(features[shown], clicks)
        leads = self.leads(credit, clicks, len(directions) + 1)[1:]
        worst = sorted(range(len(directions)), key=lambda i: leads[i])[:4]
        self.lost = (self.lost + [(leads[i], directions[i]) for i in worst if leads[i] < 0])[-self.losers :]

    def keep(self, documents, clicks):
        self.now += 1
        self.hard = [each if each and each[3] > self.now - 50 else None for each in self.hard]
        found = np.mean(1.0 / (1.0 + np.flatnonzero(clicks)))
        easiest = max(range(10), key=lambda slot: np.inf if self.hard[slot] is None else self.hard[slot][2])
        if self.hard[easiest] is None or self.hard[easiest][2] > found:
            self.hard[easiest] = (documents, clicks, found, self.now)

    def learn(self, documents, winning, clicks):
        if len(winning) > 1 and any(self.hard):
            winning = [max(winning, key=self.found_by)]
        super().learn(documents, winning, clicks)

    def found_by(self, direction):
        total = 0.0
        for documents, clicks, _, _ in filter(None, self.hard):
            scores = documents @ (self.weights + self.step * direction)
            for score in scores[clicks]:
                total += 1.0 / (1 + (scores > score).sum())
        return total


class PlainSimMGD(PlainRivals):
    """Models weigh dot products with reference documents: `weights` are by reference, and by feature in `linear`."""

    def __init__(self, n_features, *, references=50, candidates=19, **others):
        super().__init__(n_features, candidates=candidates, interleaving="probabilistic", **others)
        self.references, self.known = references, []
        self.weights = np.zeros(references)

    def described(self, features):
        return features @ np.array(self.known).T if self.is_ready else np.zeros((len(features), self.references))

    @property
    def is_ready(self):
        return len(self.known) == self.references

    @property
    def linear(self):
        return np.array(self.known).T @ self.weights

    def directions(self, features, rng):
        return unit_vectors(self.candidates if self.is_ready else 0, self.references, rng)

    def update(self, features, shown, credit, directions, clicks):
        super().update(features, shown, credit, directions, clicks)
        self.known = (self.known + list(features[shown]))[: self.references]


class PlainCMGD(PlainSimMGD):
    """The same until the weights stand still; then features are weighed."""

    is_linear = False

    def __init__(self, n_features, *, window=10, threshold=0.01, **others):
        super().__init__(n_features, **others)
        self.window, self.threshold, self.past = window, threshold, []

    def described(self, features):
        return features if self.is_linear else super().described(features)

    @property
    def linear(self):
        return self.weights if self.is_linear else super().linear

    def directions(self, features, rng):
        if self.is_linear:
            return unit_vectors(self.candidates, len(self.weights), rng)
        return super().directions(features, rng)

    def update(self, features, shown, credit, directions, clicks):
        super().update(features, shown, credit, directions, clicks)
        if self.is_linear:
            return
        if len(self.past) >= self.window:
            before, now = self.past[-self.window], self.weights
            lengths = np.linalg.norm(before) * np.linalg.norm(now)
            if lengths > 0 and before @ now / lengths > 1 - self.threshold:
                length = np.linalg.norm(now) * np.sqrt(self.references / features.shape[1])
                self.weights = self.linear * length / np.linalg.norm(self.linear)
                self.is_linear = True
        self.past.append(self.weights)


class PlainCPS(PlainRivals):
    """A tournament of random directions on lists with clicks from before, each list drawn and judged by itself."""

    def __init__(self, n_features, *, pool=6, history=10, replays=10, max_candidates=50, **others):
        super().__init__(n_features, candidates=1, interleaving="probabilistic", **others)
        self.pool, self.history, self.replays, self.max_candidates = pool, history, replays, max_candidates
        self.past, self.now = [], 0

    def directions(self, features, rng):
        pool = unit_vectors(self.pool, len(self.weights), rng)
        rng.random(self.max_candidates)  # would settle ties
        coins = rng.random((self.pool - 1, 3))
        lists = len(self.past)
        times = rng.multinomial(self.replays, [1 / lists] * lists, self.pool - 1) if lists else [[]] * len(coins)
        for (first, second, coin), drawn in zip(coins, times, strict=True):
            one = pool.pop(int(first * len(pool)))
            other = pool.pop(int(second * len(pool)))
            outcome = sum(n * self.said(*past, one, other) for n, past in zip(drawn, self.past, strict=True) if n)
            pool.append(other if outcome > 0 or (outcome == 0 and coin < 0.5) else one)
        return pool

    def said(self, candidates, clicks, chance, one, other):
        lists = [np.argsort(-(candidates @ (self.weights + self.step * each))) for each in (one, other)]
        chances = chances_of(lists, range(len(clicks)))
        return preference(chances[clicks], 1, 0, self.sampler) * chances.mean(axis=1).prod() / chance

    def rank(self, features, rng):
        shown, credit, directions = super().rank(features, rng)
        scores = features @ self.weights
        others = [i for i in np.argsort(-scores, kind="stable") if i not in shown]
        kept = [*shown, *others[: max(self.max_candidates - len(shown), 0)]]
        rng.random(len(kept))  # would settle ties
        models = [self.weights, self.weights + self.step * directions[0]]
        lists = [np.argsort(-(features[kept] @ model), kind="stable") for model in models]
        self.shown_now = features[kept], chances_of(lists, range(len(shown))).mean(axis=1).prod()
        return shown, credit, directions

    def update(self, features, shown, credit, directions, clicks):
        super().update(features, shown, credit, directions, clicks)
        if clicks.any():
            candidates, chance = self.shown_now
            if len(self.past) < self.history:
                self.past.append(None)
            self.past[self.now % self.history] = (candidates, clicks, chance)
            self.now += 1


def unit_vectors(n, d, rng):
    vectors = [rng.standard_normal(d) for _ in range(n)]
    return [vector / np.linalg.norm(vector) for vector in vectors]


def preference(chances, ranker, base, rng):
    """The expected sign of clicks over all assignments to the two and the rest, or over a thousand drawn ones."""
    shares = chances / chances.sum(axis=1, keepdims=True)
    if ranker == base or not len(chances):
        return 0.0
    if len(chances) <= 4:
        two = shares[:, [ranker, base]]
        return expected_sign(np.column_stack([two, 1.0 - two.sum(axis=1)]), 0, 1)
    drawn = (rng.random((1000, len(chances), 1)) > np.cumsum(shares, axis=1)).sum(axis=2)
    return np.sign((drawn == ranker).sum(axis=1) - (drawn == base).sum(axis=1)).mean()
