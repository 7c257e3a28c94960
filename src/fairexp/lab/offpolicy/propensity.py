"""How probable what a ranker shows next is, before it shows it."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.ranker import Ranker
from fairexp.types import Query
from fairexp.validation import check_count

EXACT, ESTIMATED = "exact", "estimated"


@dataclass(frozen=True, slots=True, eq=False)
class Propensity:
    """Of a list that is shown: `positions` (m,) are the probabilities that each document stands where it does.

    `kind` is "exact", or "estimated" by redrawing the list. `log_list` is the log of the probability of the list as a
    whole, always exact, and None where it is not known. All are given the query and all that was learned before.
    """

    positions: Floats
    kind: str
    log_list: float | None


def next_propensity(ranker: Ranker, query: Query, *, n_draws: int = 64, rng: np.random.Generator) -> Propensity:
    """The propensity of the list that `ranker.rank(query)` is going to show next; to be asked for before it.

    Where probabilities of positions have no closed form, the list is drawn `n_draws` times more, with independent
    random numbers from `rng`, and the list that is shown counts as one draw more. An estimate is the mean over them of
    the probability that the document comes next below what a draw has above the position, where documents are drawn one
    after the other; else the share of draws that have the document there. Each draw might as well have been the one
    that is shown, so weighing by the inverse is unbiased, but for what is so rare that all draws miss it. Of shares
    that is (1 - p)^(1 + n_draws) of the weight of a document with probability p: take many more draws than 1 / p.

    >>> from fairexp import PDGD, Query, RandomRanker
    >>> query, rng = Query(features=[[0.0], [1.0], [2.0]]), np.random.default_rng(0)
    >>> found = next_propensity(RandomRanker(1, length=2, seed=1), query, rng=rng)
    >>> found.positions.round(3).tolist(), found.kind, round(float(np.exp(found.log_list)), 3)
    ([0.333, 0.333], 'exact', 0.167)
    >>> next_propensity(PDGD(1, length=2, seed=1), query, rng=rng).kind
    'estimated'
    """
    check_count("n_draws", n_draws)
    shown = ranker.draw(query, ranker.stream.at(ranker.n_ranked))
    log_list = ranker.log_probability(query, shown)
    known = ranker.position_probabilities(query)
    if known is not None:
        return Propensity(known[shown, np.arange(len(shown))], EXACT, log_list)
    before = _counter(rng)
    first = ranker.draw(query, rng)
    if before == _counter(rng):  # no random numbers: the list was certain
        return Propensity(np.ones(len(shown)), EXACT, 0.0)
    draws = [shown, first, *ranker.draws(query, rng, n_draws - 1)]
    chances = None
    if all(len(drawn) == len(shown) for drawn in draws):
        chances = ranker.next_probabilities(query, np.array(draws), shown)
    if chances is None:
        chances = np.array([_same(drawn, shown) for drawn in draws], dtype=np.float64)
    return Propensity(chances.mean(axis=0), ESTIMATED, log_list)


def drawn_positions(ranker: Ranker, query: Query, *, n_draws: int, rng: np.random.Generator) -> Floats:
    """The probability (n, m) that the ranker shows document i at position p: exact, or the share of `n_draws` draws."""
    known = ranker.position_probabilities(query)
    if known is not None:
        return known
    shares = np.zeros((query.n_candidates, min(ranker.length, query.n_candidates)))
    for shown in ranker.draws(query, rng, n_draws):
        shares[shown, np.arange(len(shown))] += 1.0 / n_draws
    return shares


def _same(drawn: Ints, shown: Ints) -> Ints:
    """1 where two lists agree (m,); a shorter one does not below its end."""
    same = np.zeros(len(shown), dtype=np.int64)
    both = min(len(drawn), len(shown))
    same[:both] = drawn[:both] == shown[:both]
    return same


def _counter(rng: np.random.Generator) -> bytes:
    """Where `rng` stands: the same as long as nothing was drawn. As text it would take seven times as long."""
    return pickle.dumps(rng.bit_generator.state)
