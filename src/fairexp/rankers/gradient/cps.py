"""Candidate preselection: past interleavings choose which random step is worth a live duel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints, State
from fairexp.kernels.algebra.linear import top_documents
from fairexp.rankers.gradient.challengers import RivalArguments, RivalRanker, unit_vectors
from fairexp.rankers.gradient.history import History, chances_of
from fairexp.remap import Remap
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
    rescaling = "factor"

    def __init__(
        self,
        n_features: int,
        *,
        pool: int = 6,
        history: int = 10,
        replays: int = 10,
        max_candidates: int = 50,
        **others: Unpack[RivalArguments],
    ) -> None:
        super().__init__(n_features, **others)
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
        left, n_lists = list(range(len(pool))), len(self._past)
        chances = self._past.chances(self.weights, pool, self.step, rng.random(self._past.n_candidates))
        coins = rng.random((len(pool) - 1, 3)).tolist()
        times = rng.multinomial(self.replays, [1.0 / n_lists] * n_lists, len(coins)) if n_lists else None
        for match, (first, second, coin) in enumerate(coins):
            one = left.pop(int(first * len(left)))
            other = left.pop(int(second * len(left)))
            outcome = 0.0 if times is None else float(times[match] @ self._past.said(chances, one, other))
            left.append(other if outcome > 0.0 or (outcome == 0.0 and coin < 0.5) else one)
        return left[0]

    def _noted(self, query: Query, shown: Ints, scores: Floats, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        is_other = np.ones(query.n_candidates, dtype=np.bool_)
        is_other[shown] = False
        others = np.flatnonzero(is_other)
        most = max(self.max_candidates - len(shown), 0)
        if len(others) > most:
            others = others[top_documents(scores[0, others], np.zeros(len(others)), most)]
        kept = np.concatenate([shown, others])
        chances = chances_of(scores.take(kept, axis=1), rng.random(len(kept)), len(shown))
        chance = float(np.log(chances.mean(axis=1)).sum())
        return {"others": query.features.take(others, axis=0), "log_chance": np.array(chance)}

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        super()._update(ranking, clicks)
        if clicks.any():
            others = np.asarray(ranking.memory["others"], dtype=np.float64)
            kept = np.concatenate([ranking.features, others])
            self._past.add(kept, clicks, float(ranking.memory["log_chance"]))

    def translated_memory(
        self, memory: Mapping[str, NDArray[np.generic]], remap: Remap
    ) -> Mapping[str, NDArray[np.generic]]:
        others = remap.rows(np.asarray(memory["others"], dtype=np.float64))
        return {**super().translated_memory(memory, remap), "others": others}

    def _take_over(self, before: Any, remap: Remap) -> None:
        self._past.take_over(before._past, remap)
        super()._take_over(before, remap)

    def _state(self) -> State:
        return {**super()._state(), **self._past.state()}

    def _restore(self, arrays: State) -> None:
        super()._restore(arrays)
        self._past.restore(arrays)
