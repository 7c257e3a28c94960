"""Which exposures a group can still collect from the positions that are left.

Exposures are rounded to a grid, so that a set of reachable sums is a row of bits and adding a position is a shift.
Rounding moves a sum of m positions by at most m / 2 cells, which every question allows for: "no" is always right.
"""

import cython
import numpy as np
from cython.cimports.libc.stdint import int64_t, uint64_t

MAX_WORDS = 500_000
"""Memory for sums of exposure, in words of 64 bits."""


@cython.final
@cython.cclass
class Reach:
    """`bits[p, j]` holds the sums of any j of the positions p..k-1; `bits[p, k + 1]` those of any number of them."""

    def __init__(self, P):
        k = len(P)
        n_words = min(256, max(16, MAX_WORDS // k**2))
        self.bits = np.zeros((k + 1, k + 2, n_words), dtype=np.uint64)
        self.width = max(sum(P), 1e-300) / (64 * n_words - k - 1)
        self.fill(np.array(P, dtype=np.float64))

    def fill(self, P):
        """Enter all sums, from the last position up."""
        k: cython.Py_ssize_t = P.shape[0]
        self.bits[k, 0, 0] = 1
        self.bits[k, k + 1, 0] = 1
        for p in range(k - 1, -1, -1):
            shift = cython.cast(int64_t, P[p] / self.width + 0.5)
            whole, part = shift // 64, shift % 64
            for j in range(k - p + 1):
                for word in range(self.bits.shape[2]):
                    sums: uint64_t = self.bits[p + 1, j, word]
                    source = word - whole
                    if j > 0 and source >= 0:
                        sums |= self.bits[p + 1, j - 1, source] << part
                        if part > 0 and source > 0:
                            sums |= self.bits[p + 1, j - 1, source - 1] >> (64 - part)
                    self.bits[p, j, word] = sums
                    self.bits[p, k + 1, word] |= sums

    def any_sum(self, p, j, first, last):
        """Whether a sum of `bits[p, j]` lies on the grid between `first` and `last`."""
        low: int64_t = max(first, 0)
        high: int64_t = min(last, 64 * self.bits.shape[2] - 1)
        if low > high:
            return False
        every: uint64_t = 0xFFFFFFFFFFFFFFFF
        start, end = low // 64, high // 64
        for word in range(start, end + 1):
            mask: uint64_t = every
            if word == start:
                mask &= every << (low % 64)
            if word == end:
                mask &= every >> (63 - high % 64)
            if self.bits[p, j, word] & mask:
                return True
        return False

    def can_collect(self, p, fewest, most, at_least, at_most):
        """Whether between `fewest` and `most` of the positions p..k-1 can sum to something in [at_least, at_most]."""
        k: int64_t = self.bits.shape[0] - 1
        error, limit = 0.5 * (k - p) * self.width, 64.0 * self.bits.shape[2]
        first = cython.cast(int64_t, min(max((at_least - error) / self.width, -1.0), limit))
        last = cython.cast(int64_t, min(max((at_most + error) / self.width + 1.0, -1.0), limit))
        if fewest == 0 and most == k - p:
            return self.any_sum(p, k + 1, first, last)
        for j in range(fewest, most + 1):
            if self.any_sum(p, j, first, last):
                return True
        return False
