from fairexp.arrays import Floats, Ints
from fairexp.kernels.search.lattice import Lattice
from fairexp.kernels.search.reach import Reach
from fairexp.kernels.search.rounds import Aim, Draw, Effort
from fairexp.kernels.search.subsets import Subsets

class Search:
    def __init__(
        self, P: Floats, n_groups: int, reach: Reach, subsets: Subsets, lattice: Lattice | None = None
    ) -> None: ...
    def begin(self, draw: Draw, aim: Aim) -> None: ...
    def solve(self, tolerance: float, effort: Effort) -> tuple[Ints, Ints, int, Floats, float, int, float]: ...
