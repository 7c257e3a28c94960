"""Preferences between shown documents that clicks reveal."""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.numbers import ConstBool, ConstFloat
from cython.cimports.libc.stdint import int64_t
from cython.cimports.libc.stdlib import calloc, free


@cython.ccall
@cython.exceptval(check=False)
def examined_positions(clicks: ConstBool[::1]) -> cython.Py_ssize_t:
    """Positions down to one below the last click; 0 without clicks."""
    n = clicks.shape[0]
    for p in range(n - 1, -1, -1):
        if clicks[p]:
            return min(p + 2, n)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _split(
    clicks: ConstBool[::1],
    keys: ConstFloat[::1],
    n_seen: cython.Py_ssize_t,
    clicked: cython.bint,
    chosen: cython.pointer[int64_t],
) -> cython.Py_ssize_t:
    """Put into `chosen` the positions seen that were (not) clicked, by their keys where there are any: how many."""
    count: cython.Py_ssize_t = 0
    for p in range(n_seen):
        if clicks[p] == clicked:
            at = count
            while keys.shape[0] > 0 and at > 0 and keys[chosen[at - 1]] > keys[p]:
                chosen[at] = chosen[at - 1]
                at -= 1
            chosen[at] = p
            count += 1
    return count


def difference_rows(features: ConstFloat[:, ::1], clicks: ConstBool[::1], keys: ConstFloat[::1]):
    """Clicked minus examined but unclicked (m, d): every pair, or, with `keys` (k,), matched one to one by them."""
    winners = cython.cast(cython.pointer[int64_t], calloc(2 * clicks.shape[0] + 1, cython.sizeof(int64_t)))
    if winners == cython.NULL:
        raise MemoryError
    losers = winners + clicks.shape[0]
    n_seen = examined_positions(clicks)
    n_winners = _split(clicks, keys, n_seen, True, winners)
    n_losers = _split(clicks, keys, n_seen, False, losers)
    matched: cython.bint = keys.shape[0] > 0
    n_rows = min(n_winners, n_losers) if matched else n_winners * n_losers
    result = np.empty((n_rows, features.shape[1]))
    rows: cython.double[:, ::1] = result
    with cython.nogil:
        for r in range(n_rows):
            winner = winners[r] if matched else winners[r // n_losers]
            loser = losers[r] if matched else losers[r % n_losers]
            for f in range(features.shape[1]):
                rows[r, f] = features[winner, f] - features[loser, f]
        free(winners)
    return result
