from fairexp.arrays import Floats, Ints
from fairexp.kernels.fairness.lattice import Lattice
from fairexp.kernels.fairness.local_search import LocalSearch
from fairexp.kernels.fairness.owed import Owed
from fairexp.kernels.fairness.reach import Reach
from fairexp.kernels.fairness.rounds import Aim, Draw, Effort, Found, Round

class RankingSearch:
    round: Round
    owed: Owed
    exchanges: LocalSearch
    best: Found
    bound: int
    exact: bool
    impossible: bool
    def __init__(
        self, P: Floats, owed: Owed, reach: Reach, lengths: tuple[int, int], lattices: tuple[Lattice, Lattice | None]
    ) -> None: ...
    def begin(self, draw: Draw, aim: Aim, spent: Floats, shares: Floats, tolerance: Floats) -> None: ...
    def within(self, effort: Effort) -> bool: ...
    def around(self, limits: Floats, known: Ints, effort: Effort) -> None: ...
    def answer(self) -> Ints: ...
