"""Which exposures a group can still collect from the positions that are left.

Exposures are rounded to a grid of width r, so that a set of reachable sums is a row of bits and adding a position is a
shift. `reach[p, j]` holds the sums of any j of the positions p..k-1; `reach[p, k + 1]` those of any number of them.
Rounding moves a sum of m positions by at most m r / 2, which every question allows for: "no" is always right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Floats
from fairexp.kernels.compiling import kernel

Bits = NDArray[np.uint64]


@kernel
def build_reach(P: Floats, n_words: int) -> tuple[Bits, float]:
    """The table (k + 1, k + 2, words) of reachable sums, and the grid's width."""
    k = P.shape[0]
    n_bits = 64 * n_words
    total = 0.0
    for p in range(k):
        total += P[p]
    width = max(total, 1e-300) / (n_bits - k - 1)
    reach = np.zeros((k + 1, k + 2, n_words), dtype=np.uint64)
    reach[k, 0, 0] = 1
    reach[k, k + 1, 0] = 1
    for p in range(k - 1, -1, -1):
        shift = int(P[p] / width + 0.5)
        whole, part = shift // 64, shift % 64
        for j in range(k - p + 1):
            for word in range(n_words):
                bits = reach[p + 1, j, word]
                source = word - whole
                if j > 0 and source >= 0:
                    bits |= reach[p + 1, j - 1, source] << np.uint64(part)
                    if part > 0 and source > 0:
                        bits |= reach[p + 1, j - 1, source - 1] >> np.uint64(64 - part)
                reach[p, j, word] = bits
                reach[p, k + 1, word] |= bits
    return reach, width


@kernel
def any_sum(reach: Bits, p: int, j: int, first: int, last: int) -> bool:
    """Whether a sum of `reach[p, j]` lies on the grid between `first` and `last`."""
    low, high = max(first, 0), min(last, 64 * reach.shape[2] - 1)
    if low > high:
        return False
    every = np.uint64(0xFFFFFFFFFFFFFFFF)
    start, end = low // 64, high // 64
    for word in range(start, end + 1):
        mask = every
        if word == start:
            mask &= every << np.uint64(low % 64)
        if word == end:
            mask &= every >> np.uint64(63 - high % 64)
        if reach[p, j, word] & mask:
            return True
    return False


@kernel
def can_collect(reach: Bits, width: float, p: int, fewest: int, most: int, at_least: float, at_most: float) -> bool:
    """Whether between `fewest` and `most` of the positions p..k-1 can sum to something in [at_least, at_most]."""
    k = reach.shape[0] - 1
    error = 0.5 * (k - p) * width
    limit = 64.0 * reach.shape[2]
    first = int(min(max((at_least - error) / width, -1.0), limit))
    last = int(min(max((at_most + error) / width + 1.0, -1.0), limit))
    if fewest == 0 and most == k - p:
        return any_sum(reach, p, k + 1, first, last)
    for j in range(fewest, most + 1):
        if any_sum(reach, p, j, first, last):
            return True
    return False
