"""Relevance that is learned from clicks with the bias of their positions taken out: what the rivals rank by."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairexp.arrays import Bools, Floats, Ints, State
from fairexp.fairness.exposure import curve_name, exposure_curve
from fairexp.kernels.algebra.linear import bounded_scores
from fairexp.randomness import Seed
from fairexp.ranker import Ranker
from fairexp.remap import Remap
from fairexp.ridge import OnlineRidge
from fairexp.scaling import MAX_NORM, shortened
from fairexp.types import Query, Ranking
from fairexp.validation import check_number

Memory = dict[str, NDArray[Any]]
_OWN = "relevance."


class RelevanceArguments(TypedDict, total=False):
    """What every rival takes."""

    length: int
    exposure: str | Path | ArrayLike
    regularization: float
    clip: float
    seed: Seed


class LearnedRelevance(Ranker):
    """Relevance is linear in the features: ridge regression on clicks over the exposure of their position.

    All displayed documents are rows, clicked or not; a click never counts for more than 1 / `clip`. Feature vectors
    longer than `fairexp.scaling.MAX_NORM` are shortened to it. Subclasses choose what to show (`_choose`).
    """

    rescaling = "factor"
    uses_grades = True
    relative_cost = 5.0

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        exposure: str | Path | ArrayLike = "reciprocal",
        regularization: float = 1.0,
        clip: float = 0.01,
        seed: Seed = None,
    ) -> None:
        super().__init__(n_features, length=length, seed=seed)
        self.exposure: Floats = exposure_curve(exposure, self.length)
        self.clip = check_number("clip", clip, above=0.0)
        self.regularization = check_number("regularization", regularization, above=0.0)
        self._relevance = OnlineRidge(self.n_features, regularization=self.regularization)

    @property
    def weights(self) -> Floats:
        """The relevance model (d,)."""
        return self._relevance.weights

    def linear_model(self) -> Floats:
        return self.weights

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "exposure": curve_name(self.exposure)}

    @abstractmethod
    def _choose(self, query: Query, scores: Floats, rng: np.random.Generator, memory: Memory) -> Ints:
        """The documents to show, from the top down, by their `scores` (n,); changes nothing.

        What `_shown` will have to know beyond what a ranking carries is put into `memory`.
        """

    def _noted(self, query: Query) -> Memory:
        """What `_shown` will have to know of a query."""
        return {}

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        scores, memory = self._score(query.features), self._noted(query)
        shown = self._choose(query, scores, rng, memory)
        return self._show(query, shown, scores, exposure=self.exposure[: len(shown)].copy(), memory=memory)

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        self._learn(ranking, clicks.astype(np.float64))

    def _update_graded(self, ranking: Ranking, grades: Ints) -> None:
        self._learn(ranking, grades.astype(np.float64))

    def _learn(self, ranking: Ranking, rewards: Floats) -> None:
        shown = self.exposure[: len(ranking)] if ranking.exposure is None else ranking.exposure
        self._relevance.add(shortened(ranking.features), rewards / np.maximum(shown, self.clip))

    def _score(self, features: Floats) -> Floats:
        scores: Floats = bounded_scores(features, self.weights, MAX_NORM)
        return scores

    def _take_over(self, before: Any, remap: Remap) -> None:
        self._relevance.take_over(before._relevance, remap)

    def _state(self) -> State:
        return {_OWN + key: value for key, value in self._relevance.state().items()}

    def _restore(self, arrays: State) -> None:
        self._relevance.restore({key.removeprefix(_OWN): arrays[key] for key in arrays if key.startswith(_OWN)})
