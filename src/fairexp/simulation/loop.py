"""The loop in which a ranker and users meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairexp.arrays import Bools, Ints
from fairexp.data import Dataset
from fairexp.rankers.base import Ranker
from fairexp.types import Ranking
from fairexp.users import User


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """One round: its number from 1, the query's index, what was shown, the true grades (n,), and the clicks (m,)."""

    number: int
    query: int
    ranking: Ranking
    relevance: Ints
    clicks: Bools


def play(
    ranker: Ranker, dataset: Dataset, user: User, *, rounds: int, rng: np.random.Generator, first: int = 1
) -> Iterator[Round]:
    """Serve `rounds` queries, each drawn uniformly with replacement, and learn from the user's clicks."""
    for number in range(first, first + rounds):
        index = int(rng.integers(dataset.n_queries))
        relevance = dataset.relevance(index)
        ranking = ranker.rank(dataset.query(index))
        clicks = user.browse(ranking, relevance)
        ranker.update(ranking, clicks)
        yield Round(number, index, ranking, relevance, clicks)
