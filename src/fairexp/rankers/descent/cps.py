"""Candidate preselection: past interleavings choose which random step is worth a live duel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, State
from fairexp.kernels.learning.linear import rival_scores
from fairexp.randomness import Seed
from fairexp.rankers.descent.history import History, chances_of, log_chance
from fairexp.rankers.descent.rivals import RivalRanker, directions_of, unit_vectors
from fairexp.rankers.matching import Matching
from fairexp.types import Query, Ranking
from fairexp.validation import check_count


class CPS(RivalRanker):
    """DBGD whose rival is the winner of a tournament among `pool` random neighbours, held on past rounds.

    Two neighbours drawn from the pool are compared on `replays` draws from the last `history` lists with clicks: each
    list says which of the two it prefers, weighted by how much more likely the two were to make it than those who did.
    The loser goes, until one is left, and that one duels live, mixed by chance. The weights (d,) move by
    `learning_rate` along its direction if it wins, and the rate is multiplied by `decay`.

    Of each list `max_candidates` are kept, by score where there are more: those left out would hardly have been drawn.

    Hofmann, Schuth, Whiteson and de Rijke, "Reusing historical interaction data for faster online learning to rank for
    IR", WSDM 2013; Hofmann, Whiteson and de Rijke, "Estimating interleaved comparison outcomes from historical click
    data", CIKM 2012.
    """

    interleaving = "probabilistic"
    relative_cost = 15.0

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        pool: int = 6,
        history: int = 10,
        replays: int = 10,
        max_candidates: int = 50,
        step: float = 1.0,
        learning_rate: float = 0.01,
        decay: float = 1.0,
        seed: Seed = None,
    ) -> None:
        super().__init__(n_features, length=length, step=step, learning_rate=learning_rate, decay=decay, seed=seed)
        self.pool = check_count("pool", pool)
        self.history = check_count("history", history)
        self.replays = check_count("replays", replays)
        self.max_candidates = check_count("max_candidates", max_candidates)
        self._past = History(self.history, self.length, self.max_candidates, self.n_features)

    def _directions(self, query: Query, rng: np.random.Generator) -> Floats:
        pool = unit_vectors(self.pool, self.n_features, rng)
        return pool[[self._selected(pool, rng)]]

    def _selected(self, pool: Floats, rng: np.random.Generator) -> int:
        """The number of the direction in `pool` (p, d) that wins the tournament."""
        chances = self._past.chances(self.weights, pool, self.step, rng)
        even = np.full(len(chances), 1.0 / len(chances)) if chances else None
        left = list(range(len(pool)))
        while len(left) > 1:
            one, other = rng.permutation(len(left))[:2].tolist()
            drawn = [] if even is None else rng.multinomial(self.replays, even).tolist()
            said = (n * self._past.said(at, chances[at], left[one], left[other]) for at, n in enumerate(drawn) if n)
            outcome = sum(said)
            loses = outcome < 0.0 or (outcome == 0.0 and rng.random() < 0.5)
            left.pop(other if loses else one)
        return left[0]

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        ranking = super()._rank(query, rng)
        is_other = np.ones(query.n_candidates, dtype=np.bool_)
        is_other[ranking.shown] = False
        best = np.argsort(-self._score(query.features), kind="stable")
        most = max(self.max_candidates - len(ranking), 0)
        others = query.features.take(best[is_other[best]][:most], axis=0)
        kept = np.concatenate([ranking.features, others])
        scores = rival_scores(kept, self.weights, directions_of(ranking), self.step)
        chance = log_chance(chances_of(scores, rng.random(len(kept)), len(ranking)))
        return replace(ranking, memory={**ranking.memory, "others": others, "log_chance": np.array(chance)})

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        super()._update(ranking, clicks)
        if clicks.any():
            others = np.asarray(ranking.memory["others"], dtype=np.float64)
            kept = np.concatenate([ranking.features, others])
            self._past.add(kept, clicks, float(ranking.memory["log_chance"]))

    def translated_memory(
        self, memory: Mapping[str, NDArray[np.generic]], matching: Matching
    ) -> Mapping[str, NDArray[np.generic]]:
        others = matching.rows(np.asarray(memory["others"], dtype=np.float64))
        return {**super().translated_memory(memory, matching), "others": others}

    def _take_over(self, before: Any, matching: Matching) -> None:
        self._past.take_over(before._past, matching)
        super()._take_over(before, matching)

    def _state(self) -> State:
        return {**super()._state(), **self._past.state()}

    def _restore(self, arrays: State) -> None:
        super()._restore(arrays)
        self._past.restore(arrays)
