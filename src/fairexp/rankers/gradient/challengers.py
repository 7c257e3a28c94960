"""What rankers share that try rivals: their lists are interleaved, and the weights move towards those that win."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints
from fairexp.interleaving.probabilistic import RANK_POWER, marginal_preferences
from fairexp.interleaving.team_draft import clicks_by_team
from fairexp.kernels.algebra.linear import linear_scores, rival_scores, scale_to_unit
from fairexp.kernels.gradient.interleaving import draft, draw
from fairexp.randomness import Seed
from fairexp.rankers.gradient_ranker import GradientRanker
from fairexp.remap import Remap
from fairexp.types import Query, Ranking
from fairexp.validation import check_number


class RivalArguments(TypedDict, total=False):
    """What every ranker that tries rivals takes."""

    length: int
    step: float
    learning_rate: float
    decay: float
    seed: Seed


class RivalRanker(GradientRanker):
    """A linear ranker that shows its own list mixed with those of rivals, `step` away from its weights (d,).

    A new one says in which directions the rivals lie (`_directions`). The weights move by `learning_rate` along the
    mean direction of all rivals that the clicks prefer to the current ranker, and the rate is multiplied by `decay`.

    A direction is a sum of few vectors of bounded length, so no feature can make the weights overflow.
    """

    interleaving: str = "team-draft"
    """How lists are mixed: "team-draft" or "probabilistic"."""

    first_contestant: int = 0
    """0 where the current ranker's list is in the mix, 1 where only those of its rivals are."""

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        step: float = 1.0,
        learning_rate: float = 0.01,
        decay: float = 1.0,
        seed: Seed = None,
    ) -> None:
        super().__init__(n_features, length=length, learning_rate=learning_rate, decay=decay, seed=seed)
        self.step = check_number("step", step, above=0.0)

    @abstractmethod
    def _directions(self, query: Query, rng: np.random.Generator) -> Floats:
        """The directions (c, d) in which this round's rivals lie."""

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        memory = self._trial(query, rng)
        scores = rival_scores(query.features, self.weights, memory["directions"], self.step)
        contestants = scores[self.first_contestant :]
        n = query.n_candidates
        m = min(self.length, n)
        shown, uniforms = np.empty(m, dtype=np.int64), rng.random(n + m)
        if self.interleaving == "team-draft":
            credit: NDArray[Any] = np.empty(m, dtype=np.int64)
            draft(contestants, uniforms, shown, credit)
        else:
            credit = np.empty((m, len(contestants)))
            draw(contestants, uniforms[:n], uniforms[n:], RANK_POWER, shown, credit)
        memory["credit"] = credit
        memory.update(self._noted(query, shown, scores, rng))
        return self._show(query, shown, scores[0], memory=memory)

    def _trial(self, query: Query, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """What to remember of this round's rivals: their `directions` (c, d), and whatever else a ranker needs."""
        return {"directions": self._directions(query, rng)}

    def _noted(self, query: Query, shown: Ints, scores: Floats, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """What else to remember of documents `shown` (m,), given all `scores` (1 + c, n): the ranker's, its rivals'."""
        return {}

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        winners = np.flatnonzero(self._lead(ranking, clicks)[1:] > 0.0)
        if winners.size:
            self._learn(ranking, clicks, winners)

    def _lead(self, ranking: Ranking, clicks: Bools | Ints) -> Floats:
        """By how much the clicks prefer each contestant to the first (r,): in clicks, or as an expected sign.

        Where they are graded, which team draft can use, in what they are worth.
        """
        credit = ranking.memory["credit"]
        n_contestants = len(ranking.memory["directions"]) + 1 - self.first_contestant
        if self.interleaving == "team-draft":
            counts = clicks_by_team(np.asarray(credit, dtype=np.int64), clicks, n_contestants)
            return np.asarray(counts - counts[0])
        return marginal_preferences(np.asarray(credit, dtype=np.float64), clicks > 0, base=0)

    def _learn(self, ranking: Ranking, clicks: Bools, winners: Ints) -> None:
        """Learn that the rivals `winners` won."""
        self._move(mean_of(directions_of(ranking), winners))

    def translated_memory(
        self, memory: Mapping[str, NDArray[np.generic]], remap: Remap
    ) -> Mapping[str, NDArray[np.generic]]:
        return {**memory, "directions": weight_rows(np.asarray(memory["directions"], dtype=np.float64), remap)}

    def _score(self, features: Floats) -> Floats:
        scores: Floats = linear_scores(features, self.weights)
        return scores


def unit_vectors(n: int, n_features: int, rng: np.random.Generator) -> Floats:
    """Directions (n, n_features), uniform on the sphere."""
    vectors = rng.standard_normal((n, n_features))
    scale_to_unit(vectors)
    return vectors


def directions_of(ranking: Ranking) -> Floats:
    """The directions (c, d) of the rivals that `ranking` tried."""
    return np.asarray(ranking.memory["directions"], dtype=np.float64)


def mean_of(directions: Floats, winners: Ints) -> Floats:
    """The mean direction (d,) of some of `directions` (c, d)."""
    return np.asarray(directions[winners[0]] if len(winners) == 1 else directions[winners].mean(axis=0))


def weight_rows(before: Floats, remap: Remap) -> Floats:
    """Linear models (c, d) from before, each of which gives the same scores; what is new weighs 0."""
    return replace(remap, factors=1.0 / remap.factors).rows(before)
