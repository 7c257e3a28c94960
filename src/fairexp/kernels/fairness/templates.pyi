from fairexp.arrays import Floats, Ints
from fairexp.kernels.fairness.lattice import Lattice
from fairexp.kernels.fairness.local_search import LocalSearch
from fairexp.kernels.fairness.owed import Owed
from fairexp.kernels.fairness.reach import Reach
from fairexp.kernels.fairness.rounds import Aim, Draw, Effort, Found, Round
from fairexp.kernels.fairness.subsets import Subsets

class Search:
    round: Round
    owed: Owed
    exchanges: LocalSearch
    best: Found
    bound: int
    gap_bound: float
    impossible: bool
    def __init__(
        self, P: Floats, n_groups: int, reach: Reach, subsets: Subsets, lattice: Lattice | None = None
    ) -> None: ...
    def begin(self, draw: Draw, aim: Aim) -> None: ...
    def within(self, tolerance: float, effort: Effort) -> bool: ...
    def around(self, limit: float, known: Ints, effort: Effort) -> None: ...
    def answer(self) -> tuple[Ints, Ints, int, Floats, float]: ...
