"""Preferences between documents that clicks reveal."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Bools, Floats

PAIRS = ("all", "independent")


def examined(clicks: Bools) -> int:
    """How many positions the user is taken to have looked at: down to one below the last click; 0 without clicks.

    >>> examined(np.array([False, True, False, False]))
    3
    """
    clicked = np.flatnonzero(clicks)
    return 0 if len(clicked) == 0 else min(int(clicked[-1]) + 2, len(clicks))


def preference_rows(features: Floats, clicks: Bools, keys: Floats | None = None) -> Floats:
    """Differences (m, d) clicked minus examined-but-unclicked of the shown documents' `features` (k, d).

    Without `keys` every such pair counts. With random `keys` (k,) both sides are shuffled by them and matched one to
    one, so that each document is in at most one pair and the pairs' noise is independent.

    >>> preference_rows(np.eye(4), np.array([False, True, False, False]))
    array([[-1.,  1.,  0.,  0.],
           [ 0.,  1., -1.,  0.]])
    """
    seen = clicks[: examined(clicks)]
    winners, losers = np.flatnonzero(seen), np.flatnonzero(~seen)
    if keys is None:
        rows = features[winners][:, None, :] - features[losers][None, :, :]
        return rows.reshape(-1, features.shape[1])
    n_pairs = min(len(winners), len(losers))
    winners = winners[np.argsort(keys[winners])][:n_pairs]
    losers = losers[np.argsort(keys[losers])][:n_pairs]
    return np.asarray(features[winners] - features[losers])
