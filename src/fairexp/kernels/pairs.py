"""Preferences between shown documents that clicks reveal."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.kernels.compiling import kernel


@kernel
def examined_positions(clicks: Bools) -> int:
    """Positions down to one below the last click; 0 without clicks."""
    n = clicks.shape[0]
    for p in range(n - 1, -1, -1):
        if clicks[p]:
            return int(min(p + 2, n))
    return 0


@kernel
def _split(clicks: Bools, keys: Floats, n_seen: int, clicked: bool) -> tuple[Ints, int]:
    """The examined positions that were (not) clicked, by their keys where there are any, and how many they are."""
    chosen = np.zeros(clicks.shape[0], dtype=np.int64)
    count = 0
    for p in range(n_seen):
        if clicks[p] == clicked:
            at = count
            while keys.shape[0] > 0 and at > 0 and keys[chosen[at - 1]] > keys[p]:
                chosen[at] = chosen[at - 1]
                at -= 1
            chosen[at] = p
            count += 1
    return chosen, count


@kernel
def difference_rows(features: Floats, clicks: Bools, keys: Floats) -> Floats:
    """Clicked minus examined but unclicked (m, d): every pair, or, with `keys` (k,), matched one to one by them."""
    n_seen = examined_positions(clicks)
    winners, n_winners = _split(clicks, keys, n_seen, True)
    losers, n_losers = _split(clicks, keys, n_seen, False)
    matched = keys.shape[0] > 0
    n_rows = min(n_winners, n_losers) if matched else n_winners * n_losers
    rows = np.zeros((n_rows, features.shape[1]))
    for r in range(n_rows):
        winner = winners[r] if matched else winners[r // n_losers]
        loser = losers[r] if matched else losers[r % n_losers]
        for f in range(features.shape[1]):
            rows[r, f] = features[winner, f] - features[loser, f]
    return rows
