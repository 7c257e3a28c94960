from fairexp.arrays import Floats, Ints
from fairexp.kernels.search.exchanges import Exchanges
from fairexp.kernels.search.lattice import Lattice
from fairexp.kernels.search.owed import Owed
from fairexp.kernels.search.reach import Reach
from fairexp.kernels.search.rounds import Aim, Draw, Effort, Found, Round
from fairexp.kernels.search.subsets import Subsets

class Search:
    round: Round
    owed: Owed
    exchanges: Exchanges
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
