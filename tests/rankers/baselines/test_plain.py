"""The rivals show what plain versions of them show, round after round, with the same random numbers."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp.randomness import Stream
from fairexp.registry import construct
from fairexp.types import Query
from tests.reference import rivals

D, LENGTH = 6, 5


@pytest.mark.parametrize("name", ["mcfair", "offr", "p-mmf", "mmf", "xquad", "ears"])
def test_agrees_with_its_plain_version(name):
    """What both start from leaves no ties, which they would break differently: a first update, a first account."""
    known = {"n_features": D, "length": LENGTH, "merit": (1.0, 1.0), "momentum": 1.0, "seed": 0}
    ours = construct(name, {}, known=known)
    plain = rivals.PlainRival(getattr(rivals, name.replace("-", "_")), D, length=LENGTH)
    rng, stream = np.random.default_rng(1), Stream(0)
    first, targets = rng.random((9, D)), rng.random(9)
    ours._relevance.add(first, targets)
    plain.matrix, plain.moment = plain.matrix + first.T @ first, targets @ first
    if name == "mmf":
        ours._by_position = plain.by_position = rng.random((2, LENGTH))
        plain.by_position = plain.by_position.copy()
    for number in range(120):
        plain.rng = stream.at(number)
        features, groups = rng.random((12, D)), rng.integers(2, size=12)
        groups[:2] = (0, 1)
        shown, ranking = plain.rank(features, groups), ours.rank(Query(features=features, groups=groups))
        assert shown.tolist() == ranking.shown.tolist()
        clicks = rng.random(LENGTH) < 0.4
        plain.update(features[shown], clicks)
        ours.update(ranking, clicks)
    if name == "p-mmf":
        assert ours.prices == pytest.approx(plain.prices, abs=1e-9)
