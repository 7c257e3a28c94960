"""Rounds of the baselines against plain NumPy versions of them, which the tests compare them with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle

import numpy as np

from benchmarks.harness import Bar, Outcome, Part, by_turns, compare
from benchmarks.workloads import pool
from fairexp import PDGD, FairCo, Query
from fairexp.arrays import Bools
from fairexp.ranker import Ranker
from fairexp.rankers import DBGD
from tests.reference.descent import PlainRivals
from tests.reference.fairco import PlainFairCo
from tests.reference.pdgd import PlainPDGD

N, D, LENGTH = 125, 136, 10
CURVE = 1.0 / np.arange(1, LENGTH + 1)
Round = Callable[[Query, Bools], None]


def parts(quick: bool) -> Iterator[Part]:
    """A row each for PDGD, DBGD (both interleavings) and FairCo at n = 125, d = 136; users click what is relevant."""
    queries = [(query, grades >= 1) for query, grades in pool(N, D)]
    for name, ours, peer, limit in _pairs():
        yield partial(peer_row, name, ours, peer, limit, queries, turns=15 if quick else 60)


def peer_row(
    name: str, ours: Round, peer: Round, limit: float, queries: list[tuple[Query, Bools]], *, turns: int
) -> Iterator[Outcome]:
    """One baseline's round (rank and update) against its plain version, on the same queries."""
    mine, theirs = cycle(queries), cycle(queries)
    a, b = by_turns(lambda: ours(*next(mine)), lambda: peer(*next(theirs)), turns=turns, times=(16, 16))
    yield compare(f"{name} round, n={N}, d={D}", "plain NumPy", Bar(limit, at_most=False), a, b)


def _pairs() -> list[tuple[str, Round, Round, float]]:
    merit = (1.0, 1.0)
    return [
        ("PDGD", ours(PDGD(D, length=LENGTH, seed=0)), _plain_pdgd(), 10.0),
        ("DBGD", ours(DBGD(D, length=LENGTH, seed=0)), plain_round(PlainRivals(D, candidates=1)), 2.0),
        (
            "DBGD (probabilistic)",
            ours(DBGD(D, length=LENGTH, interleaving="probabilistic", seed=0)),
            plain_round(PlainRivals(D, candidates=1, interleaving="probabilistic")),
            2.0,
        ),
        ("FairCo", ours(FairCo(D, length=LENGTH, merit=merit, seed=0)), _plain_fairco(merit), 5.0),
    ]


def ours(ranker: Ranker) -> Round:
    """Rounds of one of our rankers."""

    def play(query: Query, relevant: Bools) -> None:
        ranking = ranker.rank(query)
        ranker.update(ranking, relevant[ranking.shown])

    return play


def _plain_pdgd() -> Round:
    ranker = PlainPDGD(D, length=LENGTH, seed=0)

    def play(query: Query, relevant: Bools) -> None:
        shown, scores = ranker.rank(query.features)
        ranker.update(query.features, shown, scores, relevant[shown])

    return play


def plain_round(ranker: PlainRivals) -> Round:
    """Rounds of the plain version of an explorer."""
    rng = np.random.default_rng(0)

    def play(query: Query, relevant: Bools) -> None:
        shown, credit, directions = ranker.rank(query.features, rng)
        ranker.update(query.features, shown, credit, directions, relevant[shown])

    return play


def _plain_fairco(merit: tuple[float, ...]) -> Round:
    ranker = PlainFairCo(D, length=LENGTH, exposure=CURVE, merit=merit, seed=0)

    def play(query: Query, relevant: Bools) -> None:
        shown = ranker.rank(query.features, query.groups)
        ranker.update(query.features[shown], relevant[shown])

    return play
