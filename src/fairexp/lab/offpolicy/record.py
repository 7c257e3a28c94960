"""A log of rounds for off-policy work: context, what was shown, how probable that was, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.types import Query


@dataclass(frozen=True, slots=True, eq=False)
class BanditLog:
    """T rounds over C contexts, which are queries with their candidates.

    - `features` (N, d) and `groups` (N,) of all candidates; context c has the rows starts[c]:starts[c + 1].
    - `context` (T,) of each round, which showed the entries offsets[t]:offsets[t + 1] of the following:
    - `shown` (S,), candidates by number within their context, from the top position down; `reward` (S,), 1 for a click;
      `propensity` (S,), the probability that the document stands at its position.
    - `log_list` (T,): the log of the probability of the whole list, NaN where unknown; None where all are.
    - `exact` (T,): whether propensities are known, not estimated; None where nobody says.
    - `query_ids` (C,): what contexts are called; `feature_names` (d,): what features are, or None where nobody says.

    >>> log = BanditLog(np.eye(2), np.array([0, 2]), np.array([0]), np.array([0, 1]), np.array([1]), np.array([1.0]),
    ...                 np.array([0.5]))
    >>> log.n_rounds, log.query(0).n_candidates
    (1, 2)
    """

    features: Floats
    starts: Ints
    context: Ints
    offsets: Ints
    shown: Ints
    reward: Floats
    propensity: Floats
    log_list: Floats | None = None
    groups: Ints | None = None
    exact: Bools | None = None
    query_ids: tuple[str | int, ...] = ()
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        wrong = ~((self.propensity > 0.0) & (self.propensity <= 1.0))
        if wrong.any():
            found = self.propensity[wrong][0]
            raise ArgumentError("propensity", f"{found:g}", "probabilities above 0 and up to 1 for all that was shown")
        if len(self.context) == 0:
            raise ArgumentError("log", "no rounds", "at least one")

    @property
    def n_rounds(self) -> int:
        return len(self.context)

    @property
    def length(self) -> int:
        """The most positions that a round showed."""
        return int(np.diff(self.offsets).max())

    @property
    def rounds(self) -> Ints:
        """The round (S,) of each entry."""
        return np.repeat(np.arange(self.n_rounds), np.diff(self.offsets))

    @property
    def positions(self) -> Ints:
        """The position (S,) of each entry, from 0."""
        return np.arange(len(self.shown)) - np.repeat(self.offsets[:-1], np.diff(self.offsets))

    @property
    def rows(self) -> Ints:
        """The row (S,) of `features` of each entry."""
        return np.asarray(self.starts[self.context[self.rounds]] + self.shown)

    def query(self, context: int) -> Query:
        """A context as rankers see it."""
        rows = slice(int(self.starts[context]), int(self.starts[context + 1]))
        return Query(
            features=self.features[rows],
            groups=None if self.groups is None else self.groups[rows],
            query_id=self.query_ids[context] if self.query_ids else context,
            document_ids=np.arange(rows.stop - rows.start),
        )
