from fairexp.kernels.fairness.lattice import Lattice
from fairexp.kernels.fairness.multipliers import Multipliers
from fairexp.kernels.fairness.rounds import Corridors, Round

class Tables:
    count: int
    n_cells: int
    shift: int
    def __init__(self, round: Round, lattice: Lattice, multipliers: Multipliers) -> None: ...
    def build(self, top: int, max_cells: int) -> None: ...
    def least_ahead(self, t: int, s: int, p: int, within: Corridors, enough: int) -> int: ...
