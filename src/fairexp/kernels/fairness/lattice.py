"""Counts of shown documents by group.

A state is a vector of counts a (G,) with sum p <= k. States are numbered by the combinatorial number system: with
partial sums s_i = a_0 + ... + a_i the number is the sum of binomials C(s_i + i, i + 1), and adding a document to any
group always gives a larger number. So one backward pass over the numbers sees what follows a state before the state.
"""

import math

import cython
import numpy as np
from cython.cimports.libc.stdint import int64_t


def n_states(k, n_groups):
    """C(k + G, G), the number of count vectors with sum at most k."""
    return math.comb(k + n_groups, n_groups)


@cython.final
@cython.cclass
class Lattice:
    """`states` (S, G) in the order of their numbers, their sums `depth` (S,), and `child[s, g]`, s with one more of g.

    Where the sum is k already, children are -1.
    """

    def __init__(self, k: int64_t, n_groups: int64_t):
        self.n_states = n_states(k, n_groups)
        self.states = np.zeros((self.n_states, n_groups), dtype=np.int64)
        self.child = np.zeros((self.n_states, n_groups), dtype=np.int64)
        self.depth = np.zeros(self.n_states, dtype=np.int64)
        binomial = [[math.comb(s + i, i + 1) for s in range(k + 2)] for i in range(n_groups)]
        self.number(k, np.array(binomial, dtype=np.int64), np.zeros(n_groups, dtype=np.int64))

    def number(self, k, binomial, a):
        """Enter all states; the first is `a` (G,), none shown."""
        n_groups = a.shape[0]
        for number in range(self.n_states):
            p: int64_t = 0
            for g in range(n_groups):
                self.states[number, g] = a[g]
                p += a[g]
            self.depth[number] = p
            for g in range(n_groups):
                code: int64_t = 0
                s: int64_t = 0
                for i in range(n_groups):
                    s += a[i] + (1 if i == g else 0)
                    if p < k:
                        code += binomial[i, s]
                self.child[number, g] = code if p < k else -1
            # The next vector: one document moves from the first group after 0 that has any, with all of group 0's.
            j: int64_t = 1
            while j < n_groups and a[j] == 0:
                j += 1
            moving = a[0] + 1
            a[0] = 0
            if j < n_groups:
                a[j] -= 1
            a[j - 1] += moving
