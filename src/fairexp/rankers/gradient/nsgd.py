"""Null space gradient descent: do not try again what lost lately, and try what the query can tell apart."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from fairexp.arrays import Bools, Floats, Ints, State
from fairexp.kernels.algebra.linear import scale_to_unit
from fairexp.rankers.gradient.challengers import directions_of, mean_of, unit_vectors, weight_rows
from fairexp.rankers.gradient.hard_queries import HardQueries
from fairexp.rankers.gradient.mgd import MGD, MGDArguments
from fairexp.rankers.gradient.recent import Recent
from fairexp.remap import Remap
from fairexp.types import Query, Ranking
from fairexp.validation import check_count

WORST_OF_ROUND = 4
"""At most so many losers of a round are remembered."""


class NSGD(MGD):
    """MGD whose candidates lie in the null space of directions that lost, and are chosen for the query.

    Of the last `losers` directions with fewer clicks than the current ranker, the `avoided` worst span what is not
    tried again (at most half of all dimensions). Of twice as many directions as needed, uniform in what is left, the
    `candidates` are taken in which the query's mean document has the largest component. Where several win, the one
    is followed that would have ranked the clicked documents of recent hard queries best.

    Wang, Langley, Kim, McCord-Snook and Wang, "Efficient exploration of gradient space for online learning to rank",
    SIGIR 2018.
    """

    relative_cost = 8.0

    def __init__(self, n_features: int, *, losers: int = 60, avoided: int = 25, **others: Unpack[MGDArguments]) -> None:
        super().__init__(n_features, **others)
        self.losers = check_count("losers", losers)
        self.avoided = check_count("avoided", avoided)
        self._lost = Recent(self.losers, self.n_features + 1)
        self._hard = HardQueries(self.length, self.n_features)
        self._basis: Floats = np.empty((self.n_features, 0))

    def _directions(self, query: Query, rng: np.random.Generator) -> Floats:
        tried = unit_vectors(2 * (self.candidates + 1), self.n_features, rng)
        if self._basis.shape[1]:
            for _ in range(2):  # the second time takes off what rounding left
                tried -= (tried @ self._basis) @ self._basis.T
            scale_to_unit(tried)
        told = np.abs(tried @ (np.ones(query.n_candidates) @ query.features))  # the mean document, but for its length
        kept = np.sort(np.argsort(-told, kind="stable")[: self.candidates])
        return np.ascontiguousarray(tried[kept])

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        if not clicks.any():
            return
        lead = self._lead(ranking, clicks)[1:]
        winners = np.flatnonzero(lead > 0.0)
        if winners.size:
            self._learn(ranking, clicks, winners)
        self._hard.add(ranking, clicks)
        worst = np.argsort(lead, kind="stable")[:WORST_OF_ROUND]
        worst = worst[lead[worst] < 0.0]
        if worst.size:
            self._lost.add(np.column_stack([directions_of(ranking)[worst], lead[worst]]))
            self._avoid()

    def _learn(self, ranking: Ranking, clicks: Bools, winners: Ints) -> None:
        directions = directions_of(ranking)
        if len(winners) > 1 and self._hard.count:
            found = self._hard.found_by(self.weights + self.step * directions[winners])
            winners = winners[[int(np.argmax(found))]]
        self._move(mean_of(directions, winners))

    def _avoid(self) -> None:
        """Find an orthonormal basis (d, c) of the worst directions."""
        lost = self._lost.rows
        most = min(self.avoided, self.n_features // 2)
        worst = lost[np.argsort(lost[:, -1], kind="stable")[:most], :-1]
        self._basis = np.linalg.qr(worst.T)[0]

    def _take_over(self, before: Any, remap: Remap) -> None:
        super()._take_over(before, remap)
        directions = weight_rows(before._lost.rows[:, :-1], remap)
        scale_to_unit(directions)
        self._lost.add(np.column_stack([directions, before._lost.rows[:, -1]]))
        self._hard.take_over(before._hard, remap)
        self._avoid()

    def _state(self) -> State:
        own = {"lost": self._lost.table.copy(), "n_lost": np.array(self._lost.count)}
        return {**super()._state(), **own, **self._hard.state()}

    def _restore(self, arrays: State) -> None:
        super()._restore(arrays)
        self._lost.put(np.asarray(arrays["lost"]), int(arrays["n_lost"]))
        self._hard.restore(arrays)
        self._avoid()
