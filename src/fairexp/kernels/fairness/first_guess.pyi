from fairexp.kernels.fairness.lattice import Lattice
from fairexp.kernels.fairness.multipliers import Multipliers
from fairexp.kernels.fairness.rounds import Found, Round
from fairexp.kernels.fairness.subsets import Subsets

class FirstGuess:
    found: Found
    def __init__(self, round: Round, lattice: Lattice, multipliers: Multipliers, subsets: Subsets) -> None: ...
    def search(self, limit: float, max_looks: int) -> None: ...
