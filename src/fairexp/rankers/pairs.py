"""Preferences between documents that clicks reveal."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Bools, Floats
from fairexp.kernels.learning.pairs import difference_rows, examined_positions

PAIRS = ("all", "independent")
_NO_KEYS = np.zeros(0)


def examined(clicks: Bools) -> int:
    """How many positions the user is taken to have looked at: down to one below the last click; 0 without clicks.

    >>> examined(np.array([False, True, False, False]))
    3
    """
    return int(examined_positions(clicks))


def preference_rows(features: Floats, clicks: Bools, keys: Floats | None = None) -> Floats:
    """Differences (m, d) clicked minus examined-but-unclicked of the shown documents' `features` (k, d).

    Without `keys` every such pair counts. With random `keys` (k,) both sides are shuffled by them and matched one to
    one, so that each document is in at most one pair and the pairs' noise is independent.

    >>> preference_rows(np.eye(4), np.array([False, True, False, False]))
    array([[-1.,  1.,  0.,  0.],
           [ 0.,  1., -1.,  0.]])
    """
    return np.asarray(difference_rows(features, clicks, _NO_KEYS if keys is None else keys))
