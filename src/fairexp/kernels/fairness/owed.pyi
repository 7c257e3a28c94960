from collections.abc import Sequence

from fairexp.arrays import Floats, Ints

class Owed:
    n_demands: int
    n_columns: int
    total: float
    start: Ints
    column: Ints
    watched: Ints
    spent: Floats
    w: Floats
    tolerance: Floats
    limit: Floats
    lower: Floats
    upper: Floats
    middle: Floats
    E: Floats
    ratio: Floats
    def __init__(self, P: Floats, members: Ints, n_groups: Sequence[int]) -> None: ...
    def begin(self, spent: Floats, shares: Floats, tolerance: Floats) -> None: ...
    def narrow(self, c: int, limit: float) -> None: ...
    def gap(self, c: int) -> float: ...
