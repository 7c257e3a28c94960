"""The part that rankers around a host have in common: the host learns, they choose what is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints, State
from fairexp.errors import ArgumentError
from fairexp.randomness import Seed
from fairexp.rankers.base import Ranker
from fairexp.rankers.explorer import Explorer
from fairexp.rankers.matching import Matching
from fairexp.reliability import Reliability
from fairexp.types import Query, Ranking

_HOST = "host."


class Around(Ranker):
    """A ranker around `host`, which has an explicit belief; traits, learning and scores are the host's.

    Subclasses write `_rank`, and where they keep something of their own `_state` and `_restore`, which call these.
    """

    host: Explorer

    def __init__(self, host: Explorer, *, seed: Seed) -> None:
        if not isinstance(host, Explorer):
            raise ArgumentError(
                "host", type(host).__name__, "a ranker with an explicit belief", "Its class must derive from Explorer."
            )
        super().__init__(host.n_features, length=host.length, seed=seed)
        if seed is None:
            self.stream = host.stream
        self.host = host
        host.templated = True
        self.keeps_history = host.keeps_history
        self.scores_unseen = host.scores_unseen
        self.rescaling = host.rescaling
        self.learns_by_increments = host.learns_by_increments
        self.uses_grades = host.uses_grades
        self.needs_query_id = host.needs_query_id
        self.relative_cost = type(self).relative_cost + host.relative_cost

    @property
    def learner(self) -> Ranker:
        return self.host

    def linear_model(self) -> Floats | None:
        return self.host.linear_model()

    def reliability(self) -> Reliability | None:
        return self.host.reliability()

    def translated_memory(
        self, memory: Mapping[str, NDArray[np.generic]], matching: Matching
    ) -> Mapping[str, NDArray[np.generic]]:
        return self.host.translated_memory(memory, matching)

    def fits(self, key: str, value: NDArray[np.generic], expected: NDArray[np.generic]) -> bool:
        if key.startswith(_HOST):
            return self.host.fits(key.removeprefix(_HOST), value, expected)
        return super().fits(key, value, expected)

    def _check_query(self, query: Query) -> None:
        self.host._check_query(query)

    def _shown(self, ranking: Ranking) -> None:
        self.host.note(ranking)

    def _copied(self) -> Self:
        after = super()._copied()
        after.host = self.host._copied()
        return after

    def _become(self, after: Self) -> None:
        host, noted = self.host, after.host.__dict__
        after.host = host
        host.__dict__, self.__dict__ = noted, after.__dict__

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        self.host.learn(ranking, clicks)

    def _update_graded(self, ranking: Ranking, grades: Ints) -> None:
        self.host.learn_graded(ranking, grades)

    def _score(self, features: Floats) -> Floats:
        return self.host.estimate(features)

    def _state(self) -> State:
        return {_HOST + key: value for key, value in self.host.state().items()}

    def _restore(self, arrays: State) -> None:
        self.host.restore({key.removeprefix(_HOST): arrays[key] for key in arrays if key.startswith(_HOST)})
