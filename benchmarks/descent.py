"""Rounds of the model-space explorers and of PDGD's network against the work they cannot avoid, and plain NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle

import numpy as np

from benchmarks.harness import Bar, Outcome, Part, by_turns, compare
from benchmarks.peers import LENGTH, D, N, Round, ours, peer_row, plain_round
from benchmarks.workloads import pool
from fairexp import Query, Ranking
from fairexp.arrays import Bools, Floats
from fairexp.ranker import Ranker
from fairexp.rankers import CMGD, CPS, DBGD, DPDBGD, DSP, MGD, MPDGD, NSGD, PMGD, NeuralPDGD, SimMGD
from tests.reference import descent as plain
from tests.reference.pdgd import PlainNeuralPDGD

Work = Callable[[Floats], object]
MOST = 3.0


class Still(Ranker):
    """Shows candidates as they come and learns nothing: what the contract takes by itself."""

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        return self._show(query, np.arange(min(self.length, query.n_candidates)), np.zeros(query.n_candidates))

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        """Nothing."""

    def _score(self, features: Floats) -> Floats:
        return np.zeros(len(features))


def parts(quick: bool) -> Iterator[Part]:
    """A row for each ranker against its floor, and for each family against plain NumPy, at n = 125, d = 136."""
    queries = [(query, grades >= 1) for query, grades in pool(N, D)]
    turns = 15 if quick else 60
    for ranker, what, floor in _floors():
        yield partial(floor_row, ranker, what, floor, queries, turns=turns)
    for name, mine, peer in _pairs():
        yield partial(peer_row, name, mine, peer, 5.0, queries, turns=turns)


def floor_row(
    ranker: Ranker, what: str, floor: Work, queries: list[tuple[Query, Bools]], *, turns: int
) -> Iterator[Outcome]:
    """A ranker's round (rank and update) against the work that it cannot avoid, on the same queries.

    What every ranker does, checks and records, is part of that.
    """
    mine, theirs = cycle(queries), cycle(queries)
    play, idle = ours(ranker), ours(Still(D, length=LENGTH, seed=0))
    for _ in range(100):  # what some remember is full by then
        play(*next(mine))

    def least() -> None:
        query, relevant = next(theirs)
        idle(query, relevant)
        floor(query.features)

    a, b = by_turns(lambda: play(*next(mine)), least, turns=turns, times=(16, 16))
    yield compare(f"{type(ranker).__name__} round, n={N}, d={D}", f"records, {what}", Bar(MOST), a, b)


def _floors() -> list[tuple[Ranker, str, Work]]:
    """Each ranker with its floor in words and in NumPy."""
    rng = np.random.default_rng(0)
    lost, past = rng.random((25, D)), rng.random((10, 50, D))
    references, layer = rng.random((50, D)), rng.random((64, D))

    def scored(n: int, features: Floats) -> Floats:
        return features @ rng.standard_normal((n, D)).T

    def ordered(n: int, features: Floats) -> object:
        return np.argsort(scored(n, features), axis=0)

    def similar(features: Floats) -> object:
        return np.argsort(features @ (rng.standard_normal((20, 50)) @ references).T, axis=0)

    def replayed(features: Floats) -> object:
        return ordered(2, features), np.argsort(past @ rng.standard_normal((6, D)).T, axis=1)

    def avoiding(features: Floats) -> object:
        return rng.standard_normal((10, D)), np.linalg.qr(lost.T), scored(10, features)

    def network(features: Floats) -> object:
        activity = np.tanh(features @ layer.T)
        return activity.sum(axis=1), activity[:LENGTH].T @ features[:LENGTH]

    both = "random directions and the scores of "
    return [
        (DBGD(D, seed=0), both + "2 models", partial(scored, 2)),
        (DPDBGD(D, seed=0), both + "3 models", partial(scored, 3)),
        (MPDGD(D, seed=0), both + "9 models", partial(scored, 9)),
        (MGD(D, seed=0), both + "10 models", partial(scored, 10)),
        (DSP(D, seed=0), both + "2 models", partial(scored, 2)),
        (NSGD(D, seed=0), "20 random directions, a QR of 25, the scores of 10 models", avoiding),
        (PMGD(D, seed=0), both + "50 models, in order", partial(ordered, 50)),
        (SimMGD(D, seed=0), "20 mixtures of 50 references and their scores, in order", similar),
        (CMGD(D, seed=0), both + "20 models, in order", partial(ordered, 20)),
        (CPS(D, seed=0), "scores of 6 models on 10 lists of 50, and of 2 on one, in order", replayed),
        (NeuralPDGD(D, seed=0), "its network's answers, and a gradient of 10", network),
    ]


def _pairs() -> list[tuple[str, Round, Round]]:
    """Each ranker of this topic and its plain version; DBGD's are in the topic `peers`."""
    by_chance = {"interleaving": "probabilistic"}
    return [
        ("DP-DBGD", ours(DPDBGD(D, length=LENGTH, seed=0)), plain_round(plain.PlainDPDBGD(D))),
        ("MP-DGD", ours(MPDGD(D, length=LENGTH, seed=0)), plain_round(plain.PlainMPDGD(D))),
        ("MGD", ours(MGD(D, length=LENGTH, seed=0)), plain_round(plain.PlainRivals(D))),
        ("P-MGD", ours(PMGD(D, length=LENGTH, seed=0)), plain_round(plain.PlainRivals(D, candidates=49, **by_chance))),
        ("CPS", ours(CPS(D, length=LENGTH, seed=0)), plain_round(plain.PlainCPS(D))),
        ("NSGD", ours(NSGD(D, length=LENGTH, seed=0)), plain_round(plain.PlainNSGD(D))),
        ("DSP", ours(DSP(D, length=LENGTH, seed=0)), plain_round(plain.PlainDSP(D))),
        ("Sim-MGD", ours(SimMGD(D, length=LENGTH, seed=0)), plain_round(plain.PlainSimMGD(D))),
        ("C-MGD", ours(CMGD(D, length=LENGTH, seed=0)), plain_round(plain.PlainCMGD(D))),
        ("neural PDGD", ours(NeuralPDGD(D, length=LENGTH, seed=0)), _plain_network()),
    ]


def _plain_network() -> Round:
    ranker = PlainNeuralPDGD(D, length=LENGTH, seed=0)

    def play(query: Query, relevant: Bools) -> None:
        shown, scores = ranker.rank(query.features)
        ranker.update(query.features, shown, scores, relevant[shown])

    return play
