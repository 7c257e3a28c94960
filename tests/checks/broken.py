"""A small sound ranker, and one broken one for every promise of the contract."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairexp.ranker import Ranker


class Sound(Ranker):
    """A small ranker that keeps every promise: it averages the features of clicked documents."""

    def __init__(self, n_features=5, *, length=10, seed=None):
        super().__init__(n_features, length=length, seed=seed)
        self.weights = np.zeros(n_features)

    def _rank(self, query, rng):
        keys = rng.random(query.n_candidates)
        scores = self._score(query.features)
        shown = np.lexsort((keys, -np.round(scores, 1)))[: self.length]
        return self._show(query, shown, scores, memory={"keys": keys[shown]})

    def _update(self, ranking, clicks):
        if clicks.any():
            clicked = np.clip(ranking.features[clicks], -1.0, 1.0)
            self.weights = 0.9 * self.weights + 0.1 * clicked.mean(axis=0) * ranking.memory["keys"].mean()

    def _score(self, features):
        return np.clip(features, -1.0, 1.0) @ self.weights

    def _state(self):
        return {"weights": self.weights.copy()}

    def _restore(self, arrays):
        self.weights = np.array(arrays["weights"])


class ShowsTooMany(Sound):
    def _rank(self, query, rng):
        self.length += 1
        try:
            return super()._rank(query, rng)
        finally:
            self.length -= 1


class IgnoresShorter(Sound):
    def _rank(self, query, rng):
        built_with, self.length = self.length, 10
        try:
            return super()._rank(query, rng)
        finally:
            self.length = built_with


class StaysShort(Sound):
    def _shortened(self, length):
        shorter = super()._shortened(length)
        self.length = length
        return shorter


class TakesLonger(Sound):
    def _shortened(self, length):
        return super()._shortened(min(max(length, 1), self.length))


class ShowsTwice(Sound):
    def _rank(self, query, rng):
        ranking = super()._rank(query, rng)
        shown = ranking.shown.copy()
        shown[-1] = shown[0]
        return self._show(query, shown, self._score(query.features), memory=ranking.memory)


class ShowsOthers(Sound):
    def _rank(self, query, rng):
        ranking = super()._rank(query, rng)
        return replace(ranking, shown=ranking.shown + 1)


class MixesFeatures(Sound):
    def _rank(self, query, rng):
        ranking = super()._rank(query, rng)
        return replace(ranking, features=ranking.features[::-1].copy())


class FailsOnOne(Sound):
    def _rank(self, query, rng):
        if query.n_candidates == 1:
            raise IndexError("no second candidate")
        return super()._rank(query, rng)


class ShowsNaN(Sound):
    def _rank(self, query, rng):
        ranking = super()._rank(query, rng)
        return replace(ranking, scores=np.full(len(ranking), np.nan))


class ScoresColumn(Sound):
    def score(self, features):
        return super().score(features)[:, None]


class ScoresAtRandom(Sound):
    def score(self, features):
        return super().score(features) + np.random.default_rng().random()


class LearnsByScoring(Sound):
    def score(self, features):
        scores = super().score(features)
        self.n_ranked += 1
        return scores


class PretendsNotToScore(Sound):
    scores_unseen = False


class IgnoresItsSeed(Sound):
    def __init__(self, n_features=5, *, length=10, seed=None):
        super().__init__(n_features, length=length, seed=None)


class SharesItsRandomness(Sound):
    shared = np.random.default_rng(0)

    def _rank(self, query, rng):
        return super()._rank(query, self.shared)


class SharesItsWeights(Sound):
    common = np.zeros(5)

    def _update(self, ranking, clicks):
        self.common += 10.0 * ranking.features.mean(axis=0) - 5.0

    def _score(self, features):
        return features @ self.common


class ScalesInPlace(Sound):
    def _rank(self, query, rng):
        ranking = super()._rank(query, rng)
        query.features[:] *= 0.5
        return replace(ranking, features=query.features[ranking.shown])


class ClearsClicks(Sound):
    def update(self, ranking, clicks):
        super().update(ranking, clicks)
        if len(clicks) > 2 and len(clicks) == len(ranking) and np.asarray(clicks).dtype == bool:
            clicks[:] = False


class UsesUpMemory(Sound):
    def _update(self, ranking, clicks):
        super()._update(ranking, clicks)
        ranking.memory["keys"][:] = 0.0


class WantsOrder(Sound):
    expected = 0

    def _update(self, ranking, clicks):
        if ranking.number < self.expected:
            raise RuntimeError(f"feedback for ranking {ranking.number} came after {self.expected}")
        self.expected = ranking.number
        super()._update(ranking, clicks)


class RemembersRankings(Sound):
    """Keeps what it needs for learning in itself, so that a restored copy does not have it."""

    def __init__(self, n_features=5, *, length=10, seed=None):
        super().__init__(n_features, length=length, seed=seed)
        self.waiting = {}

    def _rank(self, query, rng):
        ranking = super()._rank(query, rng)
        self.waiting[self.n_ranked] = ranking.memory
        return replace(ranking, memory={})

    def _update(self, ranking, clicks):
        super()._update(replace(ranking, memory=self.waiting[ranking.number]), clicks)


class ForgetsWeights(Sound):
    def _state(self):
        return {}

    def _restore(self, arrays):
        pass


class RoundsWeights(Sound):
    def _state(self):
        return {"weights": self.weights.round(3)}


class ForgetsRate(Sound):
    """Its second piece of learning, a rate, is not in the state."""

    rate = 1.0

    def _update(self, ranking, clicks):
        super()._update(ranking, clicks)
        self.rate *= 0.9
        self.weights = self.weights * self.rate


class CountsWhileRanking(Sound):
    """Takes note of what it shows in _rank, where a replay does not come by."""

    def _rank(self, query, rng):
        self.weights = self.weights + 1e-3
        return super()._rank(query, rng)


class StoresObjects(Sound):
    def _state(self):
        return {"weights": self.weights.copy(), "note": np.array([None], dtype=object)}


class StoresLists(Sound):
    def _state(self):
        return {"weights": self.weights.tolist()}


class HandsOutItsWeights(Sound):
    def _update(self, ranking, clicks):
        before = self.weights
        super()._update(ranking, clicks)
        before[:] = self.weights
        self.weights = before

    def _state(self):
        return {"weights": self.weights}


class TakesOverArrays(Sound):
    def _update(self, ranking, clicks):
        before = self.weights
        super()._update(ranking, clicks)
        before[:] = self.weights
        self.weights = before

    def _restore(self, arrays):
        self.weights = arrays["weights"]


class GrowsInState(Sound):
    def __init__(self, n_features=5, *, length=10, seed=None):
        super().__init__(n_features, length=length, seed=seed)
        self.history = np.zeros(0)

    def _update(self, ranking, clicks):
        super()._update(ranking, clicks)
        self.history = np.append(self.history, clicks.sum())

    def _state(self):
        return {**super()._state(), "history": self.history.copy()}

    def _restore(self, arrays):
        super()._restore(arrays)
        self.history = np.array(arrays["history"])

    def fits(self, key, value, expected):
        return key == "history" or super().fits(key, value, expected)


class GrowsInSecret(Sound):
    def __init__(self, n_features=5, *, length=10, seed=None):
        super().__init__(n_features, length=length, seed=seed)
        self.log = []

    def _update(self, ranking, clicks):
        super()._update(ranking, clicks)
        self.log.append(clicks)


class SaysThatItGrows(GrowsInState):
    keeps_history = True


class DividesByLength(Sound):
    """NaN weights as soon as all features of a clicked document are zero."""

    def _update(self, ranking, clicks):
        with np.errstate(all="ignore"):
            clicked = ranking.features[clicks]
            self.weights = self.weights + (clicked / np.linalg.norm(clicked, axis=1)[:, None]).sum(axis=0)

    def _score(self, features):
        return np.zeros(len(features))


class TakesAnyWidth(Sound):
    def _check_query(self, query):
        pass

    def _score(self, features):
        return np.clip(features[:, : self.n_features], -1.0, 1.0) @ self.weights


class TakesAnyClicks(Sound):
    def update(self, ranking, clicks):
        self._check_ours(ranking)
        clicks = np.resize(np.nan_to_num(np.asarray(clicks)).astype(bool), len(ranking))
        self._update(ranking, clicks)


class TakesNaN(Sound):
    def score(self, features):
        return self._score(np.nan_to_num(np.asarray(features))[:, : self.n_features])


class RefusesTooLate(Sound):
    def rank(self, query):
        self.weights = self.weights + 1e-9
        return super().rank(query)


class RaisesOthers(Sound):
    def _check_query(self, query):
        if query.features.shape[1] != self.n_features:
            raise TypeError("wrong width")


class RestoresAnything(Sound):
    def restore(self, arrays):
        return super().restore({**self.state(), **arrays})


class TakesForeign(Sound):
    def _check_ours(self, ranking):
        pass


class MixesUpFeatures(Sound):
    def _take_over(self, before, remap):
        self.weights = before.weights.copy()


class StartsCountingAnew(Sound):
    def take_over(self, before, remap):
        self.weights = remap.weights(before.weights)
        return self
