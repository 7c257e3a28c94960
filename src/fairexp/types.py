"""The records that pass between the parts: `Query`, `Belief` and `Ranking`.

A query goes in, a ranker forms a belief about its candidates, and a ranking comes out. The ranking carries all
that learning from its clicks will need, so feedback can come hours later and in any order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Bytes, Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.validation import as_document_ids, as_features, as_groups, as_pins, check_mapping, check_number

__all__ = ["CERTAIN", "SURE", "Belief", "Query", "Ranking"]

SURE = 100
"""What reversing a certain order costs, where a `Belief` has expected regret."""

CERTAIN = 90
"""From what expected regret on an order is called certain, where a `Belief` does not say which are: 95 to 5 of 100."""


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """One request: its candidates' features (n, d) and, where known, their groups (n,) as integers 0..G-1.

    Rankers that learn of each query by itself know it by `query_id` and its candidates by `document_ids` (n,), texts
    or whole numbers that differ from each other.

    Where fairness is of more than one kind, `labels` are other groups by name, each (n,) integers from 0; `segment` is
    whose ledger the round belongs to; and `weight` is what a unit of exposure is worth in it. `pinned` documents have
    their place: it maps positions, from 0, to candidates.

    >>> Query(features=[[0.0, 1.0], [2.0, 3.0]], groups=[0, 1]).n_candidates
    2
    """

    features: Floats
    groups: Ints | None = None
    query_id: str | int | None = None
    document_ids: NDArray[np.generic] | None = None
    labels: Mapping[str, Ints] = field(default_factory=dict)
    segment: str | int | None = None
    weight: float = 1.0
    pinned: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        features = as_features(self.features)
        if features.shape[0] == 0:
            raise ArgumentError("features", "no rows", "at least one candidate")
        object.__setattr__(self, "features", features)
        if self.groups is not None:
            object.__setattr__(self, "groups", as_groups(self.groups, n=features.shape[0]))
        if self.document_ids is not None:
            object.__setattr__(self, "document_ids", as_document_ids(self.document_ids, n=features.shape[0]))
        if type(self.labels) is not dict or self.labels:
            check_mapping("labels", self.labels, "groups by name, one per candidate")
            made = {key: as_groups(of, n=features.shape[0], name=f"labels[{key!r}]") for key, of in self.labels.items()}
            object.__setattr__(self, "labels", made)
        if not isinstance(self.weight, float) or self.weight != 1.0:
            object.__setattr__(self, "weight", check_number("weight", self.weight, above=0.0))
        if type(self.pinned) is not dict or self.pinned:
            object.__setattr__(self, "pinned", as_pins(self.pinned, n=features.shape[0]))

    @property
    def n_candidates(self) -> int:
        return int(self.features.shape[0])


@dataclass(frozen=True, eq=False)
class Belief:
    """What a ranker holds true about one query's candidates, and how it would explore the rest.

    - `scores` (n,): estimated relevance, higher is better.
    - `draw` (n,): one exploration draw, document indices from the best down.
    - `block` (n,): the block of each document, 0 for the best; no certain order separates a block.
    - `above` (n, n): `[a, b]` says that the document of row a surely belongs above the document of row b. None where
      `regret` says it: by `CERTAIN` or more.
    - `by_row` (n,): the document of each row, where a ranker has them in another order; None where row i is document i.
    - `regret` (n, n): where orders are more or less probable, what a ranker expects to lose if the document of row a is
      shown below that of row b, and `SURE` of which are as bad as reversing a certain order.
    - `fill` (n,): the order in which documents take the positions of their group, where that is not the draw's.
    - `upper` (n,): upper bounds of the scores, in whose order the draw is, where a ranker has such bounds.

    >>> above = np.array([[False, True], [False, False]])
    >>> belief = Belief(np.array([1.0, 2.0]), np.array([1, 0]), np.array([1, 0]), above, by_row=np.array([1, 0]))
    >>> bool(belief.certain_order[1, 0])
    True
    """

    scores: Floats
    draw: Ints
    block: Ints
    above: Bools | None
    by_row: Ints | None = None
    regret: Bytes | None = None
    fill: Ints | None = None
    upper: Floats | None = None

    @property
    def relation(self) -> tuple[Bools, Ints]:
        """The certain orders between rows (n, n), and the row (n,) of each document: for code that must be fast."""
        if self.above is not None:
            return self.above, self._row
        if self.regret is None:
            raise ArgumentError("above", None, "certain orders, or the regret that says which are")
        return self.regret >= CERTAIN, self._row

    @property
    def _row(self) -> Ints:
        rows = np.arange(len(self.scores))
        if self.by_row is None:
            return rows
        row = np.empty_like(self.by_row)
        row[self.by_row] = rows
        return row

    @property
    def costs(self) -> tuple[Bools | Bytes, Ints]:
        """`relation` with what reversing an order costs in place of whether it is certain: the same unless `regret`."""
        return self.relation if self.regret is None else (self.regret, self._row)

    @property
    def drawn_scores(self) -> Floats:
        """(n,): the scores as the draw deals them out, the best to its first document, and so on.

        >>> Belief(np.array([0.1, 0.7]), np.array([0, 1]), np.zeros(2, int), np.zeros((2, 2), bool)).drawn_scores
        array([0.7, 0.1])
        """
        dealt = np.empty_like(self.scores)
        dealt[self.draw] = np.sort(self.scores)[::-1]
        return dealt

    def in_orders(self, cost: int) -> float:
        """A sum of `costs` in certain orders."""
        return cost if self.regret is None else cost / SURE

    @cached_property
    def certain_order(self) -> Bools:
        """(n, n): `[i, j]` says that document i surely belongs above document j."""
        relation, row = self.relation
        return relation if self.by_row is None else relation[np.ix_(row, row)]


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """What was shown, and what must be remembered to learn from its clicks.

    `shown` (m,) are indices into the query's candidates from the top position down; `features` (m, d), `groups`
    (m,), `scores` (m,) and `document_ids` (m,) are theirs. `memory` is the ranker's own. `ranker` and `number` say who
    showed it and as which of its rankings.

    A fair ranker fills in the rest: the `exposure` (m,) that it charged, the `unfairness` after the round, the
    `added_regret` (certain orders reversed for fairness, or what the host expects that to be) and whether the tolerance
    is met (`qualified`). Of several constraints `unfairness` is the first's; `gaps` has the largest gap of each
    by its name, `met` whether that is within its tolerance, and `qualified` is whether all are. `proof` is what is
    proven of that (`fairexp.fairness.PROOFS`), and no ranking has a gap below `gap_bound`: of the first constraint that
    is not met, if any. `pinned` (m,) says which positions were not chosen.
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
    added_regret: float = 0
    qualified: bool | None = None
    labels: Mapping[str, Ints] = field(default_factory=dict)
    segment: str | int | None = None
    weight: float = 1.0
    pinned: Bools | None = None
    gaps: Mapping[str, float] = field(default_factory=dict)
    met: Mapping[str, bool] = field(default_factory=dict)
    proof: str | None = None
    gap_bound: float | None = None

    @property
    def template(self) -> Ints | None:
        """The group at each shown position (m,); None where the query had no groups."""
        return self.groups

    def without(self, positions: Sequence[int]) -> Ranking:
        """The ranking without some positions, as if they had not been shown: what they teach has been learned.

        Of `memory`, arrays whose first axis is as long as the ranking are by position.
        """
        if not positions:
            return self
        n_shown = len(self)
        kept = np.delete(np.arange(n_shown), positions)
        memory = {key: value[kept] if value.shape[:1] == (n_shown,) else value for key, value in self.memory.items()}
        return replace(
            self,
            shown=self.shown[kept],
            features=self.features[kept],
            scores=self.scores[kept],
            groups=None if self.groups is None else self.groups[kept],
            document_ids=None if self.document_ids is None else self.document_ids[kept],
            exposure=None if self.exposure is None else self.exposure[kept],
            labels={key: of[kept] for key, of in self.labels.items()},
            pinned=None if self.pinned is None else self.pinned[kept],
            memory=memory,
        )

    def __len__(self) -> int:
        return len(self.shown)
