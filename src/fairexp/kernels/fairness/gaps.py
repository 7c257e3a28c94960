"""How far apart groups end.

Symbols, here and in the other parts of the search: E exposure by group, w shares, P exposure by position. Unfairness of
a pair g < h is E_g - (w_g / w_h) E_h; a template's gap is the largest magnitude over pairs.
"""

from cython.cimports.libc.math import fabs
from cython.cimports.libc.stdint import int64_t

EPSILON = 1e-9
"""Unfairness is compared with the tolerance up to this: rounding must not decide who is shown."""

slack = EPSILON


def largest_gap(E, w):
    """The largest |E_g - (w_g / w_h) E_h| over pairs of groups g < h."""
    largest = 0.0
    for g in range(E.shape[0]):
        for h in range(g + 1, E.shape[0]):
            largest = max(largest, fabs(E[g] - w[g] / w[h] * E[h]))
    return largest


def largest(groups):
    """The largest number of a group (n,), or -1 where there is none."""
    found: int64_t = -1
    for p in range(groups.shape[0]):
        found = max(found, groups[p])
    return found
