from fairexp.arrays import Floats
from fairexp.kernels.fairness.lattice import Lattice
from fairexp.kernels.fairness.rounds import Corridors, Round

class Multipliers:
    corridors: Corridors
    prices: Floats
    bound: int
    through: Floats
    guide: Floats
    def __init__(self, round: Round, lattice: Lattice) -> None: ...
    def survey(self, limit: float) -> None: ...
