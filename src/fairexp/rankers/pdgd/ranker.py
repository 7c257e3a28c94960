"""Pairwise differentiable gradient descent: rankings drawn from the model, pairs weighted against position bias."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints
from fairexp.kernels.algebra.linear import bounded_scores, top_documents
from fairexp.kernels.pdgd.pdgd import document_weights, expected_regret, log_rest
from fairexp.randomness import Seed
from fairexp.ranker import Host
from fairexp.rankers.gradient_ranker import GradientRanker
from fairexp.rankers.probabilities import log_plackett_luce, next_plackett_luce
from fairexp.scaling import MAX_NORM, shortened
from fairexp.types import SURE, Belief, Query, Ranking


class PDGD(GradientRanker, Host):
    """A linear ranker that samples its lists from a Plackett-Luce model and climbs a debiased pairwise gradient.

    Every clicked document is preferred to every examined one without a click, with a weight that undoes the
    advantage of the better position (from the scores at display). The weights (d,) move by `learning_rate` along
    the gradient at the current model, and the rate is multiplied by `decay`.

    Inside `FairExp` a template says which group has which position, and what it costs is the model's expected regret:
    P(i above j) - P(j above i) for each pair that it reverses. The documents of each group are then drawn anew for the
    positions of their group, from Plackett-Luce restricted to the group. So the template does not depend on who stands
    where inside a group, a list has the product of the groups' own probabilities, and pairs inside a group are weighted
    by that: their gradient keeps the direction of the users' preference, as without templates. Pairs across groups are
    left out: exchanging the two gives a list of another template, whose probability is unknown and may be 0, so nothing
    says what their positions were worth. Hence a feature that does not vary inside groups is not learned, and scores
    across groups compare by what the features mean inside them.

    Feature vectors longer than `fairexp.scaling.MAX_NORM` are shortened to it, for learning and for
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

    def believe(self, query: Query, rng: np.random.Generator | None = None) -> Belief:
        """A draw of all candidates and, under templates, a second one that is independent of it and fills them."""
        own = self.stream.at(self.n_ranked) if rng is None else rng
        n, scores = query.n_candidates, self._score(query.features)
        draw = _draw(scores, n, own)
        return Belief(
            scores=scores,
            draw=draw,
            block=np.zeros(n, dtype=np.int64),
            above=np.zeros((n, n), dtype=np.bool_),
            regret=expected_regret(scores, SURE),
            fill=_draw(scores, n, own) if self.templated else None,
        )

    def memory(
        self, query: Query, belief: Belief, shown: Ints, rng: np.random.Generator
    ) -> dict[str, NDArray[np.generic]]:
        """How likely what is not shown was, by the group of each position."""
        return {"log_rest": log_rest(belief.scores, self._classes(query.groups, query.n_candidates), shown)}

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        scores = self._score(query.features)
        shown = _draw(scores, self.length, rng)
        rest = log_rest(scores, self._classes(query.groups, query.n_candidates), shown)
        return self._show(query, shown, scores, memory={"log_rest": rest})

    def _draws(self, query: Query, rng: np.random.Generator, n_draws: int) -> list[Ints]:
        scores = self._score(query.features)
        return [_draw(scores, self.length, rng) for _ in range(n_draws)]

    def _log_probability(self, query: Query, shown: Ints) -> float:
        return log_plackett_luce(self._score(query.features), shown)

    def next_probabilities(self, query: Query, lists: Ints, shown: Ints) -> Floats:
        return next_plackett_luce(self._score(query.features), lists, shown)

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        self._update_graded(ranking, clicks.astype(np.int64))

    def _update_graded(self, ranking: Ranking, grades: Ints) -> None:
        """A preference counts as often as its grades are apart."""
        levels = [grades >= level for level in range(1, int(grades.max()) + 1)]
        levels = [clicks for clicks in levels if not clicks.all()]
        if not levels:
            return
        features = shortened(ranking.features)
        scores, rest = self._score(features), np.asarray(ranking.memory["log_rest"], dtype=np.float64)
        classes = self._classes(ranking.groups, len(ranking))
        factors = np.add.reduce([document_weights(ranking.scores, rest, classes, scores, clicks) for clicks in levels])
        if factors.any():
            self._move(self._gradient(features, factors))

    def _gradient(self, features: Floats, factors: Floats) -> Floats:
        """The gradient of the sum of scores of `features` (m, d), each times its factor (m,)."""
        return np.asarray(factors @ features)

    def _score(self, features: Floats) -> Floats:
        scores: Floats = bounded_scores(features, self.weights, MAX_NORM)
        return scores

    def click_log_odds(self) -> float:
        return 1.0

    def _classes(self, groups: Ints | None, n: int) -> Ints:
        """Which of n documents could have been exchanged: those of one group under templates, all otherwise."""
        return groups if self.templated and groups is not None else np.zeros(n, dtype=np.int64)


def _draw(scores: Floats, length: int, rng: np.random.Generator) -> Ints:
    """The first documents of a Plackett-Luce draw: those of highest score + Gumbel noise.

    The noise also settles ties among scores so large that adding it changes nothing.
    """
    gumbels = rng.gumbel(size=len(scores))
    return top_documents(scores + gumbels, -gumbels, length)
