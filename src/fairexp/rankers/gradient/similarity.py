"""Multileave gradient descent in a small space: rivals differ in how much they resemble some documents."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from fairexp.arrays import Bools, Floats, State
from fairexp.errors import StateError
from fairexp.rankers.gradient.challengers import RivalArguments, unit_vectors, weight_rows
from fairexp.rankers.gradient.mgd import PMGD, MGDArguments
from fairexp.rankers.gradient.recent import Recent
from fairexp.remap import Remap
from fairexp.scaling import shortened
from fairexp.types import Query, Ranking
from fairexp.validation import check_count


class SimMGDArguments(MGDArguments, total=False):
    """What every ranker takes that weighs references."""

    references: int


class SimMGD(PMGD):
    """P-MGD that scores documents by their dot products with `references` documents, and weighs those.

    The references are the first documents that feedback came for; until there are enough, nothing else is learned. A
    weighted sum of dot products is a linear score, so the model is kept as its weights (d,): a direction in the space
    of references is drawn uniformly from its sphere, and is in the space of features the sum of the references that it
    weighs.

    A small space is meant to be searched fast; what no sum of references can say is never learned.

    Oosterhuis and de Rijke, "Balancing speed and quality in online learning to rank for information retrieval", CIKM
    2017.
    """

    relative_cost = 5.0

    def __init__(
        self, n_features: int, *, candidates: int = 19, references: int = 50, **others: Unpack[RivalArguments]
    ) -> None:
        super().__init__(n_features, candidates=candidates, **others)
        self.references = check_count("references", references)
        self._known = Recent(self.references, self.n_features)

    def _directions(self, query: Query, rng: np.random.Generator) -> Floats:
        return self._mixtures(rng) @ self._known.table

    def _mixtures(self, rng: np.random.Generator) -> Floats:
        """Directions (c, references) in the space of references; none while there are too few."""
        return unit_vectors(self.candidates if self._known.is_full else 0, self.references, rng)

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        super()._update(ranking, clicks)
        if not self._known.is_full:
            self._known.add(shortened(ranking.features)[: self.references - self._known.count])

    def _take_over(self, before: Any, remap: Remap) -> None:
        if before.references != self.references:
            raise StateError(
                f"ranker: a model of {before.references} references cannot be taken over by one of {self.references}; "
                f"give both as many"
            )
        super()._take_over(before, remap)
        self._known.put(weight_rows(before._known.table, remap), before._known.count)

    def _state(self) -> State:
        return {**super()._state(), "references": self._known.table.copy(), "n_known": np.array(self._known.count)}

    def _restore(self, arrays: State) -> None:
        super()._restore(arrays)
        self._known.put(np.asarray(arrays["references"]), int(arrays["n_known"]))
