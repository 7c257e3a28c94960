"""Pairwise differentiable gradient descent: rankings drawn from the model, pairs weighted against position bias."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.kernels.learning.linear import bounded_scores, linear_scores, top_documents
from fairexp.kernels.learning.pdgd import document_weights, log_rest
from fairexp.randomness import Seed
from fairexp.rankers.climbing import Climber
from fairexp.rankers.scaling import MAX_NORM, shortened
from fairexp.types import Query, Ranking


class PDGD(Climber):
    """A linear ranker that samples its lists from a Plackett-Luce model and climbs a debiased pairwise gradient.

    Every clicked document is preferred to every examined one without a click, with a weight that undoes the
    advantage of the better position (from the scores at display). The weights (d,) move by `learning_rate` along
    the gradient at the current model, and the rate is multiplied by `decay`.

    Feature vectors longer than `fairexp.rankers.scaling.MAX_NORM` are shortened to it, for learning and for
    scoring alike, so that no document can make the weights overflow.

    >>> ranker = PDGD(2, length=2, seed=1)
    >>> for _ in range(100):
    ...     ranking = ranker.rank(Query(features=[[0.0, 1.0], [1.0, 0.0]]))
    ...     ranker.update(ranking, clicks=ranking.shown == 1)
    >>> scores = ranker.score([[0.0, 1.0], [1.0, 0.0]])
    >>> bool(scores[1] > scores[0])
    True

    Oosterhuis and de Rijke, "Differentiable unbiased online learning to rank", CIKM 2018.
    """

    uses_grades = True

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        learning_rate: float = 0.1,
        decay: float = 1.0,
        seed: Seed = None,
    ) -> None:
        super().__init__(n_features, length=length, learning_rate=learning_rate, decay=decay, seed=seed)

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        scores = self._score(query.features)
        gumbels = rng.gumbel(size=query.n_candidates)
        # The top k of score + Gumbel noise is a Plackett-Luce draw. The noise also settles ties among scores so
        # large that adding it changes nothing.
        shown = top_documents(scores + gumbels, -gumbels, self.length)
        return self._show(query, shown, scores, memory={"log_rest": np.array(log_rest(scores, shown))})

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        self._update_graded(ranking, clicks.astype(np.int64))

    def _update_graded(self, ranking: Ranking, grades: Ints) -> None:
        """A preference counts as often as its grades are apart."""
        levels = [grades >= level for level in range(1, int(grades.max()) + 1)]
        levels = [clicks for clicks in levels if not clicks.all()]
        if not levels:
            return
        features = shortened(ranking.features)
        scores = linear_scores(features, self.weights)
        rest = float(ranking.memory["log_rest"])
        factors = np.add.reduce([document_weights(ranking.scores, rest, scores, clicks) for clicks in levels])
        self._move(factors @ features)

    def _score(self, features: Floats) -> Floats:
        scores: Floats = bounded_scores(features, self.weights, MAX_NORM)
        return scores
