from fairexp.arrays import Floats, Ints
from fairexp.kernels.demands.owed import Owed
from fairexp.kernels.search.lattice import Lattice
from fairexp.kernels.search.reach import Reach
from fairexp.kernels.search.rounds import Aim, Draw, Effort

class RankingSearch:
    def __init__(self, P: Floats, owed: Owed, reach: Reach, lattice: Lattice, lengths: tuple[int, int]) -> None: ...
    def solve(
        self, draw: Draw, aim: Aim, effort: Effort, spent: Floats, shares: Floats, tolerance: Floats
    ) -> tuple[Ints, int, bool, int, Floats]: ...
