"""Optimised interleaving: of some lists that could be shown, one drawn so that credit is unbiased and tells most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.interleaving.linear_program import chances_of_lists
from fairexp.interleaving.mixed import Interleaved, check_scores
from fairexp.validation import check_count


@dataclass(frozen=True, eq=False)
class Optimised(Interleaved):
    """A mix with the credit `worth` (m, r) of a click on each document to each ranker.

    `bias` is the most by which expected credit for clicks at random, down to any depth, differs from the rankers' mean:
    0 where some way to draw among the lists treats all rankers alike.
    """

    worth: Floats
    bias: float

    def _credit(self, clicks: Bools) -> Floats:
        return np.asarray(self.worth[clicks].sum(axis=0))


def optimised(scores: Floats, *, length: int, rng: np.random.Generator, n_lists: int = 10) -> Optimised:
    """Mix the lists by `scores` (r, n): draw one of up to `n_lists` lists, with chances from a linear program.

    In each of the lists every position goes to a random ranker, which adds its best document left. A click on a
    document is worth 1/rank to a ranker that has it at that rank. The chances make expected credit equal for all
    rankers at every depth, for users who click by position alone; where no chances do, they leave as little difference
    as possible (`Optimised.bias`). Among those, they prefer lists on which clicks at random tell rankers apart least,
    so that relevance does. Needs scipy, which comes with `fairexp[lp]`.

    Radlinski and Craswell, "Optimized interleaving for online retrieval evaluation", WSDM 2013; for more than two
    rankers Schuth, Sietsma, Whiteson, Lefortier and de Rijke, CIKM 2014.
    """
    m = check_scores(scores, length)
    orders = _orders(scores, rng)
    lists = _sampled_lists(orders, m, rng.random((check_count("n_lists", n_lists), m, len(scores))))
    worth = np.stack([_worth(order, scores.shape[1]) for order in orders], axis=1)
    chances, bias = chances_of_lists(worth[lists])
    drawn = lists[min(int(np.searchsorted(np.cumsum(chances), rng.random(), side="right")), len(lists) - 1)]
    return Optimised(drawn, worth[drawn], bias)


def _orders(scores: Floats, rng: np.random.Generator) -> list[Ints]:
    """Each ranker's list of documents, from the best down."""
    keys = rng.random(scores.shape[1])
    return [np.lexsort((keys, -row))[: int((row > -np.inf).sum())] for row in scores]


def _sampled_lists(orders: list[Ints], m: int, keys: Floats) -> Ints:
    """Distinct lists (l, m), in a fixed order: at each position the ranker of lowest key (n_lists, m, r) that has a
    document left adds its best."""
    lists = set()
    for by_position in keys:
        shown: list[int] = []
        for by_ranker in by_position:
            left = ((d for d in orders[ranker].tolist() if d not in shown) for ranker in np.argsort(by_ranker))
            shown.append(next(document for documents in left for document in documents))
        lists.add(tuple(shown))
    return np.array(sorted(lists), dtype=np.int64).reshape(len(lists), m)


def _worth(order: Ints, n: int) -> Floats:
    """What a click on each document (n,) is worth: 1/rank; of a document that is not listed, as if it were next."""
    worth = np.full(n, 1.0 / (len(order) + 1.0))
    worth[order] = 1.0 / np.arange(1.0, len(order) + 1.0)
    return worth
