"""The explorers show and learn what plain versions of them do, round after round, with the same random numbers."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp import Query
from fairexp.randomness import Stream
from fairexp.rankers import CMGD, CPS, DBGD, DPDBGD, DSP, MGD, MPDGD, NSGD, PMGD, SimMGD
from tests.reference import descent as plain

D, LENGTH, ROUNDS = 7, 5, 80
PAIRS = {
    "dbgd": (DBGD, {}, plain.PlainRivals, {"candidates": 1}),
    "dbgd, probabilistic": (
        DBGD,
        {"interleaving": "probabilistic"},
        plain.PlainRivals,
        {"candidates": 1, "interleaving": "probabilistic"},
    ),
    "dp-dbgd": (DPDBGD, {}, plain.PlainDPDBGD, {}),
    "mp-dgd": (MPDGD, {}, plain.PlainMPDGD, {}),
    "mgd": (MGD, {}, plain.PlainRivals, {}),
    "p-mgd": (PMGD, {"candidates": 13}, plain.PlainRivals, {"candidates": 13, "interleaving": "probabilistic"}),
    "cps": (CPS, {"max_candidates": 9, "history": 4}, plain.PlainCPS, {"max_candidates": 9, "history": 4}),
    "nsgd": (NSGD, {"losers": 8}, plain.PlainNSGD, {"losers": 8}),
    "dsp": (DSP, {"viewed": 1}, plain.PlainDSP, {"viewed": 1}),
    "sim-mgd": (SimMGD, {"references": 12}, plain.PlainSimMGD, {"references": 12}),
    "c-mgd": (CMGD, {"references": 12, "threshold": 0.2}, plain.PlainCMGD, {"references": 12, "threshold": 0.2}),
}


@pytest.mark.parametrize("name", PAIRS)
def test_agrees_with_its_plain_version(name):
    """Weights are not all 0 at first, because plain versions do not break ties alike; users click at most three."""
    cls, options, plain_cls, plain_options = PAIRS[name]
    ours = cls(D, length=LENGTH, learning_rate=0.3, seed=0, **options)
    theirs = plain_cls(D, length=LENGTH, learning_rate=0.3, **plain_options)
    rng, stream, moves = np.random.default_rng(1), Stream(0), 0
    if not isinstance(theirs, plain.PlainSimMGD):
        ours.weights = theirs.weights = rng.standard_normal(D)
    truth = rng.standard_normal(D)
    for number in range(ROUNDS):
        features = rng.random((12, D))
        shown, credit, directions = theirs.rank(features, stream.at(number))
        ranking = ours.rank(Query(features=features))
        assert ranking.shown.tolist() == shown.tolist()
        clicks = np.zeros(LENGTH, dtype=bool)
        if number % 5:
            clicks[np.argsort(-(features[shown] @ truth))[: 1 + number % 3]] = True
        before = ours.weights
        theirs.update(features, shown, credit, directions, clicks)
        ours.update(ranking, clicks)
        moves += ours.weights is not before
        weights = theirs.linear if isinstance(theirs, plain.PlainSimMGD) and theirs.is_ready else theirs.weights
        assert ours.weights == pytest.approx(weights[:D], rel=1e-9, abs=1e-9)
    assert moves > ROUNDS / 8
    if name == "c-mgd":
        assert theirs.is_linear and bool(ours.state()["is_linear"])
