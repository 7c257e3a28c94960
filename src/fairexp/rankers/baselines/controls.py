"""Controls that learn nothing: chance, fixed scores, and an oracle. They show what learning is worth."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Bools, Floats, Ints, State
from fairexp.errors import ArgumentError, CannotScoreError
from fairexp.kernels.algebra.linear import linear_scores
from fairexp.randomness import Seed
from fairexp.ranker import Host
from fairexp.rankers.probabilities import log_by_class, positions_by_class, tie_classes
from fairexp.remap import Remap
from fairexp.types import Belief, Query, Ranking
from fairexp.validation import as_features


class KnownScores(Host):
    """An explorer that is certain of its scores: what scores higher belongs above, and equals are drawn at random."""

    rescaling = "none"
    learns_by_increments = True

    @abstractmethod
    def _scores_of(self, query: Query) -> Floats:
        """The scores (n,) of the query's candidates."""

    def believe(self, query: Query, rng: np.random.Generator | None = None) -> Belief:
        """Every difference in score is a certain order; documents of equal score form a block."""
        scores = self._scores_of(query)
        rng = self.stream.at(self.n_ranked) if rng is None else rng
        shuffled = rng.permutation(query.n_candidates)
        return Belief(
            scores=scores,
            draw=shuffled[np.argsort(-scores[shuffled], kind="stable")],
            block=tie_classes(scores),
            above=scores[:, None] > scores[None, :],
        )

    def _log_probability(self, query: Query, shown: Ints) -> float:
        return log_by_class(tie_classes(self._scores_of(query)), shown)

    def _position_probabilities(self, query: Query) -> Floats:
        length = min(self.length, query.n_candidates)
        return positions_by_class(tie_classes(self._scores_of(query)), length)

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        """Nothing is left to learn."""

    def _take_over(self, before: KnownScores, remap: Remap) -> None:
        """Nothing was learned."""


class RandomRanker(KnownScores):
    """Shows a uniformly random list, whatever the candidates: the floor for every metric.

    >>> ranking = RandomRanker(2, length=2, seed=0).rank(Query(features=[[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))
    >>> len(ranking), ranking.belief.block, bool(ranking.belief.certain_order.any())
    (2, array([0, 0, 0]), False)
    """

    def _scores_of(self, query: Query) -> Floats:
        return np.zeros(query.n_candidates)

    def _score(self, features: Floats) -> Floats:
        return np.zeros(len(features))


class FixedScores(KnownScores):
    """Ranks by fixed linear `weights` (d,): a production ranker that does not learn, or the truth of a simulation.

    >>> ranking = FixedScores([1.0, -1.0], length=2).rank(Query(features=[[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))
    >>> ranking.shown, ranking.scores
    (array([1, 2]), array([1., 0.]))
    """

    def __init__(self, weights: ArrayLike, *, length: int = 10, seed: Seed = None) -> None:
        given = np.asarray(weights)
        if given.ndim != 1 or given.size == 0:
            raise ArgumentError("weights", f"shape {given.shape}", "a vector with one weight per feature")
        self.weights: Floats = as_features(given[None, :], name="weights")[0].copy()
        super().__init__(len(self.weights), length=length, seed=seed)

    def _scores_of(self, query: Query) -> Floats:
        return self._score(query.features)

    def _score(self, features: Floats) -> Floats:
        scores: Floats = linear_scores(features, self.weights)
        return scores

    def linear_model(self) -> Floats:
        return self.weights

    def _state(self) -> State:
        return {"weights": self.weights.copy()}

    def _restore(self, arrays: State) -> None:
        self.weights = np.array(arrays["weights"], dtype=np.float64)


class Oracle(KnownScores):
    """Knows the relevance `grades` (n,) of every query by its id: the ceiling, with or without fairness around it.

    It cannot score documents outside those queries (`scores_unseen` is False).

    >>> oracle = Oracle({"q1": [0, 2, 1]}, n_features=1, length=2)
    >>> ranking = oracle.rank(Query(features=[[0.0], [0.0], [0.0]], query_id="q1"))
    >>> ranking.shown, ranking.belief.block
    (array([1, 2]), array([2, 0, 1]))
    """

    scores_unseen = False
    needs_query_id = True

    def __init__(
        self, grades: Mapping[str | int, ArrayLike], n_features: int, *, length: int = 10, seed: Seed = None
    ) -> None:
        if not isinstance(grades, Mapping):
            raise ArgumentError("grades", type(grades).__name__, "a mapping from query id to the candidates' grades")
        super().__init__(n_features, length=length, seed=seed)
        self.grades = grades

    def _scores_of(self, query: Query) -> Floats:
        if query.query_id is None or query.query_id not in self.grades:
            raise ArgumentError(
                "query.query_id",
                repr(query.query_id),
                f"one of the {len(self.grades)} query ids in grades",
                "Give the oracle the grades of every query that it is to rank.",
            )
        grades = np.asarray(self.grades[query.query_id])
        if grades.shape != (query.n_candidates,) or grades.dtype.kind not in "fiub":
            raise ArgumentError(
                f"grades[{query.query_id!r}]",
                f"shape {grades.shape} and dtype {grades.dtype}",
                f"one number for each of the query's {query.n_candidates} candidates",
            )
        if not np.isfinite(grades).all():
            raise ArgumentError(f"grades[{query.query_id!r}]", "a grade that is not finite", "finite grades")
        return grades.astype(np.float64)

    def _score(self, features: Floats) -> Floats:
        raise CannotScoreError(
            "score: an Oracle knows the grades of its own queries only and cannot score unseen documents. "
            "Evaluate it on the lists that it shows."
        )
