"""The records that pass between the parts: `Query`, `Belief` and `Ranking`.

A query goes in, a ranker forms a belief about its candidates, and a ranking comes out. The ranking carries all
that learning from its clicks will need, so feedback can come hours later and in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints, State
from fairexp.errors import ArgumentError
from fairexp.validation import as_document_ids, as_features, as_groups

__all__ = ["Belief", "Bools", "Floats", "Ints", "Query", "Ranking", "State"]


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """One request: its candidates' features (n, d) and, where known, their groups (n,) as integers 0..G-1.

    Rankers that learn of each query by itself know it by `query_id` and its candidates by `document_ids` (n,), texts
    or whole numbers that differ from each other.

    >>> Query(features=[[0.0, 1.0], [2.0, 3.0]], groups=[0, 1]).n_candidates
    2
    """

    features: Floats
    groups: Ints | None = None
    query_id: str | int | None = None
    document_ids: NDArray[np.generic] | None = None

    def __post_init__(self) -> None:
        features = as_features(self.features)
        if features.shape[0] == 0:
            raise ArgumentError("features", "no rows", "at least one candidate")
        object.__setattr__(self, "features", features)
        if self.groups is not None:
            object.__setattr__(self, "groups", as_groups(self.groups, n=features.shape[0]))
        if self.document_ids is not None:
            object.__setattr__(self, "document_ids", as_document_ids(self.document_ids, n=features.shape[0]))

    @property
    def n_candidates(self) -> int:
        return int(self.features.shape[0])


@dataclass(frozen=True, eq=False)
class Belief:
    """What a ranker holds true about one query's candidates, and how it would explore the rest.

    - `scores` (n,): estimated relevance, higher is better.
    - `draw` (n,): one exploration draw, document indices from the best down.
    - `block` (n,): the block of each document, 0 for the best; no certain order separates a block.
    - `certain_order` (n, n): `[i, j]` says that i surely belongs above j.
    """

    scores: Floats
    draw: Ints
    block: Ints
    certain_order: Bools

    @property
    def relation(self) -> tuple[Bools, Ints]:
        """The certain orders between rows (n, n), and the row (n,) of each document: for code that must be fast."""
        return self.certain_order, np.arange(len(self.scores))


@dataclass(frozen=True, eq=False, init=False, repr=False)
class SortedBelief(Belief):
    """A belief whose relation is held in the order of scores; `certain_order` is put together when asked for.

    `by_score` (n,) are the documents from the highest score down; `sorted_order` (n, n) is the relation between them.
    """

    by_score: Ints
    sorted_order: Bools

    def __init__(self, *, scores: Floats, draw: Ints, block: Ints, by_score: Ints, sorted_order: Bools) -> None:
        for name, value in (("scores", scores), ("draw", draw), ("block", block)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "by_score", by_score)
        object.__setattr__(self, "sorted_order", sorted_order)

    @property
    def relation(self) -> tuple[Bools, Ints]:
        row = np.empty_like(self.by_score)
        row[self.by_score] = np.arange(len(row))
        return self.sorted_order, row

    def __getattr__(self, name: str) -> Bools:
        if name != "certain_order":
            raise AttributeError(name)
        relation, row = self.relation
        by_document = relation[np.ix_(row, row)]
        object.__setattr__(self, "certain_order", by_document)
        return by_document


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """What was shown, and what must be remembered to learn from its clicks.

    `shown` (m,) are indices into the query's candidates from the top position down; `features` (m, d), `groups`
    (m,), `scores` (m,) and `document_ids` (m,) are theirs. `memory` is the ranker's own. `ranker` and `number` say who
    showed it and as which of its rankings.

    A fair ranker fills in the rest: the `exposure` (m,) that it charged, the `unfairness` after the round, the
    `added_regret` (certain orders reversed for fairness) and whether the tolerance could be met (`qualified`).
    """

    shown: Ints
    features: Floats
    scores: Floats
    ranker: int
    number: int
    groups: Ints | None = None
    query_id: str | int | None = None
    document_ids: NDArray[np.generic] | None = None
    memory: Mapping[str, NDArray[np.generic]] = field(default_factory=dict, repr=False)
    belief: Belief | None = field(default=None, repr=False)
    exposure: Floats | None = None
    unfairness: float | Floats | None = None
    added_regret: int = 0
    qualified: bool | None = None

    @property
    def template(self) -> Ints | None:
        """The group at each shown position (m,); None where the query had no groups."""
        return self.groups

    def __len__(self) -> int:
        return len(self.shown)
