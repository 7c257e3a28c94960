from fairexp.arrays import Floats, Ints

EPSILON: float
"""Unfairness is compared with the tolerance up to this: rounding must not decide who is shown."""

def largest_gap(E: Floats, w: Floats) -> float: ...
def largest(groups: Ints) -> int: ...
