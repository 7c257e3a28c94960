"""Rankings with their clicks, kept so that new rankers can be judged by them."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Bools, Floats, State
from fairexp.errors import StateError
from fairexp.interleaving.probabilistic import RANK_POWER
from fairexp.kernels.algebra.linear import rival_scores
from fairexp.kernels.gradient.replays import replay_lists, said
from fairexp.remap import Remap

NAMES = ("features", "clicks", "size", "length", "log_chance")


class History:
    """The last lists with clicks, each with its first documents shown, in order, and then other candidates.

    Of each (h,): `features` (h, c, d) of which the first `size` are there and the first `length` were shown, `clicks`
    (h, k), and `log_chance`, the logarithm of the probability with which the rankers of that round made the list. `now`
    counts all that were ever added.
    """

    def __init__(self, capacity: int, length: int, n_candidates: int, n_features: int) -> None:
        self.features: Floats = np.zeros((capacity, max(n_candidates, length), n_features))
        self.clicks = np.zeros((capacity, length), dtype=np.bool_)
        self.size = np.zeros(capacity, dtype=np.int64)
        self.length = np.zeros(capacity, dtype=np.int64)
        self.log_chance = np.zeros(capacity)
        self.now = 0

    def __len__(self) -> int:
        return min(self.now, len(self.size))

    def add(self, features: Floats, clicks: Bools, log_chance: float) -> None:
        """Add a list: `features` (n, d) of those shown and others, and `clicks` (m,); the oldest makes room."""
        place = self.now % len(self.size)
        n, m = len(features), len(clicks)
        self.features[place], self.clicks[place] = 0.0, False
        self.features[place, :n], self.clicks[place, :m] = features, clicks
        self.size[place], self.length[place], self.log_chance[place] = n, m, log_chance
        self.now += 1

    @property
    def n_candidates(self) -> int:
        """How many candidates are kept of a list."""
        return int(self.features.shape[1])

    def chances(self, weights: Floats, directions: Floats, step: float, keys: Floats) -> Floats:
        """The chances (h, k, c) with which rivals in `directions` (c, d) would have placed each list's documents.

        `keys` (n,) settle ties between the candidates of a list.
        """
        h, (_, n, d) = len(self), self.features.shape
        scores = rival_scores(self.features[:h].reshape(h * n, d), weights, directions, step)[1:]
        return replay_lists(scores, keys, self.size[:h], self.length[:h], RANK_POWER, self.clicks.shape[1])

    def said(self, chances: Floats, one: int, other: int) -> Floats:
        """What each list (h,) says of two rankers of those with `chances` (h, k, r): above 0 the other is better.

        The preference by its clicks, had the two made this list, times how much more likely the two were to make it
        than those who did: its mean over the lists that those would show is that of a live comparison.
        """
        h = len(self)
        return said(chances, self.clicks[:h], self.length[:h], self.log_chance[:h], one, other)

    def take_over(self, before: History, remap: Remap) -> None:
        """Be what `before` was, as if with the present features."""
        if before.features.shape[:2] != self.features.shape[:2] or before.clicks.shape != self.clicks.shape:
            raise StateError(
                "ranker: what was kept of past lists cannot be taken over with other values of history, max_candidates "
                "or length; give both rankers the same"
            )
        rows = remap.rows(before.features.reshape(-1, before.features.shape[2]))
        self.restore({**before.state(), "history.features": rows.reshape(*before.features.shape[:2], -1)})

    def state(self) -> State:
        """All of it, as arrays."""
        own: State = {f"history.{name}": getattr(self, name).copy() for name in NAMES}
        return {**own, "history.now": np.array(self.now)}

    def restore(self, arrays: State) -> None:
        """Be what `state` returned elsewhere."""
        for name in NAMES:
            setattr(self, name, np.array(arrays[f"history.{name}"], dtype=getattr(self, name).dtype))
        self.now = int(arrays["history.now"])


def chances_of(scores: Floats, keys: Floats, m: int) -> Floats:
    """The chances (m, r) with which each ranker would have placed the first `m` documents, given `scores` (r, n)."""
    chances: Floats = replay_lists(scores, keys, np.array([len(keys)]), np.array([m]), RANK_POWER, m)[0]
    return chances
