"""Subsets of the positions of a short list, each set's in the order of their sums of exposure.

So all that fit what a group may gain stand side by side. Sets are bit masks: position p is the bit 2**p.
"""

import cython
import numpy as np
from cython.cimports.libc.stdint import int64_t


@cython.final
@cython.cclass
class Subsets:
    """By mask (2**k,): the sum of exposure `worth` and the number of positions.

    A set's own subsets, the empty one and itself included, are `masks[start[mask] : start[mask + 1]]` of 3**k in all,
    in the order of their `sums`.
    """

    def __init__(self, P):
        total, listed = 1 << len(P), int(3 ** len(P))
        self.worth, self.n_positions = np.zeros(total), np.zeros(total, dtype=np.int64)
        self.start = np.zeros(total + 1, dtype=np.int64)
        self.masks, self.sums = np.zeros(listed, dtype=np.uint16), np.zeros(listed)
        self.add_up(np.array(P, dtype=np.float64))

    def add_up(self, P):
        """Enter all sets."""
        p: int64_t = 0
        self.start[1] = 1
        for mask in range(1, self.worth.shape[0]):
            rest = mask & (mask - 1)
            p = 0
            while not (mask >> p) & 1:
                p += 1
            self.worth[mask] = self.worth[rest] + P[p]
            self.n_positions[mask] = self.n_positions[rest] + 1
            self.start[mask + 1] = self.start[mask] + (1 << self.n_positions[mask])
            self.merge(mask)

    def merge(self, mask):
        """List the subsets of `mask` with and without its topmost position: two lists in order become one."""
        rest = mask & (mask - 1)
        first, more = mask ^ rest, self.worth[mask ^ rest]
        without: int64_t = self.start[rest]
        with_it: int64_t = self.start[rest]
        end = self.start[rest + 1]
        for at in range(self.start[mask], self.start[mask + 1]):
            if without < end and (with_it >= end or self.sums[without] <= self.sums[with_it] + more):
                self.masks[at], self.sums[at] = self.masks[without], self.sums[without]
                without += 1
            else:
                self.masks[at] = self.masks[with_it] | cython.cast(cython.ushort, first)
                self.sums[at] = self.sums[with_it] + more
                with_it += 1

    def first_at_least(self, begin, end, value):
        """Where in sums[begin:end], which ascend, the first of at least `value` stands."""
        while begin < end:
            middle = (begin + end) // 2
            if self.sums[middle] < value:
                begin = middle + 1
            else:
                end = middle
        return begin

    def between(self, mask, low, high):
        """Where the subsets of `mask` with sums of at least `low` and below `high` begin and end."""
        begin = self.first_at_least(self.start[mask], self.start[mask + 1], low)
        return begin, self.first_at_least(begin, self.start[mask + 1], high)
