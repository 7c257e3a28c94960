from fairexp.arrays import Floats, Ints
from fairexp.kernels.fairness.lattice import Lattice
from fairexp.kernels.fairness.owed import Owed
from fairexp.kernels.fairness.rounds import Round

class DualPrices:
    lattice: Lattice
    bound: int
    paid: float
    by_class: Floats
    ahead: Floats
    word: Ints
    def __init__(self, round: Round, owed: Owed, lattice: Lattice) -> None: ...
    def begin(self) -> None: ...
    def survey(self, known: int) -> None: ...
